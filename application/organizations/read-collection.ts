import { collectionCards, type CollectionCardDocument } from '../../projections/catalogue.js';
import { listPage } from '../requests/invalid-cursor.js';
import type { Page, ReadModels } from '../ports/read-models.js';

const slugOf = (cursor: string): string => cursor.replace(/^card:/, '');

/**
 * A page of the cards that the public collection offers, the latest published first, after the card
 * `startingAfter`, which may have been withdrawn since. Throws `invalid_cursor`, ReadModelsUnavailable.
 */
export const listCollection = (
  { readModels }: { readonly readModels: ReadModels },
  { limit, startingAfter }: Page,
): Promise<readonly CollectionCardDocument[]> =>
  listPage(
    readModels,
    collectionCards,
    { limit, startingAfter: startingAfter && slugOf(startingAfter) },
    { org: null, where: { offered: 'yes' }, what: 'card of the collection' },
  );
