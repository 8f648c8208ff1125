import { card, cardStream, orderedBy } from '../../domain/card.js';
import { parseCardCode, type CardCode } from '../../domain/card-code.js';
import { DomainError } from '../../domain/errors.js';
import { parseEvent, type LoggedEvent, type RecordedEvent } from '../../domain/events.js';
import { idOf, type OrganizationId, type StreamName } from '../../domain/ids.js';
import { publicEventId, type PublicEventType } from '../../domain/public-events.js';
import { payload, dataOf } from '../../domain/delivery-payload.js';
import { organizations } from '../../projections/organizations.js';
import { publicEvents, type PublicEventDocument } from '../../projections/public-events.js';
import { mapLimited } from '../timing/limit-concurrency.js';
import { LazyLru } from '../memory/lazy-lru.js';
import { invalidCursor } from '../requests/invalid-cursor.js';
import type { EventStore } from '../ports/event-store.js';
import { ReadModelsUnavailable, type Page, type ReadModels } from '../ports/read-models.js';
import type { Clock } from '../ports/system.js';
import { cacheTtl } from '../personal/key-ring.js';
import { openedNow } from '../personal/personal.js';
import { announcedBy } from '../webhooks/public-deliveries.js';
import { LogWatch } from './watch-log.js';

export interface ReadEventsDeps {
  readonly store: EventStore;
  readonly readModels: ReadModels;
  readonly clock: Clock;
  readonly readYourWrites: {
    afterWrite(position: bigint): Promise<void>;
    shows(position: bigint): boolean;
  };
}

/** A public event with the body that a webhook about it has. */
export interface ShownEvent {
  readonly id: string;
  readonly type: PublicEventType;
  readonly body: string;
}

export interface EventQuery extends Page {
  readonly type: PublicEventType | null;
  /** As the client wrote it. */
  readonly card: string | null;
}

const readsAtOnce = 50;
/** Cards that a follower of events need not read again. */
const maxKnown = 1_000;

/** The first event of a card, and the one that is public. */
type Sources = readonly [RecordedEvent | undefined, RecordedEvent | undefined];

const shownBy = (
  sources: Sources,
  { id, type, card: code, created }: Pick<PublicEventDocument, 'id' | 'type' | 'card' | 'created'>,
): ShownEvent | null => {
  const [first, own] = sources.map((stored) => stored && parseEvent(card, stored));
  const ordered = first && orderedBy(first);
  if (!ordered) return null;
  const heldReason = own?.type === 'CardHeld' ? own.data.reason : null;
  return { id, type, body: payload(id, type, created, dataOf(code, ordered, heldReason)) };
};

/** All of them, for the last may be an erasure. */
const eventsOf = ({ store }: Pick<ReadEventsDeps, 'store'>, code: string) =>
  store.readStream(cardStream(code as CardCode), 0);

const shownAll = async (
  deps: Pick<ReadEventsDeps, 'store'>,
  documents: readonly PublicEventDocument[],
): Promise<readonly ShownEvent[]> => {
  const codes = [...new Set(documents.map(({ card: code }) => code))];
  const read = async (code: string) => [code, await eventsOf(deps, code)] as const;
  const streams = new Map(await mapLimited(readsAtOnce, codes, read));
  return documents.flatMap((document) => {
    const events = streams.get(document.card) ?? [];
    return shownBy([events[0], events[document.revision]], document) ?? [];
  });
};

const unknownCursor = () => invalidCursor('event of this organization');
const notFound = () => new DomainError('not_found', 'There is no such event in this organization.');

/**
 * The row of an event of the organization. Streams and webhooks tell of an event before it has a row: waits
 * for the projections before it throws `unknown`. Throws ReadModelsUnavailable, EventStoreUnavailable.
 */
const rowOf = async (
  { store, readModels, readYourWrites }: ReadEventsDeps,
  org: OrganizationId,
  id: string,
  unknown: () => DomainError,
) => {
  let row = await readModels.get(publicEvents, id);
  if (row === null) {
    const { position } = await store.head();
    await readYourWrites.afterWrite(position);
    const isShown = readYourWrites.shows(position);
    row = await readModels.get(publicEvents, id);
    if (row === null && !isShown)
      throw new ReadModelsUnavailable('whether there is such an event is not known yet');
  }
  if (row?.document.org !== org) throw unknown();
  return row;
};

/** Leaves those before a position. An event that has no row yet comes after each that has one. */
const olderThan = async (
  { readModels }: ReadEventsDeps,
  events: readonly PublicEventDocument[],
  position: bigint,
): Promise<readonly PublicEventDocument[]> => {
  const rows = await mapLimited(readsAtOnce, events, ({ id }) => readModels.get(publicEvents, id));
  return events.filter((_, index) => (rows[index]?.created ?? position) < position);
};

