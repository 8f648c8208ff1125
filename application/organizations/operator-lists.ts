import type { OrganizationId } from '../../domain/ids.js';
import { foldName } from '../../domain/text.js';
import { collectionCards, handwritings } from '../../projections/catalogue.js';
import { doNotMailList, listedAddresses, type DoNotMailDocument } from '../../projections/do-not-mail.js';
import type { Projection } from '../../projections/projection.js';
import { organizationOf } from './administer.js';
import { rowAt } from '../requests/invalid-cursor.js';
import type { Page, ReadModels } from '../ports/read-models.js';
import type { Streams } from '../writing/streams.js';

export interface OfficeListDeps {
  readonly readModels: ReadModels;
  readonly streams: Streams;
}

/** All documents of the catalogue, withdrawn ones too, the latest first. Throws `invalid_cursor`. */
const listWhole = async <Document>(
  { readModels }: OfficeListDeps,
  projection: Projection<Document>,
  { limit, startingAfter }: Page,
  what: string,
): Promise<readonly Document[]> => {
  const last = await rowAt(readModels, projection, startingAfter, what);
  const rows = await readModels.page(projection, { org: null, limit, before: last?.created });
  return rows.map(({ document }) => document);
};

/**
 * The addresses that an organization must not mail, the latest first. Throws `not_found`, `invalid_cursor`
 * and, like the others here, ReadModelsUnavailable.
 */
export const listDoNotMail = async (
  deps: OfficeListDeps,
  org: OrganizationId,
  { limit, startingAfter }: Page,
): Promise<readonly DoNotMailDocument[]> => {
  const { readModels } = deps;
  await organizationOf(deps, org);
  const isOwn = (found: DoNotMailDocument) => found.org === org;
  const last = await rowAt(readModels, doNotMailList, startingAfter, 'address of this list', isOwn);
  const query = { org, where: listedAddresses, limit, before: last?.created };
  return (await readModels.page(doNotMailList, query)).map(({ document }) => document);
};

export const listWholeCollection = (deps: OfficeListDeps, page: Page) =>
  listWhole(deps, collectionCards, page, 'card of the collection');

export const listAllHandwritings = (deps: OfficeListDeps, { limit, startingAfter }: Page) =>
  listWhole(
    deps,
    handwritings,
    { limit, startingAfter: startingAfter && foldName(startingAfter) },
    'handwriting',
  );
