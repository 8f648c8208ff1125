import { collectionCards, type CollectionCardDocument } from '../../projections/catalogue.js';
import { rowAt } from '../requests/invalid-cursor.js';
import type { Page, ReadModels } from '../ports/read-models.js';

const slugOf = (cursor: string): string => cursor.replace(/^card:/, '');

/**
 * A page of the cards that the public collection offers, the latest published first, after the card
 * `startingAfter`, which may have been withdrawn since. Throws `invalid_cursor`, ReadModelsUnavailable.
 */
export const listCollection = async (
  { readModels }: { readonly readModels: ReadModels },
  { limit, startingAfter }: Page,
): Promise<readonly CollectionCardDocument[]> => {
  const slug = startingAfter === null ? null : slugOf(startingAfter);
  const last = await rowAt(readModels, collectionCards, slug, 'card of the collection');
  const query = { org: null, where: { offered: 'yes' }, limit, before: last?.created };
  const rows = await readModels.page(collectionCards, query);
  return rows.map(({ document }) => document);
};
