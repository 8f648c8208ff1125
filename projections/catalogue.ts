import type { ArtworkDigest, Front } from '../domain/artwork.js';
import { collectionCard, handwriting } from '../domain/catalogue.js';
import { idOf } from '../domain/ids.js';
import { projection } from './projection.js';

export interface CollectionCardDocument {
  readonly slug: string;
  readonly title: string;
  readonly artwork: Front | null;
  /** Every front that it ever had: cards that were sent with it may still have to be printed. */
  readonly fronts: readonly ArtworkDigest[];
  readonly active: boolean;
}

/** The cards of the public collection, including withdrawn ones. Lists ask for `offered` cards. */
export const collectionCards = projection({
  name: 'collection_cards',
  version: 2,
  from: collectionCard,
  evolve: (document: CollectionCardDocument | null, event): CollectionCardDocument | null => {
    if (event.type !== 'CollectionCardPublished') return document && { ...document, active: false };
    const { digest } = event.data.artwork ?? {};
    const fronts = new Set(document?.fronts);
    if (digest !== undefined) fronts.add(digest);
    return { slug: idOf(event.envelope.stream), ...event.data, fronts: [...fronts], active: true };
  },
  org: () => null,
  indexes: { offered: ({ active }) => (active ? 'yes' : null) },
});

export interface HandwritingDocument {
  readonly name: string;
  readonly active: boolean;
}

export const handwritings = projection({
  name: 'handwritings',
  version: 1,
  from: handwriting,
  evolve: (document: HandwritingDocument | null, event): HandwritingDocument | null =>
    event.type === 'HandwritingOffered'
      ? { name: event.data.name, active: true }
      : document && { ...document, active: false },
  org: () => null,
});
