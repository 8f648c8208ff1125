import type { Context } from './page.js';

const usualSize = 50;

/** The part of a list that the address asks for, and one row more, which tells whether older ones follow. */
export const wantedPart = (query: Context['query'], perPage = usualSize) => ({
  startingAfter: query('before') || null,
  limit: perPage + 1,
});

/** The rows of the part, and the last of them if older ones follow. */
export const shownPart = <Row>(found: readonly Row[], perPage = usualSize) => ({
  shown: found.slice(0, perPage),
  last: found.length > perPage ? found[perPage - 1] : undefined,
});

/**
 * The part of a whole list that follows one of its rows; the first part if there is no such row, or none
 * after it any more.
 */
export const partAfter = <Row>(all: readonly Row[], isBefore: (row: Row) => boolean, perPage = usualSize) => {
  const rest = all.slice(all.findIndex(isBefore) + 1);
  return shownPart(rest.length === 0 ? all : rest, perPage);
};
