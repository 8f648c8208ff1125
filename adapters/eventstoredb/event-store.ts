import {
  AccessDeniedError,
  BACKWARDS,
  END,
  FORWARDS,
  InvalidArgumentError,
  MaxAppendSizeExceededError,
  NO_STREAM,
  NotLeaderError,
  START,
  StreamDeletedError,
  StreamNotFoundError,
  streamNameFilter,
  UnavailableError,
  WrongExpectedVersionError,
  type AllStreamResolvedEvent,
  type EventStoreDBClient,
  type ReadPosition,
} from '@eventstore/db-client';
import {
  EventStoreUnavailable,
  noStream,
  type EventStore,
  type LogHead,
  type StreamWrite,
  type WriteOutcome,
} from '../../application/ports/event-store.js';
import type { Clock, Entropy } from '../../application/ports/system.js';
import { within } from '../../application/within.js';
import { messageOf } from '../../domain/errors.js';
import type { LoggedEvent, RecordedEvent } from '../../domain/events.js';
import type { Milliseconds, StreamName } from '../../domain/ids.js';
import { Connection, type Session } from './connection.js';
import { ForeignEvent, loggedEvent, ourPrefixes, proposedEvents, recordedEvent } from './events.js';
import { Overdue, supervised, type Source } from './supervision.js';

/** Times that fit a server in the same network; tests shorten them. */
export interface EventStoreDbTimes {
  /** One attempt of an append. */
  readonly append: Milliseconds;
  /** How long the outcome of an append is looked for before it is `unknown`. */
  readonly settle: Milliseconds;
  /** The longest silence in the middle of a read. */
  readonly read: Milliseconds;
  /** How long a subscription may be silent before it is checked against the log. */
  readonly watchdog: Milliseconds;
  /** The shortest time between two clients: one is thrown away after repeated failures. */
  readonly replace: Milliseconds;
  /**
   * The waits between attempts: the first, doubled each time up to the longest, the upper half of each by
   * chance.
   */
  readonly backoff: { readonly first: Milliseconds; readonly longest: Milliseconds };
}

const usualTimes: EventStoreDbTimes = {
  append: 3_000,
  settle: 8_000,
  read: 3_000,
  watchdog: 10_000,
  replace: 1_000,
  backoff: { first: 50, longest: 5_000 },
};

/** What went wrong and was dealt with: for the log. */
export interface Incident {
  readonly what: 'append' | 'read' | 'subscription';
  readonly error: unknown;
}

export interface EventStoreDbSettings {
  /** `esdb://` or `esdb+discover://`: one node, a cluster, with or without TLS. */
  readonly url: string;
  readonly clock: Clock;
  readonly entropy: Entropy;
  readonly times?: Partial<EventStoreDbTimes>;
  readonly onTrouble?: (trouble: Incident) => void;
}

type Proposed = ReturnType<typeof proposedEvents>;

/** Attempts at an append that provably never left this process, before it is given up. */
const unsentAttempts = 3;
/** How far back `$all` is searched for an append whose answer named no position. */
const searchedForPosition = 2_000;
const usualBatch = 500;
/**
 * Where gRPC fails a call before it is sent. Any other failure leaves the outcome open, although the code is
 * the same.
 */
const unsentDetails = [
  'No connection established',
  'Name resolution failed',
  'Channel closed before call started',
  'Failed to discover',
];

/**
 * Where reading `$all` or a subscription begins. The commit position stands for both halves: our events are
 * written with both the same.
 */
const placeAfter = (position: bigint): ReadPosition =>
  position === 0n ? START : { commit: position, prepare: position };

const detailsOf = (error: unknown): string => {
  if (!(error instanceof Error)) return '';
  return 'details' in error && typeof error.details === 'string'
    ? error.details
    : error.message.replace(/^14 UNAVAILABLE: /, '');
};

const wasNotSent = (error: unknown): boolean =>
  error instanceof NotLeaderError ||
  unsentDetails.some((beginning) => detailsOf(error).startsWith(beginning));

const wasRefused = (error: unknown): boolean =>
  error instanceof AccessDeniedError ||
  error instanceof InvalidArgumentError ||
  error instanceof MaxAppendSizeExceededError ||
  error instanceof StreamDeletedError;

const mayPass = (error: unknown): boolean =>
  error instanceof UnavailableError || error instanceof NotLeaderError;

const unavailable = (error: unknown): EventStoreUnavailable =>
  error instanceof EventStoreUnavailable
    ? error
    : new EventStoreUnavailable(`EventStoreDB: ${messageOf(error)}`, {
        cause: error,
      });

