import { z } from 'zod';
import { Front } from './artwork.js';
import { UnknownName } from './errors.js';
import { events, type Aggregate, type EventOf } from './events.js';
import { foldName, truncate } from './text.js';

export const collectionEvents = events({
  CollectionCardPublished: { title: z.string(), artwork: Front.nullable().default(null) },
  CollectionCardWithdrawn: {},
});
export type CollectionEvent = EventOf<typeof collectionEvents>;

export type CollectionCard = null | {
  readonly title: string;
  readonly artwork: Front | null;
  readonly active: boolean;
};

export const collectionCard: Aggregate<CollectionCard, CollectionEvent> = {
  category: 'collection',
  schemas: collectionEvents,
  initial: null,
  evolve: (state, event) => {
    switch (event.type) {
      case 'CollectionCardPublished':
        return { ...event.data, active: true };
      case 'CollectionCardWithdrawn':
        return { title: '', artwork: null, ...state, active: false };
    }
  },
};

/**
 * Publishes a collection card under a title, or withdraws it; a repeat records nothing. Without a front it
 * keeps the one that it has.
 */
export const putCollectionCard =
  (title: string, active: boolean, front: Front | null = null) =>
  (state: CollectionCard): CollectionEvent[] => {
    const artwork = front ?? state?.artwork ?? null;
    const isSame = state?.title === title && state.artwork?.digest === artwork?.digest;
    const published: CollectionEvent[] =
      isSame && (state.active || !active)
        ? []
        : [{ type: 'CollectionCardPublished', data: { title, artwork } }];
    const withdrawn: CollectionEvent[] =
      active || (state?.active === false && published.length === 0)
        ? []
        : [{ type: 'CollectionCardWithdrawn', data: {} }];
    return [...published, ...withdrawn];
  };

/**
 * The id of a handwriting's stream: no two handwritings differ only in case. (decision 36: how handwritings
 * are compared)
 */
export const handwritingId = (name: string): string => foldName(name);

export const handwritingEvents = events({
  HandwritingOffered: { name: z.string() },
  HandwritingWithdrawn: {},
});
export type HandwritingEvent = EventOf<typeof handwritingEvents>;

export type Handwriting = null | { readonly name: string; readonly active: boolean };

export const handwriting: Aggregate<Handwriting, HandwritingEvent> = {
  category: 'handwriting',
  schemas: handwritingEvents,
  initial: null,
  evolve: (state, event) => {
    switch (event.type) {
      case 'HandwritingOffered':
        return { name: event.data.name, active: true };
      case 'HandwritingWithdrawn':
        return { name: state?.name ?? '', active: false };
    }
  },
};

/** Offers a handwriting or withdraws it; a known one keeps the spelling under which it was first offered. */
export const putHandwriting =
  (name: string, active: boolean) =>
  (state: Handwriting): HandwritingEvent[] => {
    const offered: HandwritingEvent = { type: 'HandwritingOffered', data: { name: state?.name ?? name } };
    const withdrawn: HandwritingEvent = { type: 'HandwritingWithdrawn', data: {} };
    if (state === null) return active ? [offered] : [offered, withdrawn];
    if (state.active === active) return [];
    return [active ? offered : withdrawn];
  };

/**
 * The canonical name of the handwriting `wanted`, if it is on offer. Throws `unknown_handwriting`. (decision
 * 36: how handwritings are compared)
 */
export const offeredHand = (state: Handwriting, wanted: string): string => {
  if (state === null || !state.active)
    throw new UnknownName(
      'unknown_handwriting',
      `There is no handwriting \`${truncate(wanted, 100)}\`.`,
      wanted,
    );
  return state.name;
};

export const firstHandwritings = [
  'Everyday',
  'Elegant',
  'Casual',
  'Schoolhouse',
  'Architect',
  'Signature',
] as const;

export const firstCollection = [
  { slug: 'thank-you-botanical', title: 'Thank You, Botanical' },
  { slug: 'thank-you-classic', title: 'Thank You, Classic' },
  { slug: 'happy-birthday-balloons', title: 'Happy Birthday, Balloons' },
  { slug: 'happy-birthday-cake', title: 'Happy Birthday, Cake' },
  { slug: 'congratulations-confetti', title: 'Congratulations, Confetti' },
  { slug: 'welcome-home', title: 'Welcome Home' },
  { slug: 'work-anniversary', title: 'Work Anniversary' },
  { slug: 'with-sympathy', title: 'With Sympathy' },
  { slug: 'get-well-soon', title: 'Get Well Soon' },
  { slug: 'season-greetings-pine', title: "Season's Greetings, Pine" },
  { slug: 'new-year-fireworks', title: 'New Year, Fireworks' },
  { slug: 'just-because', title: 'Just Because' },
] as const;
