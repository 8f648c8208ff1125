import { foldEmail } from '../../domain/email.js';
import type { OrganizationId } from '../../domain/ids.js';
import { contacts, type ContactDocument } from '../../projections/contacts.js';
import { rowAt } from '../requests/invalid-cursor.js';
import { type Moment, type Past } from '../history/as-of.js';
import type { WriteDeps } from '../writing/execute.js';
import type { Page, ReadModels } from '../ports/read-models.js';
import { listAt } from '../organizations/past-lists.js';

export interface ContactQuery extends Page {
  readonly email: string | null;
  readonly externalId: string | null;
}

const ofOrganization = 'contact of this organization';

/** As `listContacts`, at a moment in the past, without contacts deleted since. Throws as `listAt`. */
export const listContactsAt = (
  deps: Pick<WriteDeps, 'store' | 'streams'> & { readonly readModels: ReadModels },
  org: OrganizationId,
  moment: Moment,
  { email, externalId, startingAfter, limit }: ContactQuery,
): Promise<readonly Past<ContactDocument>[]> => {
  const wanted = email === null ? null : foldEmail(email);
  const isListed = ({ details }: ContactDocument): boolean =>
    (wanted === null || foldEmail(details?.email ?? '') === wanted) &&
    (externalId === null || details?.externalId === externalId);
  const page = { limit, startingAfter: startingAfter?.toLowerCase() ?? null };
  return listAt(deps, contacts, page, { org, moment, what: ofOrganization, isListed });
};

/**
 * An organization's contacts that match all filters, newest first by creation. Throws `invalid_cursor`.
 * (decision 44: filters and pages of contacts)
 */
export const listContacts = async (
  readModels: ReadModels,
  org: OrganizationId,
  { email, externalId, startingAfter, limit }: ContactQuery,
): Promise<readonly ContactDocument[]> => {
  const key = startingAfter?.toLowerCase() ?? null;
  const last = await rowAt(readModels, contacts, key, ofOrganization, (row) => row.org === org);
  const where = {
    ...(email !== null && { email: foldEmail(email) }),
    ...(externalId !== null && { external_id: externalId }),
  };
  const rows = await readModels.page(contacts, { org, where, limit, before: last?.created });
  return rows.map(({ document }) => document);
};
