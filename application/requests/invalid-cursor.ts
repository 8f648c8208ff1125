import { DomainError } from '../../domain/errors.js';
import type { Projection } from '../../projections/projection.js';
import type { Page, PageQuery, ReadModels, Stored } from '../ports/read-models.js';

/**
 * The refusal of a cursor. `what` names the entries of the list and their owner: `card of this organization`.
 */
export const invalidCursor = (what: string): DomainError =>
  new DomainError(
    'invalid_cursor',
    `\`starting_after\` matches no ${what}. Use the \`next_cursor\` of the previous page.`,
    'starting_after',
  );

/** The row that a cursor names; null for the first page. Throws `invalid_cursor`. */
export const rowAt = async <Document>(
  readModels: Pick<ReadModels, 'get'>,
  projection: Projection<Document>,
  key: string | null,
  what: string,
  isListed: (document: Document) => boolean,
): Promise<Stored<Document> | null> => {
  const row = key === null ? null : await readModels.get(projection, key);
  if (key !== null && (row === null || !isListed(row.document))) throw invalidCursor(what);
  return row;
};

/** The entries of a list, and what the refusal of a cursor calls them. */
interface List extends Pick<PageQuery, 'org' | 'where'> {
  readonly what: string;
}

/** A page of a list, the latest first. Throws `invalid_cursor`, ReadModelsUnavailable. */
export const listPage = async <Document>(
  readModels: Pick<ReadModels, 'get' | 'page'>,
  projection: Projection<Document>,
  { limit, startingAfter }: Page,
  { org, where = {}, what }: List,
): Promise<readonly Document[]> => {
  const isOwn = (found: Document) => projection.org(found) === org;
  const last = await rowAt(readModels, projection, startingAfter, what, isOwn);
  const rows = await readModels.page(projection, { org, where, limit, before: last?.created });
  return rows.map(({ document }) => document);
};