/** The client ended a subscription that should never end. */
const endedByServer = () => new Error('the server ended the subscription');

/**
 * The log in EventStoreDB 20.6 or newer, or KurrentDB. Writes one stream at a time and completes no claims.
 * Positions are commit positions of `$all`; streams of other writers are left out. Close it to end its
 * connections.
 */
export class EventStoreDbEventStore implements EventStore {
  readonly atomic = false;
  readonly completesClaims = false;
  readonly #connection: Connection;
  readonly #clock: Clock;
  readonly #entropy: Entropy;
  readonly #times: EventStoreDbTimes;
  readonly #onTrouble: (trouble: Incident) => void;
  /** The last event of ours that a search for the head has found, and how far it had searched. */
  #head: LogHead & { readonly searched: bigint } = { position: 0n, hash: null, searched: -1n };

  /**
   * Connects when it is first used. Throws where the connection string can't be read, or uses TLS and names
   * no user.
   */
  constructor({ url, clock, entropy, times = {}, onTrouble = () => undefined }: EventStoreDbSettings) {
    this.#clock = clock;
    this.#entropy = entropy;
    this.#times = { ...usualTimes, ...times };
    this.#connection = new Connection(url, clock, this.#times.replace);
    this.#onTrouble = onTrouble;
  }

  async close(): Promise<void> {
    await this.#connection.close();
  }

