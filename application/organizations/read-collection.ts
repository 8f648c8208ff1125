import { collectionCards, type CollectionCardDocument } from '../../projections/collection-cards.js';
import { invalidCursor } from '../requests/invalid-cursor.js';
import type { ReadModels } from '../ports/read-models.js';

const slugOf = (cursor: string): string => cursor.replace(/^card:/, '');

/**
 * A page of the cards that the public collection offers, the latest published first, after the card
 * `startingAfter`, which may have been withdrawn since. Throws `invalid_cursor`, ReadModelsUnavailable.
 */
export const listCollection = async (
  { readModels }: { readonly readModels: ReadModels },
  { limit, startingAfter }: { readonly limit: number; readonly startingAfter: string | null },
): Promise<readonly CollectionCardDocument[]> => {
  const cursor = startingAfter === null ? null : await readModels.get(collectionCards, slugOf(startingAfter));
  if (startingAfter !== null && cursor === null) throw invalidCursor('card of the collection');
  const rows = await readModels.page(collectionCards, {
    org: null,
    where: { offered: 'yes' },
    limit,
    ...(cursor !== null && { before: cursor.created }),
  });
  return rows.map(({ document }) => document);
};
