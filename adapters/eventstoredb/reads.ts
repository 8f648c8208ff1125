import {
  BACKWARDS,
  END,
  FORWARDS,
  START,
  StreamDeletedError,
  StreamNotFoundError,
  type AllStreamResolvedEvent,
  type Direction,
  type Position,
  type ReadPosition,
  type ReadRevision,
  type ResolvedEvent,
} from '@eventstore/db-client';
import {
  clockTolerance,
  EventStoreUnavailable,
  markOf,
  type EventMark,
  type LogHead,
  type Place,
} from '../../application/ports/event-store.js';
import { UnknownCategory, type PlacedEvent, type StoredEvent } from '../../application/ports/raw-log.js';
import type { LoggedEvent, RecordedEvent } from '../../domain/events.js';
import type { Milliseconds, StreamName } from '../../domain/ids.js';
import type { Session } from './connection.js';
import { explainDenial, pausesOf, unavailable, type Context } from './context.js';
import { unknownCategory, loggedEvent, recordedEvent } from './events.js';
import { Overdue } from './failures.js';
import { readOurs } from './filtered-reads.js';
import { keepingTexts, storedEvent } from './stored-texts.js';
import { supervised, type Source } from './supervision.js';

/**
 * The start of a read of `$all` or a subscription. The commit position serves as both halves of a server's
 * position: our events are written with two equal halves.
 */
const startAfter = (position: bigint): ReadPosition =>
  position === 0n ? START : { commit: position, prepare: position };

/** Prepares a read before it begins. */
type Begin = <Read extends object>(read: Read) => Read;

/** The form in which a stream's events are wanted. */
type Form<Event> = (event: RecordedEvent, resolved: ResolvedEvent) => Event;

const unread: Begin = (read) => read;
const asRead: Form<RecordedEvent> = (event) => event;
const asStored: Form<PlacedEvent> = (recorded, { event }) => {
  if (event === undefined) throw new Error(`${recorded.stream} has a link that leads nowhere`);
  return { position: recorded.position, ...storedEvent(event, recorded) };
};

/** How far back `$all` is searched for an event whose position is not known. */
const searchedForPosition = 2_000;

/** A search for the last event of ours asks for at most this many at a time. */
const maxHeadPage = 1_024;

/** So fast does even a slow disk search the log, in bytes a millisecond. A search may be silent meanwhile. */
const slowestSearch = 5_000;

/**
 * A search without a result for so long has passed over many foreign events; the next one begins behind them.
 */
const maxFruitlessSearch: Milliseconds = 100;

type Read<T> = Source<T> & { cancel(): Promise<void> };
type ReadAll = ReturnType<Session['client']['readAll']>;
type ReadAllOptions = NonNullable<Parameters<Session['client']['readAll']>[0]>;

/** The known end of the log. */
interface KnownHead extends LogHead {
  /** Up to this record, nothing of ours follows the head. Null: it is not known. */
  readonly searched: Position | null;
  /** Whether events of ours follow in a category that this version does not know. */
  readonly hasUnknown: boolean;
}

const nothingKnown: KnownHead = { position: 0n, event: null, searched: null, hasUnknown: false };

/** The place of a record in `$all`. The two halves differ for transactions of other programs. */
const placeOf = ({ event, commitPosition }: AllStreamResolvedEvent): Position =>
  event?.position ?? { commit: commitPosition ?? 0n, prepare: commitPosition ?? 0n };

/** Reads streams and the log. Everything throws EventStoreUnavailable. */
export class Reads {
  #head = nothingKnown;
  /** The last search for the head, and the one after it, which begins later. */
  #searching: Promise<unknown> = Promise.resolve();
  #nextSearch: Promise<LogHead> | null = null;

  constructor(private readonly context: Context) {}

  /** At most `limit` events of a stream from a revision on. */
  stream(stream: StreamName, fromRevision: number, limit?: number): Promise<readonly RecordedEvent[]> {
    return this.#stream(stream, fromRevision, limit, asRead);
  }