/** The public events of one card, newest first; none if it is not one of the organization. */
const eventsOfCard = async (
  deps: ReadEventsDeps,
  org: OrganizationId,
  code: CardCode,
): Promise<readonly PublicEventDocument[]> => {
  const own = (await eventsOf(deps, code)).filter(({ metadata }) => metadata.org === org);
  return own
    .flatMap((stored) => publicEvents.evolve(null, { ...stored, position: stored.position ?? 0n }) ?? [])
    .toReversed();
};

/**
 * A page of the public events of an organization, newest first. Throws `invalid_cursor`,
 * ReadModelsUnavailable, EventStoreUnavailable.
 */
export const listEvents = async (
  deps: ReadEventsDeps,
  org: OrganizationId,
  { limit, type, card: wanted, startingAfter }: EventQuery,
): Promise<readonly ShownEvent[]> => {
  const last = startingAfter === null ? null : await rowOf(deps, org, startingAfter, unknownCursor);
  if (wanted !== null) {
    const parsed = parseCardCode(wanted);
    const all = parsed.kind === 'code' ? await eventsOfCard(deps, org, parsed.code) : [];
    const matching = all.filter((event) => type === null || event.type === type);
    const page = last === null ? matching : await olderThan(deps, matching, last.created);
    return shownAll(deps, page.slice(0, limit));
  }
  const where = type === null ? {} : { type };
  const rows = await deps.readModels.page(publicEvents, { org, limit, where, before: last?.created });
  const documents = rows.map(({ document }) => document);
  return shownAll(deps, documents);
};

/** A public event of the organization. Throws `not_found`, ReadModelsUnavailable, EventStoreUnavailable. */
export const readEvent = async (
  deps: ReadEventsDeps,
  org: OrganizationId,
  id: string,
): Promise<ShownEvent> => {
  const { document } = await rowOf(deps, org, id, notFound);
  const [event] = await shownAll(deps, [document]);
  if (event === undefined) throw notFound();
  return event;
};

/**
 * The public events of an organization after the event `after` (null: all), oldest first, then live, until
 * the signal aborts. At least once, in log order. Throws `invalid_cursor`, which `unknown` makes,
 * ReadModelsUnavailable, EventStoreUnavailable.
 */
export const followEvents = async (
  deps: ReadEventsDeps,
  org: OrganizationId,
  { type, card: wanted }: Pick<EventQuery, 'type' | 'card'>,
  after: string | null,
  signal: AbortSignal,
  unknown: () => DomainError = unknownCursor,
): Promise<AsyncIterable<ShownEvent>> => {
  const begin =
    after === null
      ? ((await deps.readModels.get(organizations, org))?.created ?? 0n)
      : (await rowOf(deps, org, after, unknown)).created;
  const parsed = wanted === null ? null : parseCardCode(wanted);
  // What is no code is as the empty one, which no card has.
  const stream = parsed && cardStream(parsed.kind === 'code' ? parsed.code : ('' as CardCode));
  const filter = { category: card.category, stream, organization: org, types: null };
  const sourcesOf = sources(deps);
  return (async function* () {
    const watched = { after: begin, until: null, filter, closesErased: false, signal };
    for await (const logged of new LogWatch(deps.store, watched)) {
      const announced = announcedBy(logged);
      if (announced === null || (type !== null && announced.type !== type)) continue;
      const event = shownBy(await sourcesOf(logged), {
        id: publicEventId(logged),
        type: announced.type,
        card: idOf(logged.stream),
        created: logged.metadata.occurredAt,
      });
      if (event !== null) yield event;
    }
  })();
};

/** Remembers the first events of cards, and opens them each time. */
const sources = ({ store, clock }: Pick<ReadEventsDeps, 'store' | 'clock'>) => {
  const known = knownOf(store);
  return async (logged: LoggedEvent): Promise<Sources> => {
    const { stream, revision, metadata } = logged;
    // The key of a card that was erased since may still be known here for this long.
    if (Date.parse(metadata.occurredAt) + cacheTtl < clock.now()) {
      const events = await store.readStream(stream, 0);
      return [events[0], events[revision]];
    }
    const first = revision === 0 ? logged : (known.get(stream) ?? (await store.readStream(stream, 0, 1))[0]);
    if (first !== undefined) known.set(stream, first);
    return [first && (await openedNow(first)), logged];
  };
};

const caches = new WeakMap<EventStore, LazyLru<StreamName, RecordedEvent>>();

/** One for all followers of a process. */
const knownOf = (store: EventStore): LazyLru<StreamName, RecordedEvent> => {
  const known = caches.get(store) ?? new LazyLru(maxKnown);
  caches.set(store, known);
  return known;
};
