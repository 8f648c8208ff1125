import type { Page } from '../../../application/ports/read-models.js';
import type { Texts, Url } from '../web/paths.js';
import type { Context } from './page.js';

const usualSize = 50;

const firstOf = <Row>(found: readonly Row[], perPage: number) => ({
  shown: found.slice(0, perPage),
  last: found.length > perPage ? found[perPage - 1] : undefined,
});

/**
 * The part of a list that the address asks for, and its last row if older ones follow: one row more than is
 * shown tells whether they do.
 */
export const partOf = async <Row>(
  query: Context['query'],
  list: (part: Page) => Promise<readonly Row[]>,
  perPage = usualSize,
) => firstOf(await list({ startingAfter: query('before') || null, limit: perPage + 1 }), perPage);

/**
 * The part of a whole list that follows one of its rows; the first part if there is no such row, or none
 * after it any more.
 */
export const partAfter = <Row>(all: readonly Row[], isBefore: (row: Row) => boolean, perPage = usualSize) => {
  const rest = all.slice(all.findIndex(isBefore) + 1);
  return firstOf(rest.length === 0 ? all : rest, perPage);
};

/** The address of this page with the filters of its list, and something more. */
export const filteredBy = (
  { url, path, params, query }: Context,
  filters: readonly string[],
  more: Texts,
): Url => {
  const kept = filters.map((name) => [name, query(name)] as const).filter(([, value]) => value !== '');
  return url(path, params, { ...Object.fromEntries(kept), ...more });
};
