import { contact, contactIdOf, type KnownContact } from '../../domain/contact.js';
import type { OrganizationId, Uuid } from '../../domain/ids.js';
import type { Streams } from '../writing/streams.js';

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
