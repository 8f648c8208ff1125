import { uncounted, type CountCall } from '../../application/ports/tracing.js';
import { nextTurn } from '../../application/timing/next-turn.js';
import type {
  Place,
  EventMark,
  EventStore,
  LogHead,
  StreamWrite,
  WriteOutcome,
} from '../../application/ports/event-store.js';
import type { PlacedEvent, RawLog, StoredEvent } from '../../application/ports/raw-log.js';
import type { Clock, Entropy } from '../../application/ports/system.js';
import type { LoggedEvent, RecordedEvent } from '../../domain/events.js';
import type { StreamName } from '../../domain/ids.js';
import { Appends } from './appends.js';
import { Connection } from './connection.js';
import { backoffOf, unavailable, usualTimes, type Context, type EventStoreDbTimes } from './context.js';
import { serverNames } from './events.js';
import { ForeignEvents, type ForeignEvent } from './foreign-events.js';
import { ServerLog } from './following.js';
import { HiddenEvents, Reads } from './reads.js';
import { SharedFollowing } from './shared-following.js';
import { jsonEvent, NO_STREAM, WrongExpectedVersionError } from '@eventstore/db-client';
import { assertReadable, logFormat } from '../../application/log/log-format.js';

/** Holds the format of the log in its last event. No reader of the log takes it for a stream of ours. */
const markStream = 'cards-log-format' as StreamName;

/**
 * Compares the log's format with that of this version. `marks`: notes this version's if there is none, or an
 * older one. Throws NewerLog and EventStoreUnavailable.
 */
const compareFormat = async (context: Context, reads: Reads, marks: boolean): Promise<void> => {
  const { connection, names, count } = context;
  const last = await reads.ask(markStream);
  const data: unknown = last?.data;
  const format = typeof data === 'object' && data !== null && 'format' in data ? Number(data.format) : 0;
  assertReadable(format);
  if (!marks || format === logFormat) return;
  const event = jsonEvent({ type: 'LogFormat', data: { format: logFormat } });
  const options = {
    expectedRevision: last?.revision ?? NO_STREAM,
    credentials: connection.credentials,
  } as const;
  count('append');
  await connection.session.client
    .appendToStream(names.nameOf(markStream), event, options)
    .catch((error: unknown) => {
      // Another process has just done so.
      if (!(error instanceof WrongExpectedVersionError)) throw unavailable(error);
    });
};

export interface EventStoreDbSettings {
  /** `esdb://` or `esdb+discover://`: one node or a cluster, with or without TLS. */
  readonly url: string;
  /**
   * The prefix of every stream's name: the server filters by it. Without one, it also sends events of others
   * under names that begin like ours.
   */
  readonly prefix?: string;
  readonly clock: Clock;
  readonly entropy: Entropy;
  readonly times?: Partial<EventStoreDbTimes>;
  /** Counts appends, reads, subscriptions, and the events that come. */
  readonly count?: CountCall;
  /** Called with every failure, even if it is dealt with. */
  readonly onError?: (error: unknown) => void;
  /** Called with the first event under a name of ours that another program wrote. */
  readonly onForeign?: (event: ForeignEvent) => void;
}

/**
 * The log in EventStoreDB 21.10 or newer, or in KurrentDB. It writes one stream at a time and completes no
 * claims. Positions are commit positions of `$all`; streams of other writers are left out. Close it to end
 * its connections.
 */
export class EventStoreDbEventStore implements EventStore, RawLog {
  readonly #context: Context;
  readonly #reads: Reads;
  readonly #appends: Appends;
  readonly #following: SharedFollowing<unknown>;

  /**
   * Connects on first use. Throws if the connection string can't be read, or asks for TLS and names no user.
   */
  constructor({
    url,
    prefix = '',
    clock,
    entropy,
    times = {},
    count = uncounted,
    onError = () => undefined,
    onForeign = () => undefined,
  }: EventStoreDbSettings) {
    const allTimes = { ...usualTimes, ...times };
    this.#context = {
      connection: new Connection({ url, clock, entropy, times: allTimes, count }),
      names: serverNames(prefix),
      foreign: new ForeignEvents(onForeign),
      count,
      clock,
      times: allTimes,
      backoff: backoffOf(allTimes.backoff, entropy),
      onError,
    };
    this.#reads = new Reads(this.#context);
    this.#appends = new Appends(this.#context, this.#reads);
    this.#following = new SharedFollowing(new ServerLog(this.#context, this.#reads));
  }

  /** How many events of other programs under names of ours were passed over. */
  get foreignEvents(): number {
    return this.#context.foreign.count;
  }

  /**
   * Makes sure that this version can read the log. `marks`: it will write to it. Throws NewerLog and
   * EventStoreUnavailable.
   */
  assertFormat(marks = false): Promise<void> {
    return compareFormat(this.#context, this.#reads, marks);
  }

  async append(writes: readonly StreamWrite[]): Promise<readonly WriteOutcome[]> {
    return this.#appends.append(writes);
  }

  async readStream(
    stream: StreamName,
    fromRevision: number,
    limit?: number,
  ): Promise<readonly RecordedEvent[]> {
    return this.#reads.stream(stream, fromRevision, limit);
  }

  async readStored(after: bigint, limit: number): Promise<readonly StoredEvent[]> {
    return this.#reads.storedLog(after, limit);
  }

  async readStoredStream(
    stream: StreamName,
    fromRevision: number,
    limit?: number,
  ): Promise<readonly PlacedEvent[]> {
    return this.#reads.storedStream(stream, fromRevision, limit).catch((error: unknown) => {
      // The checker of the log decides what it means that they are not there.
      if (error instanceof HiddenEvents) return [];
      throw error;
    });
  }

  async readLast(stream: StreamName): Promise<RecordedEvent | null> {
    return this.#reads.lastOf(stream);
  }

  async readLog(after: bigint, limit: number): Promise<readonly LoggedEvent[]> {
    const decoded = this.#following.decoded(after, limit);
    if (decoded === null) return this.#reads.log(after, limit);
    await nextTurn();
    return decoded;
  }

  async positionBefore(place: Place, signal?: AbortSignal): Promise<bigint> {
    return this.#reads.positionBefore(place, signal);
  }

  async head(): Promise<LogHead> {
    return this.#reads.head();
  }

  async markAt(position: bigint): Promise<EventMark | null> {
    return this.#reads.markAt(position);
  }

  follow(
    after: bigint,
    options: { readonly signal: AbortSignal; readonly batch?: number },
  ): AsyncIterable<readonly LoggedEvent[]> {
    return this.#following.follow({ after, ...options });
  }

  async close(): Promise<void> {
    await this.#context.connection.close();
  }
}
