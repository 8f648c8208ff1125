import type { EventMetadata, LoggedEvent } from '../../../domain/events.js';
import type { StreamName, Uuid } from '../../../domain/ids.js';
import {
  EventStoreUnavailable,
  type LogHead,
  type LogReader,
} from '../../../application/ports/event-store.js';
import type { Clock } from '../../../application/ports/system.js';
import { messageOf } from '../../../domain/errors.js';
import { errcodeOf, isDamage, type Database, type Statement } from '../database.js';
import { DamagedLog } from '../errors.js';
import type { InsideGate } from '../gate.js';

/** One row of the log, as its columns stand. */
export type EventRow = readonly [
  position: number, stream: string, revision: number, id: string, type: string, data: string, personal: string | null, metadata: string,
]; // prettier-ignore

export const eventColumns = 'position, stream, revision, id, type, data, personal, metadata';

/** An event's data as it reads from its stored texts. */
export const parseData = (data: string, personal: string | null): object => {
  const parsed = JSON.parse(data) as object;
  return personal === null ? parsed : Object.assign(parsed, { personal: JSON.parse(personal) as unknown });
};

/** The event that a row holds. */
export const eventOf = ([
  position,
  stream,
  revision,
  id,
  type,
  data,
  personal,
  metadata,
]: EventRow): LoggedEvent => ({
  id: id as Uuid,
  stream: stream as StreamName,
  revision,
  position: BigInt(position),
  type,
  data: parseData(data, personal),
  metadata: JSON.parse(metadata) as EventMetadata,
});

/**
 * Resolves when an event was committed that is newer than the position; at once where there is one; at the
 * latest when the signal aborts.
 */
export type Awaited = (after: bigint, signal: AbortSignal) => Promise<void>;

/** `Atomics.waitAsync`, which the type library of this target does not know. */
interface WaitAsync {
  waitAsync(
    view: BigInt64Array,
    index: number,
    value: bigint,
  ): { readonly async: false } | { readonly async: true; readonly value: Promise<string> };
}

/**
 * Waits on the head that the writer shares. One notification a commit, whatever the number of events; nothing
 * is copied.
 */
export const awaitSharedHead = (head: SharedArrayBuffer): Awaited => {
  const view = new BigInt64Array(head);
  const atomics = Atomics as typeof Atomics & WaitAsync;
  return async (after, signal) => {
    const seen = Atomics.load(view, 0);
    if (signal.aborted || seen > after) return;
    const waiting = atomics.waitAsync(view, 0, seen);
    if (!waiting.async) return;
    await settledOrAborted(waiting.value, signal);
  };
};

/** Resolves with the promise or when the signal aborts, whichever is first. */
export const settledOrAborted = async (promise: Promise<unknown>, signal: AbortSignal): Promise<void> => {
  if (signal.aborted) return;
  let abort: () => void = () => undefined;
  const aborted = new Promise<void>((resolve) => (abort = resolve));
  signal.addEventListener('abort', abort);
  try {
    await Promise.race([promise, aborted]);
  } finally {
    signal.removeEventListener('abort', abort);
  }
};

/**
 * What following a log needs: events after a position from wherever they are at hand, and news of later ones.
 */
export interface LogSource {
  readonly readLog: (after: bigint, limit: number) => readonly LoggedEvent[];
  readonly untilAfter: Awaited;
  readonly clock: Clock;
}

const followBatch = 500;
const retryAfter = 1000;

/** EventStore.follow over a source. A consumer that is slow is not read ahead of. */
export async function* followLog(
  { readLog, untilAfter, clock }: LogSource,
  after: bigint,
  { signal, batch = followBatch }: { readonly signal: AbortSignal; readonly batch?: number },
): AsyncGenerator<readonly LoggedEvent[], void, undefined> {
  let position = after;
  while (!signal.aborted) {
    let events: readonly LoggedEvent[];
    try {
      events = readLog(position, batch);
    } catch (error) {
      if (!(error instanceof EventStoreUnavailable)) throw error;
      await clock.sleep(retryAfter, signal);
      continue;
    }
    const last = events.at(-1);
    if (last === undefined) {
      await untilAfter(position, signal);
      continue;
    }
    position = last.position;
    yield events;
  }
}

