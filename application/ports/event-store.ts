import type { EventMetadata, LoggedEvent, RecordedEvent } from '../../domain/events.js';
import type { StreamName, Uuid } from '../../domain/ids.js';
import type { KeyClaim } from './idempotency-store.js';

/** The revision before the first event: the stream must not exist. */
export const noStream = -1;

export interface NewEvent {
  readonly id: Uuid;
  readonly type: string;
  readonly data: object;
  readonly metadata: EventMetadata;
}

/** Events for one stream, and the revision of the last event that it holds now. */
export interface StreamWrite {
  readonly stream: StreamName;
  readonly expected: number;
  readonly events: readonly NewEvent[];
}

/**
 * What became of one write.
 * `appended`: durable, now or by an earlier append of the same event ids. `position` is that of its last
 * event.
 * `conflict`: the stream is at another revision; nothing of this write is stored.
 * `skipped`: not tried, because another write of the same append failed.
 * `unknown`: stored, not stored, or stored later. Look for the event ids before deciding again.
 */
export type WriteOutcome =
  | { readonly kind: 'appended'; readonly position: bigint }
  | { readonly kind: 'conflict' }
  | { readonly kind: 'skipped' }
  | { readonly kind: 'unknown' };

/** The store can't be reached, or its disk is full or read-only. Nothing was written. */
export class EventStoreUnavailable extends Error {
  override readonly name = 'EventStoreUnavailable';
}

/** The head of the log: the position of its last event (0 where it is empty) and that event's hash. */
export interface LogHead {
  readonly position: bigint;
  readonly hash: string | null;
}

/** The log as the processes see that follow it. */
export interface LogReader {
  /**
   * Up to `limit` events after a position, in log order; fewer only where the log ends. Throws
   * EventStoreUnavailable.
   */
  readLog(after: bigint, limit: number): Promise<readonly LoggedEvent[]>;

  /** Throws EventStoreUnavailable. */
  head(): Promise<LogHead>;

  /**
   * Every event after a position in batches of at most `batch`, then live, until `signal` aborts (the
   * iteration then ends without an error). Resumes by itself when the store was away. Yields nothing while
   * there is nothing new.
   */
  follow(
    after: bigint,
    options: { readonly signal: AbortSignal; readonly batch?: number },
  ): AsyncIterable<readonly LoggedEvent[]>;
}

/**
 * The log of all streams: the truth.
 *
 * Durable: an outcome `appended` survives kill -9 and power loss. Positions grow from 1 in the order in which
 * appends become visible; a reader that has seen a position never sees a smaller one appear later.
 */
export interface EventStore extends LogReader {
  /**
   * True: an append over several streams is all or nothing. False: its writes go in order, and those after
   * the first are tried only once the first is stored.
   */
  readonly atomic: boolean;

  /**
   * Appends to one or more different streams, each with at least one event; one outcome per write, in their
   * order. Anything else is a fault of the caller's and throws before anything is written.
   * On an atomic store either every outcome is `appended`, or none is: the writes at fault are `conflict`,
   * the others `skipped`.
   * `completing`: claims that become completed in the same commit, where the store can (`completesClaims`);
   * ignored elsewhere. An append repeated with the same event ids and expected revision is `appended` again
   * and stores nothing.
   * Throws EventStoreUnavailable where certainly nothing was written.
   */
  append(writes: readonly StreamWrite[], completing?: readonly KeyClaim[]): Promise<readonly WriteOutcome[]>;

  /** True where `append` completes claims in the same commit. */
  readonly completesClaims: boolean;

  /**
   * A stream's events from a revision on, oldest first; none where the stream does not exist. Throws
   * EventStoreUnavailable.
   */
  readStream(stream: StreamName, fromRevision: number): Promise<readonly RecordedEvent[]>;

  /** The last event of a stream, or null. Throws EventStoreUnavailable. */
  readLast(stream: StreamName): Promise<RecordedEvent | null>;
}
