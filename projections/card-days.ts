import { card } from '../domain/card.js';
import { parseEvent, schemaOf, type LoggedEvent } from '../domain/events.js';
import type { Projection } from './projection.js';

export const cardCounts = ['accepted', 'mailed', 'cancelled'] as const;
export type CardCount = (typeof cardCounts)[number];

/**
 * How many cards of an organization were accepted, mailed and cancelled in each hour of a day, both in UTC.
 */
export interface CardDayDocument extends Readonly<Record<CardCount, readonly number[]>> {
  readonly org: string;
  readonly day: string;
}

const hours = 24;
const none: readonly number[] = Array.from({ length: hours }, () => 0);

const dayOf = ({ metadata }: LoggedEvent): string => metadata.occurredAt.slice(0, 'YYYY-MM-DD'.length);

/** The count that an event adds to. A rebuild reads all events, so data is parsed only where it decides. */
const countOf = (event: LoggedEvent): CardCount | null => {
  switch (event.type) {
    case 'CardScheduled':
      return 'accepted';
    case 'CardCancelled':
      return 'cancelled';
    case 'CardHeld':
    case 'StepCompleted': {
      const { type, data } = parseEvent(card, event);
      if (type === 'CardHeld') return data.order === null ? null : 'accepted';
      return type === 'StepCompleted' && data.step === 'posted' ? 'mailed' : null;
    }
    default:
      schemaOf(card, event);
      return null;
  }
};

/** The days on which something happened to the cards of each organization. */
export const cardDays: Projection<CardDayDocument> = {
  name: 'card_days',
  version: 1,
  category: card.category,
  key: (event) => `${event.metadata.org ?? ''}/${dayOf(event)}`,
  evolve: (before, event) => {
    const [count, { org }] = [countOf(event), event.metadata];
    if (count === null || org === null) return before;
    const document = before ?? { org, day: dayOf(event), accepted: none, mailed: none, cancelled: none };
    const hour = new Date(event.metadata.occurredAt).getUTCHours();
    return { ...document, [count]: document[count].with(hour, (document[count][hour] ?? 0) + 1) };
  },
  org: ({ org }) => org,
  indexes: {},
};
