import { turnAlone } from '../../../application/timing/next-turn.js';
import type { EventMark, LogHead, LogReader } from '../../../application/ports/event-store.js';
import type { Clock } from '../../../application/ports/system.js';
import type { DamagedLog } from '../../../application/log/damaged-log.js';
import type { LoggedEvent } from '../../../domain/events.js';
import { openForReading } from '../database.js';
import { insideGate, type Gate } from '../gate.js';
import { followLog, waitOnSharedHead, type UntilCommittedAfter } from './following.js';
import { LogQueries, type LogQueriesOptions } from './log-queries.js';

/** Reads and follows the log in any thread of the process that has the data directory. Commits wake it. */
export class SqliteLogReader implements LogReader {
  readonly #queries: LogQueries;
  readonly #clock: Clock;
  readonly #untilCommittedAfter: UntilCommittedAfter;

  constructor({ clock, ...options }: LogQueriesOptions & { readonly clock: Clock }) {
    this.#queries = new LogQueries(options);
    this.#clock = clock;
    this.#untilCommittedAfter = waitOnSharedHead(options.head);
  }

  async readLog(after: bigint, limit: number): Promise<readonly LoggedEvent[]> {
    await turnAlone();
    return this.#queries.readLog(after, limit);
  }

  async head(): Promise<LogHead> {
    return this.#queries.head();
  }

  async markAt(position: bigint): Promise<EventMark | null> {
    return this.#queries.markAt(position);
  }

  follow(
    after: bigint,
    options: { readonly signal: AbortSignal; readonly batch?: number },
  ): AsyncIterable<readonly LoggedEvent[]> {
    return followLog(
      {
        readLog: (position, limit) => this.#queries.readLog(position, limit),
        headPosition: () => this.#queries.headPosition(),
        untilCommittedAfter: this.#untilCommittedAfter,
        clock: this.#clock,
      },
      after,
      options,
    );
  }
}

/** Lets a thread read the log and be woken by commits. It can be sent to a worker. */
export interface SharedLog {
  readonly path: string;
  readonly head: SharedArrayBuffer;
  readonly gate: Gate;
}

/**
 * A reader for the calling thread, with its own connection. This process must have opened the events file.
 */
export const openLogReader = (
  { path, head, gate }: SharedLog,
  options: { readonly clock: Clock; readonly onDamage: (error: DamagedLog) => void },
): { readonly reader: SqliteLogReader; readonly close: () => void } => {
  const inGate = insideGate(gate);
  const database = inGate(() => openForReading(path));
  return {
    reader: new SqliteLogReader({ database, head, inGate, ...options }),
    close: () => inGate(() => database.close()),
  };
};
