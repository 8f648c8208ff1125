import type { Instant } from '../../domain/ids.js';

/**
 * The form of every list: a page that came back full has a next one, which may be empty. (decisions 28, 53)
 */
export const listBody = <Row>(
  rows: readonly Row[],
  limit: number,
  cursorOf: (row: Row) => string,
  shape: (row: Row) => object,
): object => {
  const last = rows.at(-1);
  const more = last !== undefined && rows.length >= limit;
  return { object: 'list', has_more: more, next_cursor: more ? cursorOf(last) : null, data: rows.map(shape) };
};

/** A timestamp as the API writes it. (decision 22) */
export const timestamp = (at: Instant): string => at.replace('Z', '+00:00');
