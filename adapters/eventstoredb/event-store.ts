import { uncounted } from '../../application/ports/tracing.js';
import { nextTurn } from '../../application/timing/next-turn.js';
import type { EventStore } from '../../application/ports/event-store.js';
import type { RawLog } from '../../application/ports/raw-log.js';
import type { StreamName } from '../../domain/ids.js';
import { Appends } from './appends.js';
import { Connection, type ConnectionOptions } from './connection.js';
import { backoffOf, unavailable, usualTimes, type Context, type EventStoreDbTimes } from './context.js';
import { serverNames, ForeignEvents, type ForeignEvent } from './events.js';
import { ServerLog } from './following.js';
import { HiddenEvents, Reads } from './reads.js';
import { SharedFollowing } from './shared-following.js';
import { jsonEvent, NO_STREAM, WrongExpectedVersionError } from '@eventstore/db-client';
import { assertReadable, logFormat } from '../../application/log/log-format.js';

/** Holds the format of the log in its last event. No reader of the log takes it for a stream of ours. */
const markStream = 'cards-log-format' as StreamName;

/** `count`: counts appends, reads, subscriptions, and the events that come. */
export interface EventStoreDbSettings extends Pick<ConnectionOptions, 'url' | 'clock' | 'entropy' | 'count'> {
  /**
   * The prefix of every stream's name: the server filters by it. Without one, it also sends events of others
   * under names that begin like ours.
   */
  readonly prefix?: string;
  readonly times?: Partial<EventStoreDbTimes>;
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
  readonly #following: SharedFollowing;

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
   * Makes sure that this version can read the log. `marks`: it will write to it, and notes its format if
   * there is none, or an older one. Throws NewerLog and EventStoreUnavailable.
   */
  async assertFormat(marks = false): Promise<void> {
    const { connection, names, count } = this.#context;
    const last = await this.#reads.ask(markStream);
    const data: unknown = last?.data;
    const format = typeof data === 'object' && data !== null && 'format' in data ? Number(data.format) : 0;
    assertReadable(format);
    if (!marks || format === logFormat) return;
    const event = jsonEvent({ type: 'LogFormat', data: { format: logFormat } });
    const { credentials } = connection;
    const options = { expectedRevision: last?.revision ?? NO_STREAM, credentials } as const;
    count('append');
    await connection.session.client
      .appendToStream(names.nameOf(markStream), event, options)
      .catch((error: unknown) => {
        // Another process has just done so.
        if (!(error instanceof WrongExpectedVersionError)) throw unavailable(error);
      });
  }

  readonly append: EventStore['append'] = (writes) => this.#appends.append(writes);

  readonly readStream: EventStore['readStream'] = (stream, fromRevision, limit) =>
    this.#reads.stream(stream, fromRevision, limit);

  readonly readStored: RawLog['readStored'] = (after, limit) => this.#reads.storedLog(after, limit);

  readonly readStoredStream: RawLog['readStoredStream'] = (stream, fromRevision, limit) =>
    this.#reads.storedStream(stream, fromRevision, limit).catch((error: unknown) => {
      // The checker of the log decides what it means that they are not there.
      if (error instanceof HiddenEvents) return [];
      throw error;
    });

  readonly readLast: EventStore['readLast'] = (stream) => this.#reads.lastOf(stream);

  readonly readLog: EventStore['readLog'] = async (after, limit) => {
    const decoded = this.#following.decoded(after, limit);
    if (decoded === null) return this.#reads.log(after, limit);
    await nextTurn();
    return decoded;
  };

  readonly positionBefore: EventStore['positionBefore'] = (place, signal) =>
    this.#reads.positionBefore(place, signal);

  readonly head: EventStore['head'] = () => this.#reads.head();

  readonly markAt: EventStore['markAt'] = (position) => this.#reads.markAt(position);

  readonly follow: EventStore['follow'] = (after, options) => this.#following.follow(after, options);

  async close(): Promise<void> {
    await this.#context.connection.close();
  }
}
