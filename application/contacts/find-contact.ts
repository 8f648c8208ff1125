import { contact, contactIdOf, type KnownContact } from '../../domain/contact.js';
import type { OrganizationId, Uuid } from '../../domain/ids.js';
import type { Streams } from '../writing/streams.js';

/**
 * The next number for which this is false; it is true for all before that one. Asks for few of them, however
 * many there are: one may be saved and deleted all day.
 */
const nextThatIsNot = async (
  isTrue: (number: number) => Promise<boolean>,
  after: number,
): Promise<number> => {
  let low = after + 1;
  let high = low;
  for (let step = 1; await isTrue(high); step *= 2) {
    low = high + 1;
    high += step;
  }
  while (low < high) {
    const middle = Math.floor((low + high) / 2);
    if (await isTrue(middle)) low = middle + 1;
    else high = middle;
  }
  return low;
};

/**
 * How many contacts with this `external_id` were deleted, if more than `deleted` were. `counts`: whether one
 * that was deleted is among those.
 */
export const nextDeleted = (
  streams: Streams,
  org: OrganizationId,
  externalId: string,
  deleted: number,
  counts: (id: Uuid) => Promise<boolean> = () => Promise.resolve(true),
): Promise<number> =>
  nextThatIsNot(async (number) => {
    const id = contactIdOf(org, externalId, number);
    const { state } = await streams.load(contact, id);
    return state !== null && state.deletedAt !== null && counts(id);
  }, deleted);

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
