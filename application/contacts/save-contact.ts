import {
  contact,
  contactIdOf,
  saveContact,
  saveContactOnce,
  type Contact,
  type ContactDetails,
  type ContactEvent,
  type KnownContact,
} from '../../domain/contact.js';
import { DomainError } from '../../domain/errors.js';
import type { Command } from '../../domain/events.js';
import { derivedUuid, type OrganizationId, type Uuid } from '../../domain/ids.js';
import { execute, executeOnce, TooContended, type ExecutedOnce, type WriteDeps } from '../writing/execute.js';
import { EventStoreUnavailable } from '../ports/event-store.js';
import type { ReadYourWrites } from '../projecting/read-your-writes.js';
import type { Streams } from '../writing/streams.js';

export interface SaveContactDeps extends WriteDeps {
  readonly readYourWrites: ReadYourWrites;
}

/** In so many of those with its `external_id` that were deleted last, a form looks for what it has saved. */
const searchedForForm = 10;

/**
 * Creates a contact, or replaces the one with the same `external_id`; of two concurrent creates, the second
 * replaces. `once`: the command is that of a form, and a repeat of it changes nothing, whatever was saved
 * since. `decide`: how it is saved. Reads show it when this returns. Throws `create_failed` or
 * `update_failed` if nothing was written, and OutcomeUnknown. (decision 45: two saves at once)
 */
export const saveContactRecord = async (
  deps: SaveContactDeps,
  org: OrganizationId,
  command: Command,
  details: ContactDetails,
  {
    once = false,
    decide = saveContact,
  }: { readonly once?: boolean; readonly decide?: typeof saveContact } = {},
): Promise<{ readonly id: Uuid; readonly contact: KnownContact; readonly created: boolean }> => {
  const { externalId } = details;
  const save = async (id: Uuid): Promise<ExecutedOnce<Contact, ContactEvent>> => {
    if (once) return executeOnce(deps, contact, id, command, saveContactOnce(org, details, command.at));
    const saved = await execute(deps, contact, id, command, decide(org, details, command.at));
    return { ...saved, recorded: null };
  };
  for (let deleted = 0; ;) {
    const id =
      externalId === null ? derivedUuid('contact', command.id) : contactIdOf(org, externalId, deleted);
    try {
      const { state, events, position, recorded } = await save(id);
      if (state === null) throw new Error(`contact ${id} was not saved`);
      if (recorded === null && state.deletedAt !== null && externalId !== null) {
        const next = once && deleted > 0 ? 0 : await nextDeleted(deps.streams, org, externalId, deleted);
        deleted = Math.max(deleted + 1, once ? next - searchedForForm : next);
        continue;
      }
      if (position !== null) await deps.readYourWrites.afterWrite(position);
      return { id, contact: state, created: events[0]?.type === 'ContactCreated' };
    } catch (error) {
      if (error instanceof EventStoreUnavailable || error instanceof TooContended)
        throw failureFor(deps.streams.lastKnown(contact, id)?.state ?? null);
      throw error;
    }
  }
};

const failureFor = (known: Contact): DomainError =>
  known === null || known.deletedAt !== null
    ? new DomainError('create_failed', 'The contact could not be created. Send it again.')
    : new DomainError('update_failed', 'The contact could not be updated; it is as it was. Send it again.');

/**
 * Decides on a contact that is known to be the organization's. Reads show the change when this returns.
 * Throws the decision's errors, EventStoreUnavailable, TooContended, OutcomeUnknown.
 */
export const changeContact = async (
  deps: SaveContactDeps,
  id: Uuid,
  command: Command,
  decide: (state: Contact) => ContactEvent[],
): Promise<void> => {
  const { position } = await execute(deps, contact, id, command, decide);
  if (position !== null) await deps.readYourWrites.afterWrite(position);
};

/**
 * How many contacts with this `external_id` were deleted, if more than `deleted` were, in few reads: a caller
 * may save and delete one all day. `counts`: whether one that was deleted is among those.
 */
export const nextDeleted = async (
  streams: Streams,
  org: OrganizationId,
  externalId: string,
  deleted: number,
  counts: (id: Uuid) => Promise<boolean> = () => Promise.resolve(true),
): Promise<number> => {
  const isAmong = async (number: number): Promise<boolean> => {
    const id = contactIdOf(org, externalId, number);
    const { state } = await streams.load(contact, id);
    return state !== null && state.deletedAt !== null && counts(id);
  };
  let [low, high] = [deleted + 1, deleted + 1];
  for (let step = 1; await isAmong(high); step *= 2) [low, high] = [high + 1, high + step];
  while (low < high) {
    const middle = Math.floor((low + high) / 2);
    if (await isAmong(middle)) low = middle + 1;
    else high = middle;
  }
  return low;
};

/** The contact with this `external_id`; null if there is none, or if it was deleted. */
export const contactWith = async (
  streams: Streams,
  org: OrganizationId,
  externalId: string,
): Promise<(KnownContact & { readonly id: Uuid }) | null> => {
  for (let deleted = 0; ; deleted = await nextDeleted(streams, org, externalId, deleted)) {
    const id = contactIdOf(org, externalId, deleted);
    const { state } = await streams.load(contact, id);
    if (state === null) return null;
    if (state.deletedAt === null) return { id, ...state };
  }
};
