import type { Front } from '../domain/artwork.js';
import { collectionCard } from '../domain/catalogue.js';
import { idOf } from '../domain/ids.js';
import { projection } from './projection.js';

export interface CollectionCardDocument {
  readonly slug: string;
  readonly title: string;
  readonly artwork: Front | null;
  readonly active: boolean;
}

/** The cards of the public collection, including withdrawn ones. Lists ask for `offered` cards. */
export const collectionCards = projection({
  name: 'collection_cards',
  version: 2,
  from: collectionCard,
  key: ({ stream }) => idOf(stream),
  evolve: (document: CollectionCardDocument | null, event): CollectionCardDocument | null =>
    event.type === 'CollectionCardPublished'
      ? { slug: idOf(event.envelope.stream), ...event.data, active: true }
      : document && { ...document, active: false },
  org: () => null,
  indexes: { offered: ({ active }) => (active ? 'yes' : null) },
});
