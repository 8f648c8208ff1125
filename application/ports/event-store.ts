import { NamedError } from '../../domain/errors.js';
import type { LoggedEvent, RecordedEvent } from '../../domain/events.js';
import type { Instant, Milliseconds, StreamName, Uuid } from '../../domain/ids.js';
import type { KeyClaim } from './idempotency-store.js';

/** The revision of a stream that does not exist. */
export const noStream = -1;

export type NewEvent = Pick<RecordedEvent, 'id' | 'type' | 'data' | 'metadata'>;

/** Events for one stream, and the revision that the stream must have. */
export interface StreamWrite {
  readonly stream: StreamName;
  readonly expected: number;
  readonly events: readonly NewEvent[];
}

/**
 * The outcome of one write.
 * `appended`: stored durably, now or by an earlier append of the same event ids. `position` is that of its
 * last event.
 * `conflict`: the stream has another revision; nothing of this write is stored.
 * `skipped`: not tried, because another write of the same append failed.
 * `unknown`: stored, not stored, or stored later. Look for the event ids before you decide again.
 */
export type WriteOutcome =
  | { readonly kind: 'appended'; readonly position: bigint }
  | { readonly kind: 'conflict' }
  | { readonly kind: 'skipped' }
  | { readonly kind: 'unknown' };

export const larger = (a: bigint, b: bigint): bigint => (a > b ? a : b);

/** The largest of a position and the positions of appended writes. */
export const lastPosition = (position: bigint, outcomes: readonly WriteOutcome[]): bigint =>
  outcomes.reduce(
    (last, outcome) => (outcome.kind === 'appended' ? larger(last, outcome.position) : last),
    position,
  );

/** The store can't be reached, or its disk is full or read-only. Nothing was written. */
export class EventStoreUnavailable extends NamedError {}

/** Identifies an event among all others that could have its position, and when it was recorded. */
export interface EventMark {
  readonly id: Uuid;
  readonly hash: string;
  readonly at: Instant;
}

export const markOf = ({ id, metadata }: Pick<RecordedEvent, 'id' | 'metadata'>): EventMark => ({
  id,
  hash: metadata.hash,
  at: metadata.occurredAt,
});

/** The log's last event; 0 and null if the log is empty. */
export interface LogHead {
  readonly position: bigint;
  readonly event: EventMark | null;
}

/** How far apart the times of neighbouring events may be in the wrong order. */
export const clockTolerance: Milliseconds = 15 * 60_000;

/**
 * A place in the log: the position of an event, or 0, or the time of an event. Positions are opaque: they are
 * compared, and never calculated with.
 */
export type Place = { readonly position: bigint } | { readonly time: Milliseconds };

/** The log, for processes that follow it. */
export interface LogReader {
  /**
   * Up to `limit` events after a position, in log order; fewer only at the end of the log. They come in a
   * later turn of the event loop, so that a loop over the log doesn't block other work. Throws
   * EventStoreUnavailable.
   */
  readLog(after: bigint, limit: number): Promise<readonly LoggedEvent[]>;

  /** Throws EventStoreUnavailable. */
  head(): Promise<LogHead>;

  /** The event at exactly this position, or null. Throws EventStoreUnavailable. */
  markAt(position: bigint): Promise<EventMark | null>;

  /**
   * Every event after a position in batches of at most `batch`, then live, until `signal` aborts; the
   * iteration then ends without an error. Resumes by itself when the store is back. Yields nothing while
   * there is nothing new. Between two batches other work has a turn.
   */
  follow(
    after: bigint,
    options: { readonly signal: AbortSignal; readonly batch?: number },
  ): AsyncIterable<readonly LoggedEvent[]>;
}

/**
 * The log of all streams, from which everything else can be rebuilt.
 *
 * Durable: an outcome `appended` survives kill -9 and power loss. Positions grow from 1 in the order in which
 * appends become visible; a reader that has seen a position never sees a smaller one appear later.
 */
