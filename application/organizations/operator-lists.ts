import type { OrganizationId } from '../../domain/ids.js';
import { foldName } from '../../domain/text.js';
import { collectionCards, type CollectionCardDocument } from '../../projections/collection-cards.js';
import { doNotMailList, listedAddresses, type DoNotMailDocument } from '../../projections/do-not-mail.js';
import { handwritings, type HandwritingDocument } from '../../projections/handwritings.js';
import type { Projection } from '../../projections/projection.js';
import { organizationOf } from './administer.js';
import { invalidCursor } from '../requests/invalid-cursor.js';
import type { ReadModels, Stored } from '../ports/read-models.js';
import type { Streams } from '../writing/streams.js';

export interface OfficeListDeps {
  readonly readModels: ReadModels;
  readonly streams: Streams;
}

export interface OfficePage {
  readonly limit: number;
  readonly startingAfter: string | null;
}

/** The row that a cursor names. Throws `invalid_cursor`. */
const rowAt = async <Document>(
  { readModels }: Pick<OfficeListDeps, 'readModels'>,
  projection: Projection<Document>,
  key: string | null,
  what: string,
): Promise<Stored<Document> | null> => {
  if (key === null) return null;
  const row = await readModels.get(projection, key);
  if (row === null) throw invalidCursor(what);
  return row;
};

const before = (row: Stored<unknown> | null) => (row === null ? {} : { before: row.created });

/**
 * The addresses that an organization must not mail, the latest first. Throws `not_found`, `invalid_cursor`
 * and, like the others here, ReadModelsUnavailable.
 */
export const listDoNotMail = async (
  deps: OfficeListDeps,
  org: OrganizationId,
  { limit, startingAfter }: OfficePage,
): Promise<readonly DoNotMailDocument[]> => {
  await organizationOf(deps, org);
  const what = 'address of this list';
  const last = await rowAt(deps, doNotMailList, startingAfter, what);
  if (last !== null && last.document.org !== org) throw invalidCursor(what);
  const query = { org, where: listedAddresses, limit, ...before(last) };
  return (await deps.readModels.page(doNotMailList, query)).map(({ document }) => document);
};

/** All cards of the public collection, withdrawn ones too, the latest first. Throws `invalid_cursor`. */
export const listWholeCollection = async (
  deps: OfficeListDeps,
  { limit, startingAfter }: OfficePage,
): Promise<readonly CollectionCardDocument[]> => {
  const last = await rowAt(deps, collectionCards, startingAfter, 'card of the collection');
  const rows = await deps.readModels.page(collectionCards, { org: null, limit, ...before(last) });
  return rows.map(({ document }) => document);
};

/** All handwritings, withdrawn ones too, the latest first. Throws `invalid_cursor`. */
export const listAllHandwritings = async (
  deps: OfficeListDeps,
  { limit, startingAfter }: OfficePage,
): Promise<readonly HandwritingDocument[]> => {
  const key = startingAfter === null ? null : foldName(startingAfter);
  const last = await rowAt(deps, handwritings, key, 'handwriting');
  const rows = await deps.readModels.page(handwritings, { org: null, limit, ...before(last) });
  return rows.map(({ document }) => document);
};
