import { LazyLru } from '../../../application/memory/lazy-lru.js';
import { storedTexts } from '../../../application/log/hash-chain.js';
import { turnAlone } from '../../../application/timing/next-turn.js';
import type { EventMetadata, LoggedEvent, RecordedEvent } from '../../../domain/events.js';
import type { StreamName, Uuid } from '../../../domain/ids.js';
import {
  larger,
  clockTolerance,
  EventStoreUnavailable,
  type EventMark,
  type EventStore,
  type LogHead,
  type Place,
  type StreamWrite,
  type WriteOutcome,
} from '../../../application/ports/event-store.js';
import type { KeyClaim } from '../../../application/ports/idempotency-store.js';
import type { Clock } from '../../../application/ports/system.js';
import type { EventTexts, WriteInput, WriteResult } from '../writer/append.js';
import { NotWritten } from '../errors.js';
import { parseData } from './event-rows.js';
import { followLog, settledOrAborted } from './following.js';
import type { LogQueries } from './log-queries.js';
import type { RunningClaims } from '../records/running-claims.js';
import type { SqliteWriter } from '../writer/writer.js';

/** A few batches of a follower. Many more would make each garbage collection of a busy service dearer. */
const maxRecent = 1024;

/** The newest events of the log, kept in memory so that followers need not read them from the file. */
class RecentEvents {
  readonly #events: (LoggedEvent | undefined)[] = Array.from({ length: maxRecent });
  #first = 1;
  #last = 0;

  /** The position of the newest one; 0 before the first. */
  get last(): number {
    return this.#last;
  }

