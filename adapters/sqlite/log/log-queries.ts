import {
  EventStoreUnavailable,
  markOf,
  type EventMark,
  type LogHead,
} from '../../../application/ports/event-store.js';
import { messageOf } from '../../../domain/errors.js';
import type { LoggedEvent } from '../../../domain/events.js';
import type { Milliseconds, StreamName } from '../../../domain/ids.js';
import { errcodeOf, isDamage, prepareArrays, type Database, type Statement } from '../database.js';
import { DamagedLog } from '../../../application/log/damaged-log.js';
import type { InsideGate } from '../gate.js';
import { eventColumns, eventOf, type EventRow } from './event-rows.js';

export interface LogQueriesOptions {
  /** A read-only connection of the calling thread. It is not closed here. */
  readonly database: Database;
  /** The position of the last committed event, shared by the writer. */
  readonly head: SharedArrayBuffer;
  readonly onDamage: (error: DamagedLog) => void;
  /** Given in a worker thread: every query runs inside the gate. */
  readonly inGate?: InsideGate;
}

/**
 * The log's queries. Synchronous: a point read takes about 10 µs. Every read throws EventStoreUnavailable if
 * the file can't be read.
 */
export class LogQueries {
  readonly #onDamage: (error: DamagedLog) => void;
  readonly #inGate: InsideGate;
  readonly #head: BigInt64Array;
  readonly #readStream: Statement;
  readonly #readLast: Statement;
  readonly #readLog: Statement;

  constructor({ database, head, onDamage, inGate = (work) => work() }: LogQueriesOptions) {
    this.#onDamage = onDamage;
    this.#inGate = inGate;
    this.#head = new BigInt64Array(head);
    this.#readStream = prepareArrays(
      database,
      `select ${eventColumns} from events where stream = ? and revision >= ? order by revision limit ?`,
    );
    this.#readLast = prepareArrays(
      database,
      `select ${eventColumns} from events where stream = ? order by revision desc limit 1`,
    );
    this.#readLog = prepareArrays(
      database,
      `select ${eventColumns} from events where position > ? order by position limit ?`,
    );
  }

  readStream(stream: StreamName, fromRevision: number, limit: number): readonly LoggedEvent[] {
    return this.#read(this.#readStream, stream, fromRevision, limit);
  }

  readLast(stream: StreamName): LoggedEvent | null {
    return this.#read(this.#readLast, stream)[0] ?? null;
  }

  /** At most `limit` events after a position, in log order. At the head of the log it reads no file. */
  readLog(after: bigint, limit: number): readonly LoggedEvent[] {
    return after >= this.headPosition() ? [] : this.#read(this.#readLog, after, limit);
  }

  /** The last committed event. */
  head(): LogHead {
    const position = this.headPosition();
    return { position, event: this.markAt(position) };
  }

  markAt(position: bigint): EventMark | null {
    const [event] = position < 1n ? [] : this.readLog(position - 1n, 1);
    return event === undefined ? null : markOf(event);
  }

  /**
   * The position before the first event of that time or later, if the events are in the order of their times.
   * Reads one event for each bit of the head's position.
   */
  positionBefore(time: Milliseconds): bigint {
    let before = 0n;
    let after = this.headPosition() + 1n;
    while (after - before > 1n) {
      const middle = (before + after) / 2n;
      const [event] = this.readLog(middle - 1n, 1);
      if (event !== undefined && Date.parse(event.metadata.occurredAt) < time) before = middle;
      else after = middle;
    }
    return before;
  }

  headPosition(): bigint {
    return Atomics.load(this.#head, 0);
  }

  #read(statement: Statement, ...parameters: readonly (string | number | bigint)[]): readonly LoggedEvent[] {
    let position: number | null = null;
    try {
      const rows = this.#inGate(() => {
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