export interface LogQueriesOptions {
  /** A connection of the calling thread; it is not closed here. */
  readonly database: Database;
  /** The position of the last committed event, shared by the writer. */
  readonly head: SharedArrayBuffer;
  readonly onDamage: (error: DamagedLog) => void;
  /** Around every query, in a thread that the process may end. */
  readonly within?: InsideGate;
}

/**
 * The log's queries over a read-only connection. Synchronous: a point read takes about 10 µs. All throw
 * EventStoreUnavailable.
 */
export class LogQueries {
  readonly #onDamage: (error: DamagedLog) => void;
  readonly #within: InsideGate;
  readonly #head: BigInt64Array;
  readonly #readStream: Statement;
  readonly #readLast: Statement;
  readonly #readLog: Statement;

  constructor({ database, head, onDamage, within = (work) => work() }: LogQueriesOptions) {
    this.#onDamage = onDamage;
    this.#within = within;
    this.#head = new BigInt64Array(head);
    const prepare = (sql: string) => {
      const statement = database.prepare(sql);
      statement.setReturnArrays(true);
      return statement;
    };
    this.#readStream = prepare(
      `select ${eventColumns} from events where stream = ? and revision >= ? order by revision`,
    );
    this.#readLast = prepare(
      `select ${eventColumns} from events where stream = ? order by revision desc limit 1`,
    );
    this.#readLog = prepare(
      `select ${eventColumns} from events where position > ? order by position limit ?`,
    );
  }

  readStream(stream: StreamName, fromRevision: number): readonly LoggedEvent[] {
    return this.#read(this.#readStream, stream, fromRevision);
  }

  readLast(stream: StreamName): LoggedEvent | null {
    return this.#read(this.#readLast, stream)[0] ?? null;
  }

  /** Up to `limit` events after a position, in log order. At the head of the log the file is not touched. */
  readLog(after: bigint, limit: number): readonly LoggedEvent[] {
    return after >= this.headPosition() ? [] : this.#read(this.#readLog, after, limit);
  }

  /** The last event that is committed. */
  head(): LogHead {
    const position = this.headPosition();
    const [last] = position === 0n ? [] : this.readLog(position - 1n, 1);
    return { position, hash: last?.metadata.hash ?? null };
  }

  headPosition(): bigint {
    return Atomics.load(this.#head, 0);
  }

  #read(statement: Statement, ...parameters: readonly (string | number | bigint)[]): readonly LoggedEvent[] {
    let position: number | null = null;
    try {
      const rows = this.#within(() => {
        const found: readonly EventRow[] = statement.all(...parameters);
        return found;
      });
      return rows.map((row) => {
        [position] = row;
        return eventOf(row);
      });
    } catch (error) {
      const errcode = errcodeOf(error);
      const reason = messageOf(error);
      if (error instanceof SyntaxError || isDamage(errcode))
        this.#onDamage(new DamagedLog(position === null ? this.headPosition() : BigInt(position), reason));
      throw new EventStoreUnavailable(`The event log can't be read: ${reason}`, { cause: error });
    }
  }
}

/**
 * Reads and follows the log in any thread of the process that holds the data directory. A thread is woken by
 * the writer's commits.
 */
export class SqliteLogReader implements LogReader {
  readonly #queries: LogQueries;
  readonly #clock: Clock;
  readonly #untilAfter: Awaited;

  constructor({ clock, ...options }: LogQueriesOptions & { readonly clock: Clock }) {
    this.#queries = new LogQueries(options);
    this.#clock = clock;
    this.#untilAfter = awaitSharedHead(options.head);
  }

  async readStream(stream: StreamName, fromRevision: number): Promise<readonly LoggedEvent[]> {
    return this.#queries.readStream(stream, fromRevision);
  }

  async readLast(stream: StreamName): Promise<LoggedEvent | null> {
    return this.#queries.readLast(stream);
  }

  async readLog(after: bigint, limit: number): Promise<readonly LoggedEvent[]> {
    return this.#queries.readLog(after, limit);
  }

  async head(): Promise<LogHead> {
    return this.#queries.head();
  }

  follow(
    after: bigint,
    options: { readonly signal: AbortSignal; readonly batch?: number },
  ): AsyncIterable<readonly LoggedEvent[]> {
    return followLog(
      {
        readLog: (position, limit) => this.#queries.readLog(position, limit),
        untilAfter: this.#untilAfter,
        clock: this.#clock,
      },
      after,
      options,
    );
  }
}
