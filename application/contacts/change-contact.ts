import { contact, deleteContact, replaceSeenContact } from '../../domain/contact.js';
import type { Contact, ContactDetails, ContactEvent } from '../../domain/contact.js';
import type { Command } from '../../domain/events.js';
import type { OrganizationId, Uuid } from '../../domain/ids.js';
import { execute } from '../writing/execute.js';
import type { SaveContactDeps } from './save-contact.js';

const change = async (
  deps: SaveContactDeps,
  id: Uuid,
  command: Command,
  decide: (state: Contact) => ContactEvent[],
): Promise<void> => {
  const { position } = await execute(deps, contact, id, command, decide);
  if (position !== null) await deps.readYourWrites.afterWrite(position);
};

/**
 * Replaces every field of a contact that is known to be the organization's, as it was `seen`: at its
 * `updatedAt`. Reads show it when this returns. Throws `not_found`, `invalid_transition` if it was erased or
 * changed since, EventStoreUnavailable, TooContended, OutcomeUnknown.
 */
export const replaceContact = (
  deps: SaveContactDeps,
  org: OrganizationId,
  id: Uuid,
  command: Command,
  { details, seen }: { readonly details: ContactDetails; readonly seen: string },
): Promise<void> => change(deps, id, command, replaceSeenContact(org, details, seen, command.at));

/** Deletes a contact in the same way: its details are erased. Throws the errors of `replaceContact`. */
export const removeContact = (
  deps: SaveContactDeps,
  id: Uuid,
  command: Command,
  seen: string,
): Promise<void> => change(deps, id, command, deleteContact(seen, command.at));
