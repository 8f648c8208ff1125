import type { OrganizationId } from '../../domain/ids.js';
import { foldName } from '../../domain/text.js';
import { collectionCards, handwritings } from '../../projections/catalogue.js';
import { doNotMailList, listedAddresses, type DoNotMailDocument } from '../../projections/do-not-mail.js';
import { organizationOf } from './administer.js';
import { listPage } from '../requests/invalid-cursor.js';
import type { Page, ReadModels } from '../ports/read-models.js';
import type { Streams } from '../writing/streams.js';

export interface OfficeListDeps {
  readonly readModels: ReadModels;
  readonly streams: Streams;
}

/**
 * The addresses that an organization must not mail, the latest first. Throws `not_found`, `invalid_cursor`
 * and, like the others here, ReadModelsUnavailable.
 */
export const listDoNotMail = async (
  deps: OfficeListDeps,
  org: OrganizationId,
  page: Page,
): Promise<readonly DoNotMailDocument[]> => {
  await organizationOf(deps, org);
  const list = { org, where: listedAddresses, what: 'address of this list' };
  return listPage(deps.readModels, doNotMailList, page, list);
};

/** All cards of the collection, withdrawn ones too, the latest first. Throws `invalid_cursor`. */
export const listWholeCollection = ({ readModels }: OfficeListDeps, page: Page) =>
  listPage(readModels, collectionCards, page, { org: null, what: 'card of the collection' });

/** All handwritings, withdrawn ones too, the latest first. Throws `invalid_cursor`. */
export const listAllHandwritings = ({ readModels }: OfficeListDeps, { limit, startingAfter }: Page) =>
  listPage(
    readModels,
    handwritings,
    { limit, startingAfter: startingAfter && foldName(startingAfter) },
    { org: null, what: 'handwriting' },
  );
