import { foldEmail } from '../domain/contact.js';
import type { OrganizationId } from '../domain/ids.js';
import { contacts, type ContactDocument } from '../projections/contacts.js';
import { invalidCursor } from './invalid-cursor.js';
import type { ReadModels } from './ports/read-models.js';

export interface ContactQuery {
  readonly email: string | null;
  readonly externalId: string | null;
  /** The id of the last contact of the page before. */
  readonly startingAfter: string | null;
  readonly limit: number;
}

/**
 * An organization's contacts in the order in which they were created, newest first; filters combine with AND.
 * Throws `invalid_cursor`. (decisions 28, 43, 44)
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
