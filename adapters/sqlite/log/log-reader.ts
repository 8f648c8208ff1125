import { turnAlone } from '../../../application/next-turn.js';
import type { EventMark, LogHead, LogReader } from '../../../application/ports/event-store.js';
import type { Clock } from '../../../application/ports/system.js';
import type { LoggedEvent } from '../../../domain/events.js';
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
