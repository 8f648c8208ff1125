import { foldEmail } from '../../domain/contact.js';
import type { OrganizationId } from '../../domain/ids.js';
import { contacts, type ContactDocument } from '../../projections/contacts.js';
import { invalidCursor } from '../invalid-cursor.js';
import type { ReadModels } from '../ports/read-models.js';

export interface ContactQuery {
  readonly email: string | null;
  readonly externalId: string | null;
  /** The id of the last contact on the previous page. */
  readonly startingAfter: string | null;
  readonly limit: number;
}

/**
 * An organization's contacts that match all filters, newest first by creation. Throws `invalid_cursor`.
 * (decision 44: filters and pages of contacts)
 */
export const listContacts = async (
  readModels: ReadModels,
  org: OrganizationId,
  { email, externalId, startingAfter, limit }: ContactQuery,
): Promise<readonly ContactDocument[]> => {
  const last = startingAfter === null ? null : await readModels.get(contacts, startingAfter.toLowerCase());
  if (startingAfter !== null && last?.document.org !== org)
    throw invalidCursor('contact of this organization');
  const where = {
    ...(email !== null && { email: foldEmail(email) }),
    ...(externalId !== null && { external_id: externalId }),
  };
  const rows = await readModels.page(contacts, {
    org,
    where,
    limit,
    ...(last !== null && { before: last.created }),
  });
  return rows.map(({ document }) => document);
};
