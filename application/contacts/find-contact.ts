import { contact, contactIdOf, type KnownContact } from '../../domain/contact.js';
import type { OrganizationId, Uuid } from '../../domain/ids.js';
import type { Streams } from '../writing/streams.js';

/** The contact with this `external_id`; null if there is none, or if it was deleted. */
export const contactWith = async (
  streams: Streams,
  org: OrganizationId,
  externalId: string,
): Promise<(KnownContact & { readonly id: Uuid }) | null> => {
  for (let deleted = 0; ; deleted += 1) {
    const id = contactIdOf(org, externalId, deleted);
    const { state } = await streams.load(contact, id);
    if (state === null) return null;
    if (state.deletedAt === null) return { id, ...state };
  }
};
