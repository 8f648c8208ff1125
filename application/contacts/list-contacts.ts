import { foldEmail } from '../../domain/email.js';
import type { OrganizationId } from '../../domain/ids.js';
import { contacts, type ContactDocument } from '../../projections/contacts.js';
import { rowAt } from '../requests/invalid-cursor.js';
import { listAt, type Moment, type Past } from '../history/as-of.js';
import { organizationAt } from '../organizations/administer.js';
import type { WriteDeps } from '../writing/execute.js';
import type { Page, ReadModels } from '../ports/read-models.js';

export interface ContactQuery extends Page {
  readonly email: string | null;
  readonly externalId: string | null;
}

const rowOf = (readModels: ReadModels, org: OrganizationId, startingAfter: string | null) => {
  const isOwn = (found: ContactDocument) => found.org === org;
  return rowAt(
    readModels,
    contacts,
    startingAfter?.toLowerCase() ?? null,
    'contact of this organization',
    isOwn,
  );
};

/**
 * As `listContacts`, at a moment in the past, without contacts that were deleted since. Also throws
 * `not_found` if the organization was not there yet, DamagedStream.
 */
export const listContactsAt = async (
  deps: Pick<WriteDeps, 'store' | 'streams'> & { readonly readModels: ReadModels },
  org: OrganizationId,
  moment: Moment,
  { email, externalId, startingAfter, limit }: ContactQuery,
): Promise<readonly Past<ContactDocument>[]> => {
  await organizationAt(deps, org, moment);
  const last = await rowOf(deps.readModels, org, startingAfter);
  const wanted = email === null ? null : foldEmail(email);
  const isListed = ({ details }: ContactDocument): boolean =>
    (wanted === null || foldEmail(details?.email ?? '') === wanted) &&
    (externalId === null || details?.externalId === externalId);
  return listAt(deps, contacts, isListed, org, moment, { limit, before: last?.created });
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
  const last = await rowOf(readModels, org, startingAfter);
  const where = {
    ...(email !== null && { email: foldEmail(email) }),
    ...(externalId !== null && { external_id: externalId }),
  };
  const rows = await readModels.page(contacts, { org, where, limit, before: last?.created });
  return rows.map(({ document }) => document);
};
