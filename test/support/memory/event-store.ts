import { storedTexts } from '../../../application/log/hash-chain.js';
import {
  clockTolerance,
  EventStoreUnavailable,
  markOf,
  type EventStore,
  type EventMark,
  type LogHead,
  type Place,
  type StreamWrite,
  type WriteOutcome,
} from '../../../application/ports/event-store.js';
import type { KeyClaim } from '../../../application/ports/idempotency-store.js';
import type { LoggedEvent, RecordedEvent } from '../../../domain/events.js';
import type { StreamName } from '../../../domain/ids.js';

/**
 * What happens to writes on their way.
 * `lose`: they never arrive.
 * `store-lose-answer`: they are stored, and the outcome gets lost.
 * `store-die`: they are stored, and the append never settles, as if the caller had died.
 * `away`: the store throws EventStoreUnavailable; for later writes of an append that is not atomic, the
 * outcome gets lost.
 * `late`: the outcome gets lost, and they are stored when the promise resolves. If `onWrite` itself never
 * settles, the caller has died before it wrote.
 */
export type Fate =
  'store' | 'lose' | 'store-lose-answer' | 'store-die' | 'away' | { readonly late: Promise<void> };

export interface MemoryEventStoreOptions {
  readonly atomic: boolean;
  /** Positions lie this far apart, as bytes of a log do; by default they count events. */
  readonly bytesPerEvent?: number;
  /** How many records of others come right before an event; by default none. */
  readonly others?: () => number;
  /**
   * Decides the fate of writes, and may delay it. `writes` are stored together: all of an append if the store
   * is atomic, otherwise one by one.
   */
  readonly onWrite?: (writes: readonly StreamWrite[]) => Promise<Fate>;
  /** Completes a claim in the same commit. An atomic store needs it where claims are made. */
  readonly completeClaim?: (claim: KeyClaim) => void;
}

const unknown: WriteOutcome = { kind: 'unknown' };

const neverSettles = new Promise<never>(() => {});

/** A log in memory. If it is not atomic, it writes one stream at a time, like EventStoreDB. */
export class MemoryEventStore implements EventStore {
  readonly atomic: boolean;
  /** How often each stream was read, and how many events the reads returned. */
  readonly reads = new Map<StreamName, { times: number; events: number }>();
  readonly #bytesPerEvent: number;
  readonly #others: () => number;
  readonly #onWrite: MemoryEventStoreOptions['onWrite'];
  readonly #completeClaim: MemoryEventStoreOptions['completeClaim'];
  readonly #log: LoggedEvent[] = [];
  /** How many events of ours there are before the first record and up to each, with those of others. */
  readonly #ours: number[] = [0];
  readonly #streams = new Map<StreamName, LoggedEvent[]>();
  readonly #wakeFollowers = new Set<() => void>();
  #away = false;

  constructor({
    atomic,
    bytesPerEvent = 1,
    others = () => 0,
    onWrite,
    completeClaim,
  }: MemoryEventStoreOptions) {
    this.atomic = atomic;
    this.#bytesPerEvent = bytesPerEvent;
    this.#others = others;
    this.#onWrite = onWrite;
    this.#completeClaim = completeClaim;
  }

  /** How many events there are: the position of the last one, if positions count events of no others. */
  get length(): number {
    return this.#log.length;
  }

  /** All of them, also while it is away. */
  get events(): readonly LoggedEvent[] {
    return this.#log;
  }

  /** While true, every call throws EventStoreUnavailable, and followers get nothing. */
  get away(): boolean {
    return this.#away;
  }

  set away(away: boolean) {
    this.#away = away;
    if (!away) this.#wakeAll();
  }

  /** Other programs write events or links, as into an EventStoreDB that they share: no reader gets them. */
  passOver(records: number): void {
    for (let record = 0; record < records; record++) this.#ours.push(this.#log.length);
    this.#wakeAll();
  }