  async #stream<Event>(
    stream: StreamName,
    fromRevision: number,
    limit = Number.MAX_SAFE_INTEGER,
    form: Form<Event>,
    begin?: Begin,
  ): Promise<readonly Event[]> {
    const events: Event[] = [];
    let from = BigInt(Math.max(0, fromRevision));
    // More than once only if events of others took places of a page.
    for (;;) {
      const page = await this.#page(stream, from, limit - events.length, FORWARDS, form, begin);
      if (page.first !== null && page.first > from) throw truncated(stream, page.first);
      events.push(...page.events);
      if (page.last === null || page.foreign === 0 || events.length === limit) return events;
      from = page.last + 1n;
    }
  }

  /** The last record of a stream, of any writer: as little as there is, to see whether the server answers. */
  ask(stream: StreamName): Promise<NonNullable<ResolvedEvent['event']> | null> {
    return this.#repeated(async (session) => {
      const options = { fromRevision: END, maxCount: 1, direction: BACKWARDS, requiresLeader: true } as const;
      this.context.count('read stream');
      const read = session.client.readStream(this.context.names.nameOf(stream), options);
      try {
        return (await this.#firstOf(session, read))?.event ?? null;
      } catch (error) {
        if (error instanceof StreamNotFoundError || error instanceof StreamDeletedError) return null;
        throw this.#explained(error, stream);
      }
    });
  }

  #explained(error: unknown, stream: StreamName): unknown {
    return explainDenial(error, this.context, `read ${this.context.names.nameOf(stream)}`);
  }

  async lastOf(stream: StreamName): Promise<RecordedEvent | null> {
    let page = await this.#page(stream, END, 1, BACKWARDS, asRead);
    while (page.events.length === 0 && page.last !== null && page.last > 0n)
      page = await this.#page(stream, page.last - 1n, 1, BACKWARDS, asRead);
    return page.events[0] ?? null;
  }

  log(after: bigint, limit: number): Promise<readonly LoggedEvent[]> {
    return this.#log(after, limit, (resolved) => loggedEvent(resolved, this.context));
  }

  /** As `log`, with the texts that the server keeps. Throws UnknownCategory, too. */
  storedLog(after: bigint, limit: number): Promise<readonly StoredEvent[]> {
    const of = (resolved: AllStreamResolvedEvent): StoredEvent | UnknownCategory | null => {
      const unknown = unknownCategory(resolved, this.context);
      const event = loggedEvent(resolved, this.context);
      if (unknown !== null || event === null || resolved.event === undefined) return unknown;
      return { position: event.position, ...storedEvent(resolved.event, event) };
    };
    return this.#log(after, limit, of, keepingTexts);
  }

  async #log<Event>(
    after: bigint,
    limit: number,
    of: (resolved: AllStreamResolvedEvent) => Event | UnknownCategory | null,
    begin?: Begin,
  ): Promise<readonly Event[]> {
    if (limit < 1) return [];
    const began = this.context.clock.monotonic();
    const { found, unknown } = await this.#repeated(async (session) => {
      const found: Event[] = [];
      for await (const resolved of this.#logAfter(session, after, begin)) {
        const event = of(resolved);
        if (event instanceof UnknownCategory) return { found, unknown: event };
        if (event !== null) found.push(event);
        if (found.length === limit) break;
      }
      return { found, unknown: null };
    });
    // Earlier events are returned first.
    if (found.length === 0 && unknown !== null) throw unknown;
    if (found.length === 0) await this.passedOver(began);
    return found;
  }

  /** As `stream`, with the texts that the server keeps. */
  storedStream(stream: StreamName, fromRevision: number, limit?: number): Promise<readonly PlacedEvent[]> {
    return this.#stream(stream, fromRevision, limit, asStored, keepingTexts);
  }

  /**
   * The last event of ours. It costs one record if the log ends where it ended before, or with an event of
   * ours, else a search of the records since then. Concurrent callers share one search. A caller that comes
   * while one is under way may know of an event that the search doesn't, so it shares the next.
   */
  head(): Promise<LogHead> {
    this.#nextSearch ??= this.#searching
      .catch(() => undefined)
      .then(() => {
        this.#nextSearch = null;
        const search = this.#repeated((session) => this.#searchHead(session));
        this.#searching = search;
        return search;
      });
    return this.#nextSearch;
  }

  /** The start of a read or a subscription for the events after a position. */
  startAfter(after: bigint): ReadPosition {
    const { position, searched, hasUnknown } = this.#head;
    const isSearched = searched !== null && !hasUnknown && position <= after && after < searched.commit;
    return isSearched ? searched : startAfter(after);
  }

  /**
   * Called with the error that ended a read or a subscription: it may have begun where the log no longer
   * continues.
   */
  failed(error: unknown): void {
    if (isInvalidPosition(error)) this.#head = nothingKnown;
  }

  /**
   * Called when a reader found no event: the next search begins behind the foreign events that it passed
   * over.
   */
  async passedOver(began: Milliseconds): Promise<void> {
    if (this.context.clock.monotonic() - began > maxFruitlessSearch) await this.head().catch(() => undefined);
  }

  /** The end of the log is read before it is searched, so that later events don't count as searched. */
  async #searchHead(session: Session): Promise<LogHead> {
    const last = await this.#lastRecord(session, this.context.times.read);
    const end = last === null ? null : placeOf(last);
    const known = this.#head;
    // It was set back.
    if ((end?.commit ?? -1n) < (known.searched?.commit ?? -1n)) this.#head = nothingKnown;
    const event = last && loggedEvent(last, this.context);
    if (event !== null)
      this.#head = { position: event.position, event: markOf(event), searched: end, hasUnknown: false };
    else if (end !== null && end.commit !== this.#head.searched?.commit)
      this.#head = (await this.#isStillHead(session))
        ? { ...this.#head, searched: end }
        : await this.#searchBackwards(session, end);
    const { position, event: mark } = this.#head;
    return { position, event: mark };
  }

  /** Whether nothing of ours has come since the last search. */
  async #isStillHead(session: Session): Promise<boolean> {
    const { searched } = this.#head;
    if (searched === null) return false;
    const read = this.ours(session, {
      fromPosition: searched,
      direction: FORWARDS,
      maxCount: 2,
      requiresLeader: true,
    });
    try {
      for await (const resolved of this.ofLog(session, read, searched.commit))
        if (placeOf(resolved).commit > searched.commit) return false;
      return true;
    } catch (error) {
      if (!isInvalidPosition(error)) throw error;
      this.failed(error);
      return false;
    }
  }

  /** Mostly the first event is ours, so one is asked for, then more and more. */
  async #searchBackwards(session: Session, end: Position): Promise<KnownHead> {
    const known = this.#head;
    let hasUnknown = false;
    let from: ReadPosition = END;
    for (let size = 1; ; size = Math.min(size * 32, maxHeadPage)) {
      let left = size;
      for await (const resolved of this.#logBackwards(session, { from, size })) {
        const place = placeOf(resolved);
        if (known.searched !== null && place.commit <= known.searched.commit)
          return { ...known, searched: end, hasUnknown: hasUnknown || known.hasUnknown };
        const event = loggedEvent(resolved, this.context);
        if (event !== null)
          return {
            position: event.position,
            event: markOf(event),
            searched: event.position > end.commit ? place : end,
            hasUnknown,
          };
        hasUnknown ||= unknownCategory(resolved, this.context) !== null;
        from = place;
        left -= 1;
        if (left === 0) break;
      }
      if (left > 0) return { ...nothingKnown, searched: end, hasUnknown };
    }
  }

  /** The last record of the log, of any writer, within a time. */
  async #lastRecord(session: Session, time: Milliseconds): Promise<AllStreamResolvedEvent | null> {
    this.context.count('read all');
    const read = session.client.readAll(lastRecord);
    return this.#firstOf(session, read, time).catch((error: unknown) => {
      throw explained(error, this.context);
    });
  }

  /**
   * The event of ours at exactly this position, or null: another log may have none there, and then the
   * position may lie inside one of its records, which the server refuses.
   */
  async markAt(position: bigint): Promise<EventMark | null> {
    if (position < 1n) return null;
    return this.#repeated(async (session) => {
      this.context.count('read all');
      const read = session.client.readAll({
        fromPosition: startAfter(position),
        direction: FORWARDS,
        maxCount: 1,
        resolveLinkTos: false,
        requiresLeader: true,
      });
      try {
        const first = await this.#firstOf(session, read);
        const event = first && loggedEvent(first, this.context);
        return event?.position === position ? markOf(event) : null;
      } catch (error) {
        if (isInvalidPosition(error)) return null;
        throw explained(error, this.context);
      }
    });
  }

  /**
   * The position of the last event of ours before the place; 0 if there is none. The server finds no event by
   * its time, and a position between two events is an error, so a time is looked for from the end.
   */
  async positionBefore(place: Place, signal?: AbortSignal): Promise<bigint> {
    if ('position' in place && place.position === 0n) return 0n;
    const from: ReadPosition = 'position' in place ? startAfter(place.position) : END;
    const before = 'position' in place ? Infinity : place.time - clockTolerance;
    return this.#repeated(async (session) => {
      for await (const resolved of this.#logBackwards(session, { from })) {
        const event = loggedEvent(resolved, this.context);
        if (event === null) continue;
        if (signal?.aborted === true || Date.parse(event.metadata.occurredAt) < before) return event.position;
      }
      return 0n;
    });
  }

  /** The position of an event of ours; if it lies far back, the head's, which comes after it. */
  async positionOf(id: string | undefined): Promise<bigint> {
    const position = await this.#repeated(async (session) => {
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

  /** Reads, and again for as long as there is hope. */
  async #repeated<T>(read: (session: Session) => Promise<T>): Promise<T> {
    const { clock, connection, onError } = this.context;
    const pauseAfter = pausesOf(this.context);
    for (;;) {
      const { session } = connection;
      try {
        const result = await read(session);
        connection.succeeded();
        return result;
      } catch (error) {
        onError(error);
        connection.failed(session, error);
        const pause = pauseAfter(error);
        if (pause === null) throw unavailable(error);
        await clock.sleep(pause);
      }
    }
  }

  async #page<Event>(
    stream: StreamName,
    fromRevision: ReadRevision,
    maxCount: number,
    direction: Direction,
    form: Form<Event>,
    begin: Begin = unread,
  ) {
    const options = {
      fromRevision,
      maxCount,
      direction,
      resolveLinkTos: false,
      requiresLeader: true,
    } as const;
    const page = await this.#repeated(async (session) => {
      this.context.count('read stream');
      const read = begin(session.client.readStream(this.context.names.nameOf(stream), options));
      const events: Event[] = [];
      /** The first and the last revision that were read, of any writer; null if there are none. */
      let [first, last]: [bigint | null, bigint | null] = [null, null];
      let foreign = 0;
      try {
        for await (const resolved of this.#supervised(session, read)) {
          const event = recordedEvent(resolved, stream, this.context);
          if (event === null) foreign += 1;
          else events.push(form(event, resolved));
          last = resolved.event?.revision ?? last;
          first ??= last;
        }
      } catch (error) {
        if (error instanceof StreamDeletedError) return null;
        if (!(error instanceof StreamNotFoundError)) throw this.#explained(error, stream);
      }
      return { events, first, last, foreign };
    });
    if (page === null) throw tombstoned(stream);
    return page;
  }

  /** `$all` after a position. The start of a read is inclusive (that of a subscription is exclusive). */
  async *#logAfter(
    session: Session,
    after: bigint,
    begin: Begin = unread,
  ): AsyncGenerator<AllStreamResolvedEvent> {
    const fromPosition = this.startAfter(after);
    // Readers of stored texts take an end of the log for its end.
    const requiresLeader = begin === keepingTexts;
    const read = begin(this.ours(session, { fromPosition, direction: FORWARDS, requiresLeader }));
    try {
      for await (const resolved of this.ofLog(session, read, after))
        if (placeOf(resolved).commit > after) yield resolved;
    } catch (error) {
      if (!isInvalidPosition(error)) throw error;
      const isHere = fromPosition !== this.#head.searched;
      this.failed(error);
      if (isHere) throw notOfThisLog(after, error);
      yield* this.#logAfter(session, after, begin);
    }
  }

  /** `from` is exclusive. Without a `size`, all of it. */
  #logBackwards(
    session: Session,
    { from = END, size }: { readonly from?: ReadPosition; readonly size?: number } = {},
  ): AsyncGenerator<AllStreamResolvedEvent> {
    const options = { fromPosition: from, direction: BACKWARDS, requiresLeader: true } as const;
    const read = this.ours(session, { ...options, ...(size !== undefined && { maxCount: size }) });
    return this.ofLog(session, read, 0n);
  }

  /** A read of the events in streams of ours. */
  ours(
    { client }: Session,
    options: ReadAllOptions,
    readable: { readonly highWaterMark?: number } = {},
  ): ReadAll {
    this.context.count('read all');
    return readOurs(client, this.context.names.pattern, { ...options, resolveLinkTos: false }, readable);
  }

  /**
   * The results of a search. From a position on, it may be silent for as long as reading everything before it
   * takes, while the server answers other calls.
   */
  async *ofLog(session: Session, read: ReadAll, from: bigint): AsyncGenerator<AllStreamResolvedEvent> {
    const { clock, times } = this.context;
    const half = times.read / 2;
    const began = clock.monotonic();
    const isOverdue = async (): Promise<boolean> => {
      const last = await this.#lastRecord(session, half).catch(() => null);
      const ahead = last === null ? 0 : Number(placeOf(last).commit - from);
      return last === null || clock.monotonic() - began > times.read + ahead / slowestSearch;
    };
    try {
      yield* this.#supervised(session, read, half, isOverdue);
    } catch (error) {
      throw explained(error, this.context);
    }
  }

  /** The first result of a read; null if there is none. */
  async #firstOf<T>(session: Session, read: Read<T>, time?: Milliseconds): Promise<T | null> {
    for await (const first of this.#supervised(session, read, time)) return first;
    return null;
  }

  #supervised<T>(
    { replaced }: Session,
    read: Read<T>,
    time = this.context.times.read,
    isOverdue = () => Promise.resolve(true),
  ): AsyncGenerator<T> {
    const { clock, times } = this.context;
    return supervised(read, {
      clock,
      time,
      onSilence: async () =>
        (await isOverdue()) ? new Overdue(`EventStoreDB said nothing for ${times.read} ms`) : null,
      cancel: () => read.cancel(),
      signals: [replaced],
    });
  }
}

