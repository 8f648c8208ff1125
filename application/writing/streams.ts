import type { EventMacs } from '../../domain/event-mac.js';
import {
  holdsPersonal,
  parseEvent,
  type Aggregate,
  type Command,
  type DomainEvent,
  type RecordedEvent,
  versionOf,
} from '../../domain/events.js';
import { LazyLru } from '../memory/lazy-lru.js';
import { derivedUuid, idOf, streamName, type Instant, type StreamName, type Uuid } from '../../domain/ids.js';
import { lastAt, pagesAt, type Moment } from '../history/as-of.js';
import { seal, type PersonalSeal } from '../log/hash-chain.js';
import {
  noStream,
  streamPages,
  type EventStore,
  type NewEvent,
  type StreamWrite,
} from '../ports/event-store.js';

/** An aggregate's state, and the place in its stream that the state belongs to. */
export interface Loaded<State> {
  readonly stream: StreamName;
  readonly state: State;
  /** The revision of the last event; -1 if there is none. */
  readonly revision: number;
  readonly hash: string | null;
  /** When the last event occurred; null if there is none. */
  readonly at: Instant | null;
  /** The position of the last event, or one after it; null if the engine doesn't tell it or there is none. */
  readonly position: bigint | null;
}

/** An event to be recorded, and the command that it is recorded for. */
export interface Decided<Event extends DomainEvent> {
  readonly event: Event;
  readonly command: Command;
  /**
   * By default derived from the command, the stream and the event's place among the command's events in it.
   */
  readonly id?: Uuid;
}

/** The events that one command records. */
export const decidedBy = <Event extends DomainEvent>(
  command: Command,
  events: readonly Event[],
): readonly Decided<Event>[] => events.map((event) => ({ event, command }));

/** The tools for sealing events before they are stored. (docs/audit.md#macs) */
export type Sealing = PersonalSeal & Pick<EventMacs, 'sign'>;

/**
 * The id of an event that a command records in a stream: always the same, so that an append can be repeated.
 */
export const eventIdOf = (stream: StreamName, command: Command, index: number): Uuid =>
  derivedUuid(stream, command.id, index);

/**
 * Loads aggregates from their streams. States are cached with their revisions, and every load reads the
 * events since then.
 */
export class Streams {
  readonly #cache: LazyLru<StreamName, Loaded<unknown>>;

  constructor(
    private readonly store: EventStore,
    private readonly sealing: Sealing,
    { cacheSize = 20_000 }: { readonly cacheSize?: number } = {},
  ) {
    this.#cache = new LazyLru(cacheSize);
  }

  /** Throws EventStoreUnavailable. */
  async load<State, Event extends DomainEvent>(
    aggregate: Aggregate<State, Event>,
    id: string,
  ): Promise<Loaded<State>> {
    const stream = streamName(aggregate.category, id);
    const known = this.#known(aggregate, stream);
    if (holdsPersonal(aggregate)) await this.sealing.ready();
    let loaded = known;
    if (aggregate.lastEventIsState === true) {
      // One event is read, however long the stream is and however much of it is new.
      const last = await this.store.readLast(stream);
      if (last !== null && last.revision !== known.revision) loaded = advance(aggregate, known, last);
    } else
      for await (const page of streamPages(this.store, stream, known.revision + 1))
        loaded = page.reduce((before, event) => advance(aggregate, before, event), loaded);
    if (loaded !== known) this.#remember(loaded);
    return loaded;
  }

  /**
   * The state at a moment, from the events up to it alone, and the last of them (null: there was none).
   * Throws DamagedStream, EventStoreUnavailable.
   */
  async loadAt<State, Event extends DomainEvent>(
    aggregate: Aggregate<State, Event>,
    id: string,
    moment: Moment,
  ): Promise<{ readonly state: State; readonly last: RecordedEvent | null }> {
    const stream = streamName(aggregate.category, id);
    const fold = (state: State, event: RecordedEvent): State =>
      aggregate.evolve(state, parseEvent(aggregate, event));
    if (aggregate.lastEventIsState === true) {
      const last = await lastAt(this.store, stream, moment);
      return { state: last === null ? aggregate.initial : fold(aggregate.initial, last), last };
    }
    let state = aggregate.initial;
    let last: RecordedEvent | null = null;
    for await (const page of pagesAt(this.store, stream, moment)) {
      state = page.reduce(fold, state);
      last = page.at(-1) ?? last;
    }
    return { state, last };
  }

  /** For a write to a stream that was not loaded: waits until personal data can be sealed without waiting. */
  ready(): Promise<void> {
    return this.sealing.ready();
  }

  /** The state from the cache, without a look at the store; null if it isn't there. */
  lastKnown<State, Event extends DomainEvent>(
    aggregate: Aggregate<State, Event>,
    id: string,
  ): Loaded<State> | null {
    const stream = streamName(aggregate.category, id);
    return this.#cache.has(stream) ? this.#known(aggregate, stream) : null;
  }

