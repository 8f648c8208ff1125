import type { CardEvent } from './card.js';
import type { Actor, EventMetadata } from './events.js';
import { derivedUuid, type Uuid } from './ids.js';

/** The types of events to which endpoints can subscribe. (docs/contract.md#events) */
export const publicEventTypes = [
  'card.created',
  'card.written',
  'card.mailed',
  'card.held',
  'card.cancelled',
] as const;
export type PublicEventType = (typeof publicEventTypes)[number];

export interface PublicEvent {
  readonly type: PublicEventType;
  readonly heldReason: string | null;
}

const plain = (type: PublicEventType): PublicEvent => ({ type, heldReason: null });

type Announcing = Extract<CardEvent, { type: 'CardScheduled' | 'CardReleased' | 'CardHeld' }>;

const isFromConsole = ({ data }: Announcing): boolean =>
  ('order' in data && data.order?.source.kind === 'console') ||
  ('source' in data && data.source === 'console');

/**
 * The types of events of cards that can be public. All others are passed over without a look at their data.
 */
export const typesOfPublicEvents: ReadonlySet<string> = new Set<CardEvent['type']>([
  'CardScheduled',
  'CardReleased',
  'CardHeld',
  'CardCancelled',
  'StepCompleted',
]);

/**
 * The public event for an event of a card, or null. The event alone decides: steps are completed in order and
 * each once, so a card is written with its envelope's address and mailed with the last step. A card that was
 * sent in the console sends neither `card.created` nor `card.held`; `card.cancelled` is only sent for a
 * cancel with an API key. (decision 63: which cards send which events)
 */
export const publicEventOf = (event: CardEvent, actor: Actor): PublicEvent | null => {
  switch (event.type) {
    case 'CardScheduled':
    case 'CardReleased':
      return isFromConsole(event) ? null : plain('card.created');
    case 'CardHeld':
      return isFromConsole(event) ? null : { type: 'card.held', heldReason: event.data.reason };
    case 'CardCancelled':
      return actor.kind === 'key' ? plain('card.cancelled') : null;
    case 'StepCompleted':
      if (event.data.step === 'posted') return plain('card.mailed');
      return event.data.step === 'envelope_addressed' ? plain('card.written') : null;
    case 'CardQueued':
    case 'StepStarted':
    case 'StepFailed':
    case 'CardFailed':
    case 'CardErased':
    case 'CardAbandoned':
    case 'ReleaseAbandoned':
      return null;
  }
};

const characters = (uuid: Uuid): string => uuid.replaceAll('-', '');

/** Ids begin with the time of the event, so that a database writes new ones next to each other. */
const withTime = (time: string, uuid: Uuid): string => `${time}${characters(uuid).slice(time.length)}`;

const timeDigits = 12;
const timeIn = (publicEvent: string): string => publicEvent.slice('evt_'.length).slice(0, timeDigits);

/** The id of a public event, derived from the domain event. (decision 58: ids and bytes of a delivery) */
export const publicEventId = (event: {
  readonly id: Uuid;
  readonly metadata: Pick<EventMetadata, 'occurredAt'>;
}): string => {
  const time = Date.parse(event.metadata.occurredAt).toString(16).padStart(timeDigits, '0');
  return `evt_${withTime(time, event.id)}`;
};

/** The id of a delivery: one per event and endpoint. (decision 58: ids and bytes of a delivery) */
export const deliveryIdOf = (publicEvent: string, endpoint: Uuid): string =>
  `dlv_${withTime(timeIn(publicEvent), derivedUuid('delivery', publicEvent, endpoint))}`;
