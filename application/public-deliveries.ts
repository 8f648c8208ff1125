import { LRUCache } from 'lru-cache';
import { card, type Card } from '../domain/card.js';
import { parseEvent, type LoggedEvent } from '../domain/events.js';
import { idOf, type Milliseconds, type OrganizationId } from '../domain/ids.js';
import {
  dataOf,
  deliveryIdOf,
  madeAfter,
  payload,
  publicEventId,
  publicEventOf,
  type PublicEventType,
} from '../domain/public-events.js';
import type { Endpoint } from '../domain/webhook-endpoints.js';
import type { DeliveryId, NewDelivery } from './ports/delivery-log.js';
import type { EventStore } from './ports/event-store.js';

/** `backoff`: the waits between attempts. `disableAfter`: consecutive failures. (docs/contract.md#retries) */
export interface DeliveryPolicy {
  readonly backoff: readonly Milliseconds[];
  readonly disableAfter: number;
}

/** The number of attempts, including the first. */
export const attemptsOf = ({ backoff }: DeliveryPolicy): number => backoff.length + 1;

/** The length of the retry window, which begins with the event. (decision 61: it is the sum of all waits) */
export const windowOf = ({ backoff }: DeliveryPolicy): Milliseconds =>
  backoff.reduce((sum, wait) => sum + wait, 0);

/** A public event. `body` is the same for every endpoint and attempt. */
export interface PublicEvent {
  readonly id: string;
  readonly type: PublicEventType;
  readonly org: OrganizationId;
  readonly card: string;
  readonly position: bigint;
  readonly occurredAt: Milliseconds;
  readonly body: string;
}

interface Known {
  readonly revision: number;
  readonly state: Card;
}

const knownCards = 10_000;

/**
 * The public events that card events amount to. Called in log order it caches the states of cards, and reads
 * the stream only of a card that it has not seen, or not lately.
 */
export class PublicEvents {
  readonly #cards = new LRUCache<string, Known>({ max: knownCards });

  constructor(private readonly store: Pick<EventStore, 'readStream'>) {}

  /** The public event of an event of a card, or null if there is none. Throws EventStoreUnavailable. */
  async of(logged: LoggedEvent): Promise<PublicEvent | null> {
    const before = await this.#before(logged);
    const event = parseEvent(card, logged);
    const after = card.evolve(before, event);
    this.#cards.set(logged.stream, { revision: logged.revision, state: after });
    const meaning = publicEventOf(before, event, after, logged.metadata.actor);
    const made = madeAfter(after);
    if (meaning === null || made === null) return null;
    const id = publicEventId(logged.id);
    const code = idOf(logged.stream);
    const { occurredAt } = logged.metadata;
    const body = payload(id, meaning.type, occurredAt, dataOf(code, made, meaning.heldReason));
    return {
      id,
      type: meaning.type,
      org: made.order.org,
      card: code,
      position: logged.position,
      occurredAt: Date.parse(occurredAt),
      body,
    };
  }

  async #before({ stream, revision }: LoggedEvent): Promise<Card> {
    const known = this.#cards.get(stream);
    if (known !== undefined && known.revision === revision - 1) return known.state;
    if (revision === 0) return card.initial;
    const events = await this.store.readStream(stream, 0);
    return events
      .filter((event) => event.revision < revision)
      .reduce((state, event) => card.evolve(state, parseEvent(card, event)), card.initial);
  }
}

/** The delivery of an event to an endpoint. */
export const deliveryOf = (
  { id, type, org, card: code, position, occurredAt, body }: PublicEvent,
  endpoint: Pick<Endpoint, 'id'>,
  policy: DeliveryPolicy,
  dropReason: string | null,
): NewDelivery => ({
  id: deliveryIdOf(id, endpoint.id) as DeliveryId,
  org,
  endpoint: endpoint.id,
  event: id,
  type,
  card: code,
  position,
  occurredAt,
  body,
  due: occurredAt,
  allowed: attemptsOf(policy),
  expires: occurredAt + windowOf(policy),
  dropReason,
});