  async append(
    writes: readonly StreamWrite[],
    completing: readonly KeyClaim[] = [],
  ): Promise<readonly WriteOutcome[]> {
    this.#assertReachable();
    if (new Set(writes.map(({ stream }) => stream)).size < writes.length)
      throw new Error('an append may name each stream only once');
    if (writes.some(({ events }) => events.length === 0)) throw new Error('a write needs at least one event');
    if (this.atomic) return this.#write(writes, completing);
    const outcomes: WriteOutcome[] = [];
    for (const write of writes) {
      const failed = outcomes.some(({ kind }) => kind !== 'appended');
      outcomes.push(
        ...(failed ? [{ kind: 'skipped' } as const] : await this.#write([write], [], outcomes.length > 0)),
      );
    }
    return outcomes;
  }

  async readStream(
    stream: StreamName,
    fromRevision: number,
    limit = Number.MAX_SAFE_INTEGER,
  ): Promise<readonly RecordedEvent[]> {
    this.#assertReachable();
    return this.#counted(
      stream,
      (this.#streams.get(stream) ?? []).slice(fromRevision, fromRevision + limit),
    ).map((event) => this.#asRead(event));
  }

  async readLast(stream: StreamName): Promise<RecordedEvent | null> {
    this.#assertReachable();
    const [last] = this.#counted(stream, this.#streams.get(stream)?.slice(-1) ?? []);
    return last === undefined ? null : this.#asRead(last);
  }

  async readLog(after: bigint, limit: number): Promise<readonly LoggedEvent[]> {
    this.#assertReachable();
    const passed = this.#passedAt(after);
    return this.#log.slice(passed, passed + limit);
  }

  async positionBefore(place: Place): Promise<bigint> {
    this.#assertReachable();
    const isBefore = ({ position, metadata }: LoggedEvent) =>
      'position' in place
        ? position < place.position
        : Date.parse(metadata.occurredAt) < place.time - clockTolerance;
    return this.#log.findLast(isBefore)?.position ?? 0n;
  }

  async head(): Promise<LogHead> {
    this.#assertReachable();
    const last = this.#log.at(-1);
    return { position: this.#head(), event: last === undefined ? null : markOf(last) };
  }

  async markAt(position: bigint): Promise<EventMark | null> {
    this.#assertReachable();
    const event = this.#log.find((logged) => logged.position === position);
    return event === undefined ? null : markOf(event);
  }

  async *follow(
    after: bigint,
    { signal, batch = 500 }: { readonly signal: AbortSignal; readonly batch?: number },
  ): AsyncIterable<readonly LoggedEvent[]> {
    for (let handled = this.#passedAt(after); !signal.aborted;) {
      const events = this.#away ? [] : this.#log.slice(handled, handled + batch);
      if (events.length > 0) yield events;
      else await this.#nextWrite(signal);
      handled += events.length;
    }
  }

  #counted(stream: StreamName, events: readonly LoggedEvent[]): readonly LoggedEvent[] {
    const { times, events: before } = this.reads.get(stream) ?? { times: 0, events: 0 };
    this.reads.set(stream, { times: times + 1, events: before + events.length });
    return events;
  }

  /** EventStoreDB may not report the positions of events that are read from their stream. */
  #asRead(event: LoggedEvent): RecordedEvent {
    return this.atomic ? event : { ...event, position: null };
  }

  async #write(
    writes: readonly StreamWrite[],
    completing: readonly KeyClaim[],
    isLaterWrite = false,
  ): Promise<readonly WriteOutcome[]> {
    const fate = (await this.#onWrite?.(writes)) ?? 'store';
    const lost = writes.map(() => unknown);
    if (fate === 'away') {
      if (isLaterWrite) return lost;
      throw new EventStoreUnavailable('the event store is away');
    }
    if (fate === 'lose') return lost;
    if (typeof fate === 'object') {
      void fate.late.then(() => this.#store(writes, completing));
      return lost;
    }
    const outcomes = this.#store(writes, completing);
    if (fate === 'store-die') return neverSettles;
    return fate === 'store' ? outcomes : lost;
  }

  #store(writes: readonly StreamWrite[], completing: readonly KeyClaim[]): readonly WriteOutcome[] {
    const repeated = writes.map((write) => this.#storedAlready(write));
    const fits = writes.map(
      ({ stream, expected }, index) =>
        repeated[index] !== null || (this.#streams.get(stream)?.length ?? 0) - 1 === expected,
    );
    if (fits.includes(false)) return fits.map((fit) => ({ kind: fit ? 'skipped' : 'conflict' }));
    const outcomes = writes.map((write, index): WriteOutcome => ({
      kind: 'appended',
      position: repeated[index] ?? this.#push(write),
    }));
    for (const claim of completing) this.#completeClaim?.(claim);
    this.#wakeAll();
    return outcomes;
  }

  #storedAlready({ stream, expected, events }: StreamWrite): bigint | null {
    const found = (this.#streams.get(stream) ?? []).slice(expected + 1, expected + 1 + events.length);
    if (found.length < events.length || found.some(({ id }, index) => id !== events[index]?.id)) return null;
    return found.at(-1)?.position ?? null;
  }

  #push({ stream, expected, events }: StreamWrite): bigint {
    const held = this.#streams.get(stream) ?? [];
    this.#streams.set(stream, held);
    events.forEach((each, index) => {
      const { id, type } = each;
      const { data, personal, metadata } = storedTexts(each);
      const stored: object = JSON.parse(data);
      for (let left = this.#others(); left > 0; left--) this.#ours.push(this.#log.length);
      const event: LoggedEvent = {
        id,
        stream,
        revision: expected + 1 + index,
        position: BigInt(this.#ours.length * this.#bytesPerEvent),
        type,
        data:
          personal === null ? stored : Object.assign(stored, { personal: JSON.parse(personal) as unknown }),
        metadata: JSON.parse(metadata),
      };
      held.push(event);
      this.#log.push(event);
      this.#ours.push(this.#log.length);
    });
    return this.#head();
  }

  #head(): bigint {
    return this.#log.at(-1)?.position ?? 0n;
  }

  /** How many events are at a position or before it. As in EventStoreDB, it can't lie inside a record. */
  #passedAt(position: bigint): number {
    if (Number(position) % this.#bytesPerEvent > 0)
      throw new RangeError(`there is no event at position ${position}`);
    return this.#ours[Number(position) / this.#bytesPerEvent] ?? this.#log.length;
  }

  #assertReachable() {
    if (this.#away) throw new EventStoreUnavailable('the event store is away');
  }

  #wakeAll() {
    for (const wake of this.#wakeFollowers) wake();
  }

  #nextWrite(signal: AbortSignal): Promise<void> {
    return new Promise((resolve) => {
      const wake = () => {
        this.#wakeFollowers.delete(wake);
        signal.removeEventListener('abort', wake);
        resolve();
      };
      this.#wakeFollowers.add(wake);
      signal.addEventListener('abort', wake, { once: true });
      if (signal.aborted) wake();
    });
  }
}
