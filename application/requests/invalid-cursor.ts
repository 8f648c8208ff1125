import { DomainError } from '../../domain/errors.js';
import type { Projection } from '../../projections/projection.js';
import type { ReadModels, Stored } from '../ports/read-models.js';

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
  isListed: (document: Document) => boolean = () => true,
): Promise<Stored<Document> | null> => {
  const row = key === null ? null : await readModels.get(projection, key);
  if (key !== null && (row === null || !isListed(row.document))) throw invalidCursor(what);
  return row;
};
