import { LRUCache } from 'lru-cache';
import { storedTexts } from '../../../application/hash-chain.js';
import type { EventMetadata, LoggedEvent, RecordedEvent } from '../../../domain/events.js';
import type { StreamName, Uuid } from '../../../domain/ids.js';
import {
  EventStoreUnavailable,
  type EventStore,
  type LogHead,
  type StreamWrite,
  type WriteOutcome,
} from '../../../application/ports/event-store.js';
import type { KeyClaim } from '../../../application/ports/idempotency-store.js';
import type { Clock } from '../../../application/ports/system.js';
import type { EventTexts, WriteInput, WriteResult } from '../writer/append.js';
import { NotWritten } from '../errors.js';
import { followLog, parseData, settledOrAborted, type LogQueries } from './log-reader.js';
import { RecentEvents } from './recent-events.js';
import type { RunningClaims } from '../records/running-claims.js';
import type { SqliteWriter } from '../writer/writer.js';

export interface SqliteEventStoreOptions {
  readonly writer: SqliteWriter;
  readonly queries: LogQueries;
  /** The claims that the idempotency store keeps in memory: an append turns them into completed keys. */
  readonly claims: RunningClaims;
  readonly clock: Clock;
}

const knownHeads = 100_000;

const writeInput = ({ stream, expected, events }: StreamWrite): WriteInput => ({
  stream,
  expected,
  events: events.map((event) => {
    const { data, personal, metadata } = storedTexts(event);
    return [event.id, event.type, data, personal, metadata];
  }),
});

/** Throws a RangeError for what no caller may ask: no write, a write without events, one stream twice. */
const assertSensible = (writes: readonly StreamWrite[]): void => {
  if (writes.length === 0 || writes.some(({ events }) => events.length === 0))
    throw new RangeError('an append needs at least one event per stream');
  if (new Set(writes.map(({ stream }) => stream)).size !== writes.length)
    throw new RangeError('an append names a stream once');
};

/**
 * The event log in events.db. Holding the data directory makes this the only writer: what it has written it
 * need not ask the file for.
 */
export class SqliteEventStore implements EventStore {
  readonly atomic = true;
  readonly completesClaims = true;
  readonly #options: SqliteEventStoreOptions;
  /** Of streams that were read: those who keep their state ask for news again and again. */
  readonly #heads = new LRUCache<StreamName, number>({ max: knownHeads });
  readonly #recent = new RecentEvents();
  readonly #waiting = new Set<() => void>();

  constructor(options: SqliteEventStoreOptions) {
    this.#options = options;
    options.writer.onCommitted(() => {
      for (const wake of this.#waiting) wake();
      this.#waiting.clear();
    });
  }

  async append(
    writes: readonly StreamWrite[],
    completing: readonly KeyClaim[] = [],
  ): Promise<readonly WriteOutcome[]> {
    assertSensible(writes);
    const { writer, claims } = this.#options;
    const inputs = writes.map(writeInput);
    try {
      const results = await writer.run(
        'append',
        { writes: inputs, completing: completing.map((claim) => claims.completedKey(claim)) },
        (applied) => this.#apply(writes, inputs, applied, completing),
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

  async readStream(stream: StreamName, fromRevision: number): Promise<readonly RecordedEvent[]> {
    const head = this.#heads.get(stream);
    if (head !== undefined && fromRevision > head) return [];
    const events = this.#options.queries.readStream(stream, fromRevision);
    // Who asks beyond what there is may be wrong about where that ends: a head that is too high costs a read,
    // no more.
    this.#heads.set(stream, events.at(-1)?.revision ?? fromRevision - 1);
    return events;
  }

  async readLast(stream: StreamName): Promise<RecordedEvent | null> {
    return this.#options.queries.readLast(stream);
  }

  async readLog(after: bigint, limit: number): Promise<readonly LoggedEvent[]> {
    return this.#after(after, limit);
  }

  async head(): Promise<LogHead> {
    return this.#options.queries.head();
  }

  follow(
    after: bigint,
    options: { readonly signal: AbortSignal; readonly batch?: number },
  ): AsyncIterable<readonly LoggedEvent[]> {
    return followLog(
      {
        readLog: (position, limit) => this.#after(position, limit),
        untilAfter: (position, signal) =>
          this.#options.queries.headPosition() > position
            ? Promise.resolve()
            : settledOrAborted(this.#nextCommit(), signal),
        clock: this.#options.clock,
      },
      after,
      options,
    );
  }

  #nextCommit(): Promise<void> {
    return new Promise((resolve) => this.#waiting.add(resolve));
  }

  #after(position: bigint, limit: number): readonly LoggedEvent[] {
    const { queries } = this.#options;
    return position >= queries.headPosition()
      ? []
      : (this.#recent.after(position, limit) ?? queries.readLog(position, limit));
  }

  #apply(
    writes: readonly StreamWrite[],
    inputs: readonly WriteInput[],
    results: readonly WriteResult[],
    completing: readonly KeyClaim[],
  ): void {
    for (const [index, result] of results.entries()) {
      const write = writes[index];
      const input = inputs[index];
      if (result.kind === 'appended' && result.fresh && write !== undefined && input !== undefined)
        this.#remember(write, input, result.position);
    }
    if (results.every(({ kind }) => kind === 'appended'))
      completing.forEach((claim) => this.#options.claims.settle(claim));
  }

  #remember({ stream, expected, events }: StreamWrite, input: WriteInput, last: number): void {
    const before = last - events.length;
    for (const [index, { metadata }] of events.entries()) {
      const texts = input.events[index];
      if (texts !== undefined)
        this.#recent.add(justAppended(stream, expected + index + 1, before + index + 1, texts, metadata));
    }
    if (this.#heads.has(stream)) this.#heads.set(stream, expected + events.length);
  }
}

/** Its data is parsed when somebody looks at it: those who follow the log look at few events more closely. */
const justAppended = (
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