  /**
   * One write after the other, until one fails. An outcome that is not known is looked for under the same
   * event ids.
   */
  async append(writes: readonly StreamWrite[]): Promise<readonly WriteOutcome[]> {
    if (new Set(writes.map(({ stream }) => stream)).size < writes.length)
      throw new TypeError('an append writes to a stream once');
    const outcomes: WriteOutcome[] = [];
    for (const { write, proposed } of writes.map((each) => ({
      write: each,
      proposed: proposedEvents(each),
    }))) {
      if (outcomes.some(({ kind }) => kind !== 'appended')) outcomes.push({ kind: 'skipped' });
      else if (outcomes.length === 0) outcomes.push(await this.#settle(write, proposed));
      else outcomes.push(await this.#settleLater(write, proposed));
    }
    return outcomes;
  }

  readStream(stream: StreamName, fromRevision: number): Promise<readonly RecordedEvent[]> {
    return this.#read(stream, fromRevision, Number.MAX_SAFE_INTEGER);
  }

  async readLast(stream: StreamName): Promise<RecordedEvent | null> {
    const options = {
      fromRevision: END,
      direction: BACKWARDS,
      maxCount: 1,
      resolveLinkTos: false,
      requiresLeader: true,
    } as const;
    const [last] = await this.#readingTwice((session) =>
      this.#eventsOf(session, session.client.readStream(stream, options)),
    );
    return last ?? null;
  }

  async readLog(after: bigint, limit: number): Promise<readonly LoggedEvent[]> {
    if (limit < 1) return [];
    return this.#readingTwice(async (session) => {
      const found: LoggedEvent[] = [];
      for await (const resolved of this.#logAfter(session, after)) {
        const event = loggedEvent(resolved);
        if (event !== null) found.push(event);
        if (found.length === limit) break;
      }
      return found;
    });
  }

  /** The last event of ours: the server's own events behind it don't count. */
  async head(): Promise<LogHead> {
    return this.#readingTwice(async (session) => {
      const known = this.#head;
      let searched: bigint | null = null;
      for await (const resolved of this.#logBackwards(session)) {
        const event = loggedEvent(resolved);
        const position = resolved.commitPosition ?? resolved.event?.position.commit ?? 0n;
        searched ??= position;
        if (position <= known.searched) break;
        if (event === null) continue;
        this.#found({ position: event.position, hash: event.metadata.hash, searched });
        break;
      }
      if (searched !== null) this.#found({ ...this.#head, searched });
      return { position: this.#head.position, hash: this.#head.hash };
    });
  }

  async *follow(
    after: bigint,
    { signal, batch = usualBatch }: { readonly signal: AbortSignal; readonly batch?: number },
  ): AsyncGenerator<readonly LoggedEvent[]> {
    let handled = after;
    for (let failures = 0; !signal.aborted; failures += 1) {
      const { session } = this.#connection;
      try {
        for await (const events of this.#subscription(session, handled, batch, signal)) {
          yield events;
          handled = events.at(-1)?.position ?? handled;
          failures = 0;
          this.#connection.succeeded();
        }
      } catch (error) {
        if (error instanceof ForeignEvent) throw error;
        if (signal.aborted) return;
        this.#onTrouble({ what: 'subscription', error });
        this.#connection.failed(session);
      }
      await this.#clock.sleep(this.#wait(failures), signal);
    }
  }

  #wait(failures: number): Milliseconds {
    const { first, longest } = this.#times.backoff;
    const wait = Math.min(first * 2 ** Math.min(failures, 20), longest);
    return wait - this.#entropy.below(Math.ceil(wait / 2));
  }

  #found(head: LogHead & { readonly searched: bigint }): void {
    if (head.position >= this.#head.position && head.searched >= this.#head.searched) this.#head = head;
  }

  /** Reads, once more where the client has just learnt that it must connect anew. */
  async #readingTwice<T>(read: (session: Session) => Promise<T>): Promise<T> {
    for (let attempt = 0; ; attempt += 1) {
      const { session } = this.#connection;
      try {
        const result = await read(session);
        this.#connection.succeeded();
        return result;
      } catch (error) {
        if (error instanceof ForeignEvent) throw error;
        this.#onTrouble({ what: 'read', error });
        this.#connection.failed(session);
        if (attempt > 0 || !mayPass(error)) throw unavailable(error);
      }
    }
  }

  #read(stream: StreamName, fromRevision: number, maxCount: number): Promise<readonly RecordedEvent[]> {
    const options = {
      fromRevision: BigInt(Math.max(0, fromRevision)),
      maxCount,
      direction: FORWARDS,
      resolveLinkTos: false,
      requiresLeader: true,
    } as const;
    return this.#readingTwice((session) =>
      this.#eventsOf(session, session.client.readStream(stream, options)),
    );
  }

  #guarded<T>(
    { replaced }: Session,
    read: Source<T> & { cancel(): Promise<void> },
  ): AsyncGenerator<T, void, undefined> {
    const silent = async () => new Overdue(`EventStoreDB said nothing for ${this.#times.read} ms`);
    return supervised(read, {
      clock: this.#clock,
      time: this.#times.read,
      silent,
      cancel: () => read.cancel(),
      signals: [replaced],
    });
  }

  async #eventsOf(
    session: Session,
    read: ReturnType<EventStoreDBClient['readStream']>,
  ): Promise<RecordedEvent[]> {
    const events: RecordedEvent[] = [];
    try {
      for await (const resolved of this.#guarded(session, read)) {
        const event = recordedEvent(resolved);
        if (event !== null) events.push(event);
      }
    } catch (error) {
      if (error instanceof StreamNotFoundError) return [];
      throw error;
    }
    return events;
  }

  /**
   * `$all` after a position. A read's start is inclusive, a subscription's exclusive: this and
   * `#subscription` are the places that know it.
   */
  async *#logAfter(session: Session, after: bigint): AsyncGenerator<AllStreamResolvedEvent, void, undefined> {
    const options = { fromPosition: placeAfter(after), direction: FORWARDS, resolveLinkTos: false } as const;
    for await (const resolved of this.#guarded(session, session.client.readAll(options))) {
      const position = resolved.commitPosition ?? resolved.event?.position.commit;
      if (position === undefined || position > after) yield resolved;
    }
  }

  #logBackwards(session: Session): AsyncGenerator<AllStreamResolvedEvent, void, undefined> {
    return this.#guarded(
      session,
      session.client.readAll({
        fromPosition: END,
        direction: BACKWARDS,
        resolveLinkTos: false,
        requiresLeader: true,
      }),
    );
  }

  /**
   * One subscription to our streams, until it fails. The only positions that count are those of events that
   * were handed over: the server's checkpoints run ahead of them, so they are not asked for. Events that come
   * again are dropped.
   */
  async *#subscription(
    session: Session,
    after: bigint,
    batch: number,
    signal: AbortSignal,
  ): AsyncGenerator<readonly LoggedEvent[]> {
    let last = after;
    let searched = after;
    const subscription = session.client.subscribeToAll(
      {
        fromPosition: placeAfter(after),
        resolveLinkTos: false,
        filter: streamNameFilter({ prefixes: ourPrefixes, maxSearchWindow: usualBatch }),
      },
      { highWaterMark: batch },
    );
    const silent = async (): Promise<Error | null> => {
      const missed = await this.#firstOfOurs(searched > last ? searched : last);
      if (missed.found) return new Error(`the subscription has missed the event at ${missed.searched}`);
      searched = missed.searched;
      return null;
    };
    const cancel = () => subscription.unsubscribe();
    const source = supervised(subscription, {
      clock: this.#clock,
      time: this.#times.watchdog,
      silent,
      cancel,
      signals: [signal, session.replaced],
    });
    for await (const first of source) {
      const events: LoggedEvent[] = [];
      for (
        let next: AllStreamResolvedEvent | null = first;
        next !== null;
        next = events.length < batch ? subscription.read() : null
      ) {
        const event = loggedEvent(next);
        if (event === null || event.position <= last) continue;
        events.push(event);
        last = event.position;
      }
      if (events.length > 0) yield events;
    }
    throw endedByServer();
  }

  /**
   * Whether the log holds an event of ours after a position, given a moment to arrive on its own, and how far
   * the search went.
   */
  async #firstOfOurs(after: bigint): Promise<{ readonly found: boolean; readonly searched: bigint }> {
    let searched = after;
    for await (const resolved of this.#logAfter(this.#connection.session, after)) {
      const event = loggedEvent(resolved);
      if (event !== null) {
        await this.#clock.sleep(this.#times.backoff.first);
        return { found: true, searched: event.position };
      }
      searched = resolved.commitPosition ?? searched;
    }
    return { found: false, searched };
  }

  /** A write after one that is stored: whatever happens to it, the first one's outcome must not be lost. */
  async #settleLater(write: StreamWrite, proposed: Proposed): Promise<WriteOutcome> {
    try {
      return await this.#settle(write, proposed);
    } catch (error) {
      this.#onTrouble({ what: 'append', error });
      return { kind: 'unknown' };
    }
  }

  /**
   * Appends until the outcome is known, under the same ids. Throws only where certainly nothing was stored.
   */
  async #settle(write: StreamWrite, proposed: Proposed): Promise<WriteOutcome> {
    const deadline = this.#clock.now() + this.#times.settle;
    let mayBeStored = false;
    for (let failures = 0; ; failures += 1) {
      const { session } = this.#connection;
      try {
        const outcome = await this.#attempt(session, write, proposed);
        this.#connection.succeeded();
        return outcome;
      } catch (error) {
        this.#onTrouble({ what: 'append', error });
        this.#connection.failed(session);
        if (!mayBeStored && wasRefused(error))
          throw error instanceof AccessDeniedError ? unavailable(error) : error;
        mayBeStored ||= !wasNotSent(error);
        if (!mayBeStored && failures + 1 >= unsentAttempts) throw unavailable(error);
      }
      const wait = this.#wait(failures);
      if (this.#clock.now() + wait >= deadline) return { kind: 'unknown' };
      await this.#clock.sleep(wait);
    }
  }

  async #attempt({ client }: Session, write: StreamWrite, proposed: Proposed): Promise<WriteOutcome> {
    const expectedRevision = write.expected === noStream ? NO_STREAM : BigInt(write.expected);
    const { credentials } = this.#connection;
    const options = {
      expectedRevision,
      credentials,
      requiresLeader: true,
      deadline: this.#times.append,
    } as const;
    try {
      // The call's own deadline does not cover finding a server: without this it may stay pending forever.
      const longest = this.#times.append * 2;
      const appending = client.appendToStream(write.stream, proposed, options);
      const result = await within(this.#clock, longest, appending, () => {
        throw new Overdue(`no answer within ${longest} ms`);
      });
      if (result.success)
        return { kind: 'appended', position: result.position?.commit ?? (await this.#positionOf(write)) };
    } catch (error) {
      if (!(error instanceof WrongExpectedVersionError)) throw error;
    }
    return this.#compare(write);
  }

  /** The stream is past the expected revision: by our own events, or by another's. */
  async #compare(write: StreamWrite): Promise<WriteOutcome> {
    const there = await this.#read(write.stream, write.expected + 1, write.events.length);
    if (!write.events.every(({ id }, index) => there[index]?.id === id)) return { kind: 'conflict' };
    return {
      kind: 'appended',
      position: there[write.events.length - 1]?.position ?? (await this.#positionOf(write)),
    };
  }

  /**
   * Where the write's last event stands in the log; far behind the head, the head's position, which is after
   * it.
   */
  async #positionOf(write: StreamWrite): Promise<bigint> {
    const id = write.events.at(-1)?.id;
    const position = await this.#readingTwice(async (session) => {
      let seen = 0;
      for await (const { event, commitPosition } of this.#logBackwards(session)) {
        if (event?.id === id) return commitPosition ?? event?.position.commit ?? null;
        seen += 1;
        if (seen >= searchedForPosition) break;
      }
      return null;
    });
    return position ?? (await this.head()).position;
  }
}