  /** As `load`, in one read from a revision on, and every event after it is shown to `observe`. */
  async loadAfter<State, Event extends DomainEvent>(
    aggregate: Aggregate<State, Event>,
    id: string,
    after: number,
    observe: (event: RecordedEvent) => void,
  ): Promise<Loaded<State>> {
    const stream = streamName(aggregate.category, id);
    const known = this.#known(aggregate, stream);
    if (holdsPersonal(aggregate)) await this.sealing.ready();
    const from = aggregate.lastEventIsState === true ? after : Math.min(after, known.revision);
    let loaded = known;
    for await (const page of streamPages(this.store, stream, from + 1)) {
      for (const event of page) if (event.revision > after) observe(event);
      const [last] = aggregate.lastEventIsState === true ? page.slice(-1) : [];
      loaded = (last === undefined ? page : [last])
        .filter(({ revision }) => revision > loaded.revision)
        .reduce((before, event) => advance(aggregate, before, event), loaded);
    }
    if (loaded.revision < after) {
      const now = await this.load(aggregate, id);
      // Events appended between the two reads have to be shown, too.
      return now.revision > after ? this.loadAfter(aggregate, id, after, observe) : now;
    }
    if (loaded !== known) this.#remember(loaded);
    return loaded;
  }

  /** The next load reads the stream: the cached state lacks an appended event. */
  forget({ stream }: Pick<Loaded<unknown>, 'stream'>): void {
    this.#cache.delete(stream);
  }

  /** A write of events that follow a loaded state. Makes their ids, envelopes and hashes. */
  write<State, Event extends DomainEvent>(
    aggregate: Aggregate<State, Event>,
    at: Loaded<State>,
    decided: readonly Decided<Event>[],
  ): StreamWrite {
    const events: NewEvent[] = [];
    const places = new Map<string, number>();
    let hash = at.hash;
    let last = at.at;
    for (const { event, command, id } of decided) {
      const place = places.get(command.id) ?? 0;
      places.set(command.id, place + 1);
      // Clocks differ and are set back; the times of a stream never go back, so that a time ends all alike.
      last = last !== null && last > command.at ? last : command.at;
      const sealed = seal(
        { stream: at.stream, revision: at.revision + events.length + 1, previous: hash },
        {
          id: id ?? eventIdOf(at.stream, command, place),
          type: event.type,
          data: event.data,
          metadata: {
            org: command.org,
            actor: command.actor,
            requestId: command.requestId,
            ...(command.traceparent !== undefined && { traceparent: command.traceparent }),
            correlationId: command.requestId ?? command.id,
            causationId: command.id,
            schemaVersion: versionOf(aggregate),
            occurredAt: last,
            subject: idOf(at.stream),
          },
        },
        this.sealing.seal,
        this.sealing.sign,
      );
      events.push(sealed);
      hash = sealed.metadata.hash;
    }
    return { stream: at.stream, expected: at.revision, events };
  }

  /** The state after a write that was appended, without reading it back. */
  appended<State, Event extends DomainEvent>(
    aggregate: Aggregate<State, Event>,
    at: Loaded<State>,
    decided: readonly Decided<Event>[],
    write: StreamWrite,
    position: bigint | null,
  ): Loaded<State> {
    const loaded: Loaded<State> = {
      stream: at.stream,
      state: decided.reduce((state, { event }) => aggregate.evolve(state, event), at.state),
      revision: at.revision + write.events.length,
      hash: write.events.at(-1)?.metadata.hash ?? at.hash,
      at: write.events.at(-1)?.metadata.occurredAt ?? at.at,
      position,
    };
    this.#remember(loaded);
    return loaded;
  }

  #known<State, Event extends DomainEvent>(
    aggregate: Aggregate<State, Event>,
    stream: StreamName,
  ): Loaded<State> {
    return (this.#cache.get(stream) as Loaded<State> | undefined) ?? notBegun(aggregate, stream);
  }

  #remember(loaded: Loaded<unknown>): void {
    const known = this.#cache.get(loaded.stream);
    if (known === undefined || known.revision < loaded.revision) this.#cache.set(loaded.stream, loaded);
  }
}

/** An aggregate in a stream without events. */
export const notBegun = <State, Event extends DomainEvent>(
  { initial: state }: Aggregate<State, Event>,
  stream: StreamName,
): Loaded<State> => ({ stream, state, revision: noStream, hash: null, at: null, position: null });

const advance = <State, Event extends DomainEvent>(
  aggregate: Aggregate<State, Event>,
  before: Loaded<State>,
  stored: RecordedEvent,
): Loaded<State> => ({
  stream: before.stream,
  state: aggregate.evolve(before.state, parseEvent(aggregate, stored)),
  revision: stored.revision,
  hash: stored.metadata.hash,
  at: stored.metadata.occurredAt,
  position: stored.position,
});
