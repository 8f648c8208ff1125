import { LazyLru } from '../../../application/memory/lazy-lru.js';
import { storedTexts } from '../../../application/log/hash-chain.js';
import { turnAlone } from '../../../application/timing/next-turn.js';
import { settledOrAborted } from '../../../application/timing/settled-or-aborted.js';
import type { EventMetadata, LoggedEvent } from '../../../domain/events.js';
import type { StreamName, Uuid } from '../../../domain/ids.js';
import {
  larger,
  clockTolerance,
  EventStoreUnavailable,
  type EventStore,
  type StreamWrite,
} from '../../../application/ports/event-store.js';
import type { KeyClaim } from '../../../application/ports/idempotency-store.js';
import type { Clock } from '../../../application/ports/system.js';
import type { EventTexts, WriteInput, WriteResult } from '../writer/append.js';
import { NotWritten } from '../errors.js';
import { parseData } from './event-rows.js';
import { followLog, type LogSource } from './log-reader.js';
import type { LogQueries } from './log-queries.js';
import type { RunningClaims } from '../records/idempotency-store.js';
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

const maxKnownHeads = 100_000;

/** A caller that reads page after page gives way to others in between. */
const largePage = 100;

/**
 * The event log in events.db. Only this process writes it, so recent writes need not be read from the file.
 * `claims`: the running claims, which the idempotency store keeps in memory; an append can complete them.
 */
export const sqliteEventStore = ({
  writer,
  queries,
  claims,
  clock,
}: {
  readonly writer: SqliteWriter;
  readonly queries: LogQueries;
  readonly claims: RunningClaims;
  readonly clock: Clock;
}): EventStore => {
  /** The last revisions of streams that were read: a cached state asks again and again for later events. */
  const heads = new LazyLru<StreamName, number>(maxKnownHeads);
  const recent = new RecentEvents();
  /** Called once, after the next commit. */
  const awaitingCommit = new Set<() => void>();
  writer.onCommitted(() => {
    for (const wake of awaitingCommit) wake();
    awaitingCommit.clear();
  });

  /**
   * The head that this thread has been told of. The writer's may be further by events that are not kept in
   * memory yet: a follower that read them from the file would cost a busy service 4 % of its thread.
   */
  const toldHead = (): bigint => (recent.last === 0 ? queries.headPosition() : BigInt(recent.last));

  const logAfter = (position: bigint, limit: number): readonly LoggedEvent[] =>
    position >= queries.headPosition()
      ? []
      : (recent.after(position, limit) ?? queries.readLog(position, limit));

  const rememberEvents = (
    { stream, expected, events }: StreamWrite,
    input: WriteInput,
    last: number,
  ): void => {
    const before = last - events.length;
    for (const [index, { metadata }] of events.entries()) {
      const texts = input.events[index];
      if (texts !== undefined)
        recent.add(parsedOnDemand(stream, expected + index + 1, before + index + 1, texts, metadata));
    }
    if (heads.has(stream)) heads.set(stream, expected + events.length);
  };

  /** After an append became durable. */
  const remember = (
    writes: readonly StreamWrite[],
    inputs: readonly WriteInput[],
    results: readonly WriteResult[],
    completing: readonly KeyClaim[],
  ): void => {
    for (const [index, result] of results.entries()) {
      const write = writes[index];
      const input = inputs[index];
      if (result.kind === 'appended' && result.isNew && write !== undefined && input !== undefined)
        rememberEvents(write, input, result.position);
    }
    if (results.every(({ kind }) => kind === 'appended')) completing.forEach((claim) => claims.remove(claim));
  };

  const source: LogSource = {
    readLog: (position, limit) => (position >= toldHead() ? [] : logAfter(position, limit)),
    headPosition: toldHead,
    untilCommittedAfter: async (position, signal) => {
      if (toldHead() > position) return;
      await settledOrAborted(new Promise<void>((resolve) => awaitingCommit.add(resolve)), signal);
      await turnAlone();
    },
    clock,
  };

  return {
    append: async (writes, completing = []) => {
      assertValid(writes);
      const inputs = writes.map(writeInput);
      try {
        const results = await writer.run(
          'append',
          { writes: inputs, completing: completing.map((claim) => claims.completedKey(claim)) },
          (durable) => remember(writes, inputs, durable, completing),
        );
        return results.map((result) =>
          result.kind === 'appended' ? { kind: 'appended', position: BigInt(result.position) } : result,
        );
      } catch (error) {
        if (error instanceof NotWritten)
          throw new EventStoreUnavailable(`Nothing was written: ${error.message}`, { cause: error });
        throw error;
      }
    },

    readStream: async (stream, fromRevision, limit = Number.MAX_SAFE_INTEGER) => {
      const head = heads.get(stream);
      if (head !== undefined && fromRevision > head) return [];
      const events = queries.readStream(stream, fromRevision, limit);
      // A full page may end before its stream. A caller that asks beyond the end may be wrong about the end:
      // a head that is too high only costs a read.
      if (events.length < limit) heads.set(stream, events.at(-1)?.revision ?? fromRevision - 1);
      else if (limit >= largePage) await turnAlone();
      return events;
    },

    readLast: async (stream) => queries.readLast(stream),

    readLog: async (after, limit) => {
      await turnAlone();
      return logAfter(after, limit);
    },

    positionBefore: async (place) =>
      'position' in place
        ? larger(place.position - 1n, 0n)
        : queries.positionBefore(place.time - clockTolerance),

    head: async () => queries.head(),

    markAt: async (position) => queries.markAt(position),

    follow: (after, options) => followLog(source, after, options),
  };
};

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
