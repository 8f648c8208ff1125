import {
  BACKWARDS,
  END,
  FORWARDS,
  START,
  StreamDeletedError,
  StreamNotFoundError,
  type AllStreamResolvedEvent,
  type ReadPosition,
  type Direction,
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
import type { PlacedEvent, StoredEvent, UnknownCategory } from '../../application/ports/raw-log.js';
import type { LoggedEvent, RecordedEvent } from '../../domain/events.js';
import type { StreamName } from '../../domain/ids.js';
import type { Session } from './connection.js';
import { explainDenial, unavailable, type Context } from './context.js';
import { unknownCategory, loggedEvent, recordedEvent } from './events.js';
import { isNotReady } from './failures.js';
import { pauseBefore } from './retries.js';
import { keepingTexts, storedEvent } from './stored-texts.js';
import { Overdue, supervised, type Source } from './supervision.js';

/**
 * Where a read of `$all` or a subscription begins. The commit position stands for both halves of a server's
 * position: our events are written with two equal halves.
 */
export const startAfter = (position: bigint): ReadPosition =>
  position === 0n ? START : { commit: position, prepare: position };

/** `last`: the last revision that was read, whoever wrote it; null if there is none. */
interface StreamPage<Event> {
  readonly events: readonly Event[];
  /** The first revision that was read, whoever wrote it. */
  readonly first: bigint | null;
  readonly last: bigint | null;
  readonly foreign: number;
}

/** What is done to a read before it begins. */
type Begin = <Read extends object>(read: Read) => Read;

/** What is wanted of the events of a stream. */
interface Form<Event> {
  readonly begin: Begin;
  readonly of: (event: RecordedEvent, resolved: ResolvedEvent) => Event;
}

const parsed: Form<RecordedEvent> = { begin: (read) => read, of: (event) => event };

const stored: Form<PlacedEvent> = {
  begin: keepingTexts,
  of: (recorded, { event }) => {
    if (event === undefined) throw new Error(`${recorded.stream} has a link that leads nowhere`);
    return { position: recorded.position, ...storedEvent(event, recorded) };
  },
};

/** A search for the last event of ours asks for at most this many at a time. */
const largestHeadPage = 1_024;

/** Reads streams and the log. Everything throws EventStoreUnavailable. */
export class Reads {
  readonly #context: Context;
  /** The last event of ours that a search for the head found, and how far such searches have come. */
  #head: LogHead & { readonly searched: bigint } = { position: 0n, event: null, searched: -1n };

  /**
   * Where a read of stored events found nothing more, and how far it has looked: events of others may follow.
   */
  #scanned = { after: -1n, position: -1n };

  constructor(context: Context) {
    this.#context = context;
  }

  /** At most `limit` events of a stream from a revision on. */
  stream(stream: StreamName, fromRevision: number, limit?: number): Promise<readonly RecordedEvent[]> {
    return this.#stream(stream, fromRevision, limit, parsed);
  }

  async #stream<Event>(
    stream: StreamName,
    fromRevision: number,
    limit = Number.MAX_SAFE_INTEGER,
    form: Form<Event>,
  ): Promise<readonly Event[]> {
    const events: Event[] = [];
    let from = BigInt(Math.max(0, fromRevision));
    // More than once only if events of others took places of a page.
    for (;;) {
      const page = await this.#page(stream, from, limit - events.length, FORWARDS, form);
      if (page.first !== null && page.first > from) throw truncated(stream, page.first);
      events.push(...page.events);
      if (page.last === null || page.foreign === 0 || events.length === limit) return events;
      from = page.last + 1n;
    }
  }

  /** Asks for as little as there is, to see whether the server answers. */
  async ask(stream: StreamName): Promise<void> {
    await this.#repeated(async (session) => {
      const options = { fromRevision: END, maxCount: 1, direction: BACKWARDS, requiresLeader: true } as const;
      const read = session.client.readStream(this.#context.names.nameOf(stream), options);
      try {
        for await (const _ of this.#supervised(session, read)) return;
      } catch (error) {
        if (!(error instanceof StreamNotFoundError || error instanceof StreamDeletedError))
          throw this.#explained(error, stream);
      }
    });
  }

  #explained(error: unknown, stream: StreamName): unknown {
    return explainDenial(error, this.#context, `read ${this.#context.names.nameOf(stream)}`);
  }

  async lastOf(stream: StreamName): Promise<RecordedEvent | null> {
    let page = await this.#page(stream, END, 1, BACKWARDS, parsed);
    while (page.events.length === 0 && page.last !== null && page.last > 0n)
      page = await this.#page(stream, page.last - 1n, 1, BACKWARDS, parsed);
    return page.events[0] ?? null;
  }

  async log(after: bigint, limit: number): Promise<readonly LoggedEvent[]> {
    if (limit < 1) return [];
    return this.#repeated(async (session) => {
      const found: LoggedEvent[] = [];
      for await (const resolved of this.#logAfter(session, after)) {
        const event = loggedEvent(resolved, this.#context);
        if (event !== null) found.push(event);
        if (found.length === limit) break;
      }
      return found;
    });
  }

  /** As `log`, with the texts that the server keeps. Throws UnknownCategory, too. */
  async storedLog(after: bigint, limit: number): Promise<readonly StoredEvent[]> {
    if (limit < 1) return [];
    const from = this.#scanned.after === after ? this.#scanned.position : after;
    let scanned = from;
    const stop: { at: UnknownCategory | null } = { at: null };
    const found = await this.#repeated(async (session) => {
      const events: StoredEvent[] = [];
      scanned = from;
      for await (const resolved of this.#logAfter(session, from, keepingTexts)) {
        stop.at = unknownCategory(resolved, this.#context);
        if (stop.at !== null) break;
        const event = loggedEvent(resolved, this.#context);
        if (event !== null && resolved.event !== undefined)
          events.push({ position: event.position, ...storedEvent(resolved.event, event) });
        scanned = resolved.commitPosition ?? resolved.event?.position.commit ?? scanned;
        if (events.length === limit) break;
      }
      return events;
    });
    // What comes before it is given first.
    if (found.length === 0 && stop.at !== null) throw stop.at;
    if (found.length === 0) this.#scanned = { after, position: scanned };
    return found;
  }

  /** As `stream`, with the texts that the server keeps. */
  storedStream(stream: StreamName, fromRevision: number, limit?: number): Promise<readonly PlacedEvent[]> {
    return this.#stream(stream, fromRevision, limit, stored);
  }

  /**
   * The last event of ours; the server's own events after it don't count. Mostly it is the log's last, so one
   * event is asked for, then more and more.
   */
  async head(): Promise<LogHead> {
    return this.#repeated(async (session) => {
      const known = this.#head;
      let searched: bigint | null = null;
      let from: ReadPosition = END;
      for (let size = 1; size > 0; size = Math.min(size * 32, largestHeadPage)) {
        let left = size;
        for await (const resolved of this.#logBackwards(session, { from, size })) {
          const event = loggedEvent(resolved, this.#context);
          const position = resolved.commitPosition ?? resolved.event?.position.commit ?? 0n;
          searched ??= position;
          if (event !== null && position > known.searched)
            this.#rememberHead({ position: event.position, event: markOf(event), searched });
          if (event !== null || position <= known.searched) left = -Infinity;
          if (left < 0) break;
          from = startAfter(position);
          left -= 1;
        }
        if (left !== 0) break;
      }
      if (searched !== null) this.#rememberHead({ ...this.#head, searched });
      return { position: this.#head.position, event: this.#head.event };
    });
  }

  /**
   * The event of ours at exactly this position, or null: another log may have none there, and then the
   * position may lie inside one of its records, which the server refuses.
   */
  async markAt(position: bigint): Promise<EventMark | null> {
    if (position < 1n) return null;
    return this.#repeated(async (session) => {
      const read = session.client.readAll({
        fromPosition: startAfter(position),
        direction: FORWARDS,
        maxCount: 1,
        resolveLinkTos: false,
        requiresLeader: true,
      });
      try {
        for await (const resolved of this.#ofLog(session, read)) {
          const event = loggedEvent(resolved, this.#context);
          return event?.position === position ? markOf(event) : null;
        }
      } catch (error) {
        if (!isInvalidPosition(error)) throw error;
      }
      return null;
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
        const event = loggedEvent(resolved, this.#context);
        if (event === null) continue;
        if (signal?.aborted === true || Date.parse(event.metadata.occurredAt) < before) return event.position;
      }
      return 0n;
    });
  }

  /** The position of an event among the last `limit` events of the log, or null. */
  positionOf(id: string | undefined, limit: number): Promise<bigint | null> {
    return this.#repeated(async (session) => {
      let seen = 0;
      for await (const { event, commitPosition } of this.#logBackwards(session)) {
        if (event?.id === id) return commitPosition ?? event?.position.commit ?? null;
        seen += 1;
        if (seen >= limit) break;
      }
      return null;
    });
  }

  /** The first event of ours after a position, if there is one, and how far the search came. Not repeated. */
  async firstAfter(after: bigint): Promise<{ readonly found: boolean; readonly searched: bigint }> {
    let searched = after;
    for await (const resolved of this.#logAfter(this.#context.connection.session, after)) {
      const event = loggedEvent(resolved, this.#context);
      if (event !== null) return { found: true, searched: event.position };
      searched = resolved.commitPosition ?? searched;
    }
    return { found: false, searched };
  }

  #rememberHead(head: LogHead & { readonly searched: bigint }): void {
    if (head.position >= this.#head.position && head.searched >= this.#head.searched) this.#head = head;
  }

  /** Reads, and again for as long as there is hope. */
  async #repeated<T>(read: (session: Session) => Promise<T>): Promise<T> {
    const { clock, connection, onError } = this.#context;
    const began = clock.monotonic();
    let wasStarting = false;
    for (let failures = 0; ; failures += 1) {
      const { session } = connection;
      try {
        const result = await read(session);
        connection.succeeded();
        return result;
      } catch (error) {
        onError(error);
        connection.failed(session, error);
        const pause = pauseBefore(this.#context, error, { began, failures, wasStarting });
        wasStarting ||= isNotReady(error);
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
    { begin, of }: Form<Event>,
  ): Promise<StreamPage<Event>> {
    const options = {
      fromRevision,
      maxCount,
      direction,
      resolveLinkTos: false,
      requiresLeader: true,
    } as const;
    const page = await this.#repeated(async (session): Promise<StreamPage<Event> | null> => {
      const read = begin(session.client.readStream(this.#context.names.nameOf(stream), options));
      const events: Event[] = [];
      let [first, last, foreign]: [bigint | null, bigint | null, number] = [null, null, 0];
      try {
        for await (const resolved of this.#supervised(session, read)) {
          const event = recordedEvent(resolved, stream, this.#context);
          if (event === null) foreign += 1;
          else events.push(of(event, resolved));
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
    begin: Begin = (read) => read,
  ): AsyncGenerator<AllStreamResolvedEvent, void, undefined> {
    const options = {
      fromPosition: startAfter(after),
      direction: FORWARDS,
      resolveLinkTos: false,
      // Whoever looks at stored texts takes an end of the log for its end.
      requiresLeader: begin === keepingTexts,
    } as const;
    try {
      for await (const resolved of this.#ofLog(session, begin(session.client.readAll(options)))) {
        const position = resolved.commitPosition ?? resolved.event?.position.commit;
        if (position === undefined || position > after) yield resolved;
      }
    } catch (error) {
      throw isInvalidPosition(error) ? notOfThisLog(after, error) : error;
    }
  }

  /** `from` is exclusive. Without a `size`, all of it. */
  #logBackwards(
    session: Session,
    { from = END, size }: { readonly from?: ReadPosition; readonly size?: number } = {},
  ): AsyncGenerator<AllStreamResolvedEvent, void, undefined> {
    return this.#ofLog(
      session,
      session.client.readAll({
        fromPosition: from,
        direction: BACKWARDS,
        ...(size !== undefined && { maxCount: size }),
        resolveLinkTos: false,
        requiresLeader: true,
      }),
    );
  }

  async *#ofLog(
    session: Session,
    read: ReturnType<Session['client']['readAll']>,
  ): AsyncGenerator<AllStreamResolvedEvent, void, undefined> {
    try {
      yield* this.#supervised(session, read);
    } catch (error) {
      throw explainDenial(error, this.#context);
    }
  }

  #supervised<T>(
    { replaced }: Session,
    read: Source<T> & { cancel(): Promise<void> },
  ): AsyncGenerator<T, void, undefined> {
    const { clock, times } = this.#context;
    return supervised(read, {
      clock,
      time: times.read,
      onSilence: async () => new Overdue(`EventStoreDB said nothing for ${times.read} ms`),
      cancel: () => read.cancel(),
      signals: [replaced],
    });
  }
}

/** The server names no code for this. (docs/engines.md#eventstoredb) */
const isInvalidPosition = (error: unknown): boolean =>
  error instanceof Error && /InvalidPosition|invalid position/i.test(error.message);

/**
 * An administrator has hidden events of a stream, or deleted them: they will not be there at the next try.
 */
export class HiddenEvents extends EventStoreUnavailable {}

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