  /** Events come in log order. After a gap, the events before it are forgotten. */
  add(event: LoggedEvent): void {
    const position = Number(event.position);
    if (position !== this.#last + 1) this.#first = position;
    this.#last = position;
    this.#first = Math.max(this.#first, position - maxRecent + 1);
    this.#events[position % maxRecent] = event;
  }

  /** At most `limit` events after a position before the head, or null if the first of them is not kept. */
  after(position: bigint, limit: number): readonly LoggedEvent[] | null {
    const from = Number(position) + 1;
    if (from < this.#first || from > this.#last) return null;
    const count = Math.min(limit, this.#last - from + 1);
    return Array.from({ length: count }, (_, index) => this.#at(from + index));
  }

  #at(position: number): LoggedEvent {
    const event = this.#events[position % maxRecent];
    if (event === undefined) throw new Error(`the event at position ${position} is not kept`);
    return event;
  }
}

export interface SqliteEventStoreOptions {
  readonly writer: SqliteWriter;
  readonly queries: LogQueries;
  /** The running claims, which the idempotency store keeps in memory. An append can complete them. */
  readonly claims: RunningClaims;
  readonly clock: Clock;
}

const maxKnownHeads = 100_000;

/** A caller that reads page after page gives way to others in between. */
const largePage = 100;

/**
 * The event log in events.db. Only this process writes it, so recent writes need not be read from the file.
 */
export class SqliteEventStore implements EventStore {
  /** The last revisions of streams that were read: a cached state asks again and again for later events. */
  readonly #heads = new LazyLru<StreamName, number>(maxKnownHeads);
  readonly #recent = new RecentEvents();
  /** Called once, after the next commit. */
  readonly #awaitingCommit = new Set<() => void>();

  constructor(private readonly options: SqliteEventStoreOptions) {
    options.writer.onCommitted(() => {
      for (const wake of this.#awaitingCommit) wake();
      this.#awaitingCommit.clear();
    });
  }

  async append(
    writes: readonly StreamWrite[],
    completing: readonly KeyClaim[] = [],
  ): Promise<readonly WriteOutcome[]> {
    assertValid(writes);
    const { writer, claims } = this.options;
    const inputs = writes.map(writeInput);
    try {
      const results = await writer.run(
        'append',
        { writes: inputs, completing: completing.map((claim) => claims.completedKey(claim)) },
        (durable) => this.#remember(writes, inputs, durable, completing),
      );
      return results.map((result) =>
        result.kind === 'appended' ? { kind: 'appended', position: BigInt(result.position) } : result,
      );
    } catch (error) {
      if (error instanceof NotWritten)
        throw new EventStoreUnavailable(`Nothing was written: ${error.message}`, { cause: error });
      throw error;
    }
  }

  async readStream(
    stream: StreamName,
    fromRevision: number,
    limit = Number.MAX_SAFE_INTEGER,
  ): Promise<readonly RecordedEvent[]> {
    const head = this.#heads.get(stream);
    if (head !== undefined && fromRevision > head) return [];
    const events = this.options.queries.readStream(stream, fromRevision, limit);
    // A full page may end before its stream. A caller that asks beyond the end may be wrong about the end: a
    // head that is too high only costs a read.
    if (events.length < limit) this.#heads.set(stream, events.at(-1)?.revision ?? fromRevision - 1);
    else if (limit >= largePage) await turnAlone();
    return events;
  }

  async readLast(stream: StreamName): Promise<RecordedEvent | null> {
    return this.options.queries.readLast(stream);
  }

  async readLog(after: bigint, limit: number): Promise<readonly LoggedEvent[]> {
    await turnAlone();
    return this.#logAfter(after, limit);
  }

  async positionBefore(place: Place): Promise<bigint> {
    if ('position' in place) return larger(place.position - 1n, 0n);
    return this.options.queries.positionBefore(place.time - clockTolerance);
  }

  async head(): Promise<LogHead> {
    return this.options.queries.head();
  }

  async markAt(position: bigint): Promise<EventMark | null> {
    return this.options.queries.markAt(position);
  }

  follow(
    after: bigint,
    options: { readonly signal: AbortSignal; readonly batch?: number },
  ): AsyncIterable<readonly LoggedEvent[]> {
    return followLog(
      {
        readLog: (position, limit) => (position >= this.#toldHead() ? [] : this.#logAfter(position, limit)),
        headPosition: () => this.#toldHead(),
        untilCommittedAfter: (position, signal) =>
          this.#toldHead() > position
            ? Promise.resolve()
            : settledOrAborted(this.#nextCommit(), signal).then(turnAlone),
        clock: this.options.clock,
      },
      after,
      options,
    );
  }

  /**
   * The head that this thread has been told of. The writer's may be further by events that are not kept in
   * memory yet: a follower that read them from the file would cost a busy service 4 % of its thread.
   */
  #toldHead(): bigint {
    return this.#recent.last === 0 ? this.options.queries.headPosition() : BigInt(this.#recent.last);
  }

  #nextCommit(): Promise<void> {
    return new Promise((resolve) => this.#awaitingCommit.add(resolve));
  }

  #logAfter(position: bigint, limit: number): readonly LoggedEvent[] {
    const { queries } = this.options;
    return position >= queries.headPosition()
      ? []
      : (this.#recent.after(position, limit) ?? queries.readLog(position, limit));
  }

  /** After an append became durable. */
  #remember(
    writes: readonly StreamWrite[],
    inputs: readonly WriteInput[],
    results: readonly WriteResult[],
    completing: readonly KeyClaim[],
  ): void {
    for (const [index, result] of results.entries()) {
      const write = writes[index];
      const input = inputs[index];
      if (result.kind === 'appended' && result.isNew && write !== undefined && input !== undefined)
        this.#rememberEvents(write, input, result.position);
    }
    if (results.every(({ kind }) => kind === 'appended'))
      completing.forEach((claim) => this.options.claims.remove(claim));
  }

  #rememberEvents({ stream, expected, events }: StreamWrite, input: WriteInput, last: number): void {
    const before = last - events.length;
    for (const [index, { metadata }] of events.entries()) {
      const texts = input.events[index];
      if (texts !== undefined)
        this.#recent.add(parsedOnDemand(stream, expected + index + 1, before + index + 1, texts, metadata));
    }
    if (this.#heads.has(stream)) this.#heads.set(stream, expected + events.length);
  }
}

/** Throws a RangeError for an invalid call: no write, a write without events, a stream twice. */
const assertValid = (writes: readonly StreamWrite[]): void => {
  if (writes.length === 0 || writes.some(({ events }) => events.length === 0))
    throw new RangeError('an append needs at least one event per stream');
  if (new Set(writes.map(({ stream }) => stream)).size !== writes.length)
    throw new RangeError('an append may name each stream only once');
};

const writeInput = ({ stream, expected, events }: StreamWrite): WriteInput => ({
  stream,
  expected,
  events: events.map((event) => {
    const { data, personal, metadata } = storedTexts(event);
    return [event.id, event.type, data, personal, metadata];
  }),
});

/** Parses the data only if it is read: most followers of the log look at the data of few events. */
const parsedOnDemand = (
  stream: StreamName,
  revision: number,
  position: number,
  [id, type, text, personal]: EventTexts,
  metadata: EventMetadata,
): LoggedEvent => {
  let data: object | null = null;
  return {
    id: id as Uuid,
    stream,
    revision,
    position: BigInt(position),
    type,
    get data() {
      return (data ??= parseData(text, personal));
    },
    metadata,
  };
};
