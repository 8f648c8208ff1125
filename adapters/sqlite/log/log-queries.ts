import { EventStoreUnavailable, markOf, type EventMark } from '../../../application/ports/event-store.js';
import { messageOf } from '../../../domain/errors.js';
import type { LoggedEvent } from '../../../domain/events.js';
import type { Milliseconds, StreamName } from '../../../domain/ids.js';
import {
  errcodeOf,
  isDamage,
  prepareArrays,
  rowsFrom,
  type Database,
  type SqlValue,
  type Statement,
} from '../database.js';
import { DamagedLog } from '../../../application/log/damaged-log.js';
import type { InsideGate } from '../gate.js';
import { eventOf, lastOfStream, rowsOfLog, rowsOfStream, type EventRow } from './event-rows.js';

export interface LogQueriesOptions {
  /** A read-only connection of the calling thread. It is not closed here. */
  readonly database: Database;
  /** The position of the last committed event, shared by the writer. */
  readonly head: SharedArrayBuffer;
  readonly onDamage: (error: DamagedLog) => void;
  /** Given in a worker thread: every query runs inside the gate. */
  readonly inGate?: InsideGate;
}

export type LogQueries = ReturnType<typeof logQueries>;

/**
 * The log's queries. Synchronous: a point read takes about 10 µs. Every read throws EventStoreUnavailable if
 * the file can't be read.
 */
export const logQueries = ({ database, head, onDamage, inGate = (work) => work() }: LogQueriesOptions) => {
  const sharedHead = new BigInt64Array(head);
  const ofStream = prepareArrays(database, rowsOfStream);
  const last = prepareArrays(database, lastOfStream);
  const log = prepareArrays(database, rowsOfLog);

  const read = (statement: Statement, ...values: readonly SqlValue[]): readonly LoggedEvent[] => {
    let position: number | null = null;
    try {
      const rows = inGate(() => rowsFrom<EventRow>(statement, ...values));
      return rows.map((row) => {
        [position] = row;
        return eventOf(row);
      });
    } catch (error) {
      const reason = messageOf(error);
      if (error instanceof SyntaxError || isDamage(errcodeOf(error)))
        onDamage(new DamagedLog(position === null ? headPosition() : BigInt(position), reason));
      throw new EventStoreUnavailable(`The event log can't be read: ${reason}`, { cause: error });
    }
  };

  /** The position of the last event that was committed. */
  const headPosition = (): bigint => Atomics.load(sharedHead, 0);

  /** At most `limit` events after a position, in log order. At the head of the log it reads no file. */
  const readLog = (after: bigint, limit: number): readonly LoggedEvent[] =>
    after >= headPosition() ? [] : read(log, after, limit);

  const markAt = (position: bigint): EventMark | null => {
    const [event] = position < 1n ? [] : readLog(position - 1n, 1);
    return event === undefined ? null : markOf(event);
  };

  return {
    headPosition,
    readLog,
    markAt,

    readStream: (stream: StreamName, fromRevision: number, limit: number) =>
      read(ofStream, stream, fromRevision, limit),

    readLast: (stream: StreamName): LoggedEvent | null => read(last, stream)[0] ?? null,

    /** The last committed event. */
    head: () => {
      const position = headPosition();
      return { position, event: markAt(position) };
    },

    /**
     * The position before the first event of that time or later, if the events are in the order of their
     * times. Reads one event for each bit of the head's position.
     */
    positionBefore: (time: Milliseconds): bigint => {
      let before = 0n;
      let after = headPosition() + 1n;
      while (after - before > 1n) {
        const middle = (before + after) / 2n;
        const [event] = readLog(middle - 1n, 1);
        if (event !== undefined && Date.parse(event.metadata.occurredAt) < time) before = middle;
        else after = middle;
      }
      return before;
    },
  };
};
