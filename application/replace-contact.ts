import { contact, saveContact, type ContactDetails, type KnownContact } from '../domain/contact.js';
import type { Command } from '../domain/events.js';
import type { OrganizationId, Uuid } from '../domain/ids.js';
import { execute } from './execute.js';
import type { SaveContactDeps } from './save-contact.js';

/**
 * Replaces every field of a contact that is known to be the organization's. Reads show it when this returns.
 * Throws EventStoreUnavailable, TooContended, OutcomeUnknown.
 */
export const replaceContact = async (
  deps: SaveContactDeps,
  org: OrganizationId,
  id: Uuid,
  command: Command,
  details: ContactDetails,
): Promise<KnownContact | null> => {
  const save = saveContact(org, details, command.at);
  const { state, position } = await execute(deps, contact, id, command, save);
  if (position !== null) await deps.readYourWrites.afterWrite(position);
  return state;
};