export interface EventStore extends LogReader {
  /**
   * Appends to one or more different streams, each with at least one event. Returns one outcome per write, in
   * their order. Arguments that break these rules throw before anything is written. On a store that commits
   * several streams at once either every outcome is `appended`, or none is: the writes at fault are
   * `conflict`, the others `skipped`; any other makes one write after the other, each only once the one
   * before it is stored. `completing`: claims that become completed in the same commit, if there is one. An
   * append that is repeated with the same event ids and expected revision is `appended` again and stores
   * nothing.
   * Throws EventStoreUnavailable if it is certain that nothing was written.
   */
  append(writes: readonly StreamWrite[], completing?: readonly KeyClaim[]): Promise<readonly WriteOutcome[]>;

  /**
   * A stream's events from a revision on, oldest first: at most `limit`, or all of them, for streams that
   * stay short; none if the stream does not exist. Throws EventStoreUnavailable.
   */
  readStream(stream: StreamName, fromRevision: number, limit?: number): Promise<readonly RecordedEvent[]>;

  /**
   * The position after which to begin in order to read the event at a place and all later ones; 0 if it is
   * the first. For a time: all events that occurred then or later, provided that the clocks of the processes
   * that wrote them differed by less than `clockTolerance`. It is found by search, or from the end of the
   * log, until `signal` aborts. Throws EventStoreUnavailable.
   */
  positionBefore(place: Place, signal?: AbortSignal): Promise<bigint>;

  /** The last event of a stream, or null. Throws EventStoreUnavailable. */
  readLast(stream: StreamName): Promise<RecordedEvent | null>;
}

/** The store with other members in the place of some. */
export const storeWith = (store: EventStore, members: Partial<EventStore>): EventStore => ({
  append: (writes, completing) => store.append(writes, completing),
  readStream: (stream, from, limit) => store.readStream(stream, from, limit),
  readLast: (stream) => store.readLast(stream),
  readLog: (after, limit) => store.readLog(after, limit),
  head: () => store.head(),
  markAt: (position) => store.markAt(position),
  positionBefore: (place, signal) => store.positionBefore(place, signal),
  follow: (after, options) => store.follow(after, options),
  ...members,
});

/**
 * Pages of this size, each asked for after the last item of the page before; a page with fewer is the last.
 */
export async function* pagesAfter<Item>(
  size: number,
  ask: (last: Item | undefined) => Promise<readonly Item[]>,
): AsyncGenerator<readonly Item[], void, undefined> {
  for (let last: Item | undefined; ;) {
    const page = await ask(last);
    if (page.length > 0) yield page;
    if (page.length < size) return;
    last = page.at(-1);
  }
}

/** So few are checked, opened and folded at once. */
const pageSize = 200;

/** A stream's events between two revisions, a page at a time, for streams that grow without end. */
export const streamPages = (
  store: Pick<EventStore, 'readStream'>,
  stream: StreamName,
  fromRevision: number,
  until = Infinity,
) =>
  pagesAfter<RecordedEvent>(pageSize, (last) => {
    const from = last === undefined ? fromRevision : last.revision + 1;
    const limit = Math.min(pageSize, until - from);
    return limit > 0 ? store.readStream(stream, from, limit) : Promise.resolve([]);
  });

/** All events of a stream, read a page at a time. */
export const wholeStream = async (
  store: Pick<EventStore, 'readStream'>,
  stream: StreamName,
): Promise<readonly RecordedEvent[]> => {
  const events: RecordedEvent[] = [];
  for await (const page of streamPages(store, stream, 0)) events.push(...page);
  return events;
};

const logPage = 1_000;

/** The events of the log after a position, a page at a time. */
export const logPages = (log: Pick<EventStore, 'readLog'>, after: bigint) =>
  pagesAfter<LoggedEvent>(logPage, (last) => log.readLog(last?.position ?? after, logPage));
