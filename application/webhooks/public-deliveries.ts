import { cards, type CardDocument } from '../../projections/cards.js';
import { LazyLru } from '../memory/lazy-lru.js';
import { card, orderedBy, type Ordered } from '../../domain/card.js';
import { insteadOf } from '../../domain/errors.js';
import { parseEvent, schemaOf, type LoggedEvent } from '../../domain/events.js';
import { idOf, OrganizationId, type Milliseconds, type StreamName } from '../../domain/ids.js';
import {
  deliveryIdOf,
  publicEventId,
  publicEventOf,
  typesOfPublicEvents,
  type PublicEvent,
  type PublicEventType,
} from '../../domain/public-events.js';
import { payload, dataOf, type PublicEventData } from '../../domain/delivery-payload.js';
import type { Endpoint } from '../../domain/webhook-endpoints.js';
import { isBegunHere } from '../../domain/traceparent.js';
import { limitConcurrency } from '../timing/limit-concurrency.js';
import type { DeliveryContent, DeliveryId, NewDelivery } from '../ports/delivery-log.js';
import type { EventStore } from '../ports/event-store.js';
import { ReadModelsUnavailable, type ReadModels } from '../ports/read-models.js';

/** `backoff`: the waits between attempts. `disableAfter`: consecutive failures. (docs/contract.md#retries) */
export interface DeliveryPolicy {
  readonly backoff: readonly Milliseconds[];
  readonly disableAfter: number;
}

/** The length of the retry window, which begins with the event. (decision 61: it is the sum of all waits) */
export const windowOf = ({ backoff }: DeliveryPolicy): Milliseconds =>
  backoff.reduce((sum, wait) => sum + wait, 0);

/** A public event. `body` is the same for every endpoint and attempt. */
export type DeliverableEvent = Omit<DeliveryContent, 'allowed'> & Pick<NewDelivery, 'org' | 'position'>;

/** An event of a card that is public, before anything about its card is known. */
interface Announced extends PublicEvent {
  readonly logged: LoggedEvent;
  /** The content of the card's first event, if this is it. */
  readonly ordered: Ordered | null;
}

/**
 * The public event of a card's event, as far as it is known without reading the stream; null if there is
 * none.
 */
export const announcedBy = (logged: LoggedEvent): Announced | null => {
  if (!typesOfPublicEvents.has(logged.type)) {
    schemaOf(card, logged);
    return null;
  }
  const event = parseEvent(card, logged);
  const meaning = publicEventOf(event, logged.metadata.actor);
  return meaning && { logged, ...meaning, ordered: orderedBy(event) };
};

/** The card's data in payloads, and its owner. */
type CardFacts = Omit<PublicEventData, 'heldReason'> & { readonly org: OrganizationId };

const factsOf = (code: string, ordered: Ordered): CardFacts => {
  const { recipient, reference } = dataOf(code, ordered, null);
  return { card: code, org: ordered.order.org, recipient, reference };
};

const usuallyKnown = 10_000;
/** After these a card has no other public event. */
const lastTypes: ReadonlySet<PublicEventType> = new Set(['card.mailed', 'card.cancelled']);
/** More would only wait for each other on the connection to the event store. */
const readsAtOnce = 100;

/** Null if the document lacks something, as one of an older version of the read model may. */
const factsIn = ({ code, org, recipient, reference }: Partial<CardDocument>): CardFacts | null =>
  code === undefined || org === undefined || recipient === undefined || reference === undefined
    ? null
    : { card: code, org: OrganizationId.parse(org), recipient: recipient?.name ?? null, reference };

export interface PublicEventsOptions {
  /** How many cards are kept in mind, at some 250 bytes each. */
  readonly knownCards?: number;
  /** Where a card is looked up before its stream is read, if many rows are cheaper than many streams. */
  readonly readModels?: Pick<ReadModels, 'get'> | null;
}

/**
 * Makes public events from events of cards. Only the beginning of a card's stream is read, and only if this
 * process doesn't know the card and no read model shows it: any number can be asked for at once.
 */
export class PublicEvents {
  readonly #cards: LazyLru<string, CardFacts>;
  readonly #reading = new Map<string, Promise<CardFacts | null>>();
  readonly #limited = limitConcurrency(readsAtOnce);

  constructor(
    private readonly store: Pick<EventStore, 'readStream'>,
    private readonly options: PublicEventsOptions = {},
  ) {
    this.#cards = new LazyLru(options.knownCards ?? usuallyKnown);
  }

  /** Keeps a card in mind that begins with this event, so that its stream need not be read later. */
  note({ logged, ordered }: Announced): void {
    if (ordered !== null) this.#remember(logged.stream, ordered);
  }

  /** Forgets a card whose personal data was erased. */
  forget(stream: StreamName): void {
    this.#cards.delete(stream);
  }

  /** The public event; null if there never was a card. Throws EventStoreUnavailable. */
  async of({ logged, type, heldReason, ordered }: Announced): Promise<DeliverableEvent | null> {
    const facts = this.#cards.get(logged.stream) ?? (await this.#factsOf(logged.stream, ordered));
    if (facts === null) return null;
    const event = publicEventId(logged);
    const { occurredAt, traceparent } = logged.metadata;
    if (lastTypes.has(type)) this.#cards.delete(logged.stream);
    return {
      event,
      type,
      org: facts.org,
      card: facts.card,
      position: logged.position,
      occurredAt: Date.parse(occurredAt),
      ...(traceparent !== undefined && !isBegunHere(traceparent) && { traceparent }),
      body: payload(event, type, occurredAt, { heldReason, ...facts }),
    };
  }

  async #factsOf(stream: StreamName, ordered: Ordered | null): Promise<CardFacts | null> {
    if (ordered !== null) return this.#remember(stream, ordered);
    const reading =
      this.#reading.get(stream) ?? this.#lookUp(stream).finally(() => this.#reading.delete(stream));
    this.#reading.set(stream, reading);
    return reading;
  }

  async #lookUp(stream: StreamName): Promise<CardFacts | null> {
    const reading = this.options.readModels?.get(cards, idOf(stream));
    const row = await reading?.catch(insteadOf(ReadModelsUnavailable, null));
    const shown = row ? factsIn(row.document) : null;
    if (shown !== null) {
      this.#cards.set(stream, shown);
      return shown;
    }
    const [first] = await this.#limited(() => this.store.readStream(stream, 0, 1));
    const ordered = first === undefined ? null : orderedBy(parseEvent(card, first));
    return ordered && this.#remember(stream, ordered);
  }

  #remember(stream: StreamName, ordered: Ordered): CardFacts {
    const facts = factsOf(idOf(stream), ordered);
    this.#cards.set(stream, facts);
    return facts;
  }
}

/** The delivery of an event to an endpoint. Its first attempt is due when it is stored: at `due`. */
export const deliveryOf = (
  event: DeliverableEvent,
  endpoint: Pick<Endpoint, 'id'>,
  policy: DeliveryPolicy,
  due: Milliseconds,
  dropReason: string | null,
): NewDelivery => ({
  id: deliveryIdOf(event.event, endpoint.id) as DeliveryId,
  endpoint: endpoint.id,
  due,
  allowed: policy.backoff.length + 1,
  expires: event.occurredAt + windowOf(policy),
  dropReason,
  ...event,
});