/** Explains a refused read of the log; any other error stays unchanged. */
const explained = (error: unknown, context: Context): unknown =>
  error instanceof Error && error.message.includes('The combination of')
    ? new EventStoreUnavailable(
        "EventStoreDB is older than 21.10, and can't filter out of a read what other programs write. Install a newer one.",
        { cause: error },
      )
    : explainDenial(error, context);

/** The server names no code for this. (docs/engines.md#eventstoredb) */
const isInvalidPosition = (error: unknown): boolean =>
  error instanceof Error && /InvalidPosition|invalid position/i.test(error.message);

/**
 * An administrator has hidden events of a stream, or deleted them: they will not be there at the next try.
 */
export class HiddenEvents extends EventStoreUnavailable {}

const lastRecord = { fromPosition: END, direction: BACKWARDS, maxCount: 1, requiresLeader: true } as const;

/** For a stream that an administrator has deleted for good. */
export const tombstoned = (stream: StreamName): EventStoreUnavailable =>
  new HiddenEvents(
    `The stream ${stream} was deleted for good in EventStoreDB (tombstoned): it has no events, and takes none. Restore a backup from before.`,
  );

/** For a position inside a record: the server will never read from there. */
const notOfThisLog = (position: bigint, cause: unknown): EventStoreUnavailable =>
  new EventStoreUnavailable(
    `EventStoreDB has no event at position ${position}: the position is of another log, or was made up.`,
    { cause },
  );

/** For a stream whose beginning an administrator has cut off. */
const truncated = (stream: StreamName, first: bigint): EventStoreUnavailable =>
  new HiddenEvents(
    `The stream ${stream} begins at revision ${first} in EventStoreDB: $maxCount, $maxAge or $tb in its metadata, or a deletion, hides what came before. Nothing is decided on a part of it. Remove them from the metadata; what was scavenged is only in backups.`,
  );
