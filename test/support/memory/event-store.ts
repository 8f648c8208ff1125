import {
  EventStoreUnavailable,
  type EventStore,
  type LogHead,
  type StreamWrite,
  type WriteOutcome,
} from '../../../application/ports/event-store.js';
import type { KeyClaim } from '../../../application/ports/idempotency-store.js';
import type { LoggedEvent, RecordedEvent } from '../../../domain/events.js';
import type { StreamName } from '../../../domain/ids.js';

/**
 * What becomes of writes on their way.
 * `lose`: they never arrive. `store-lose-answer`: they arrive, the answer does not. `store-die`: they arrive,
 * and the caller goes no further.
 * `away`: the store refuses (later writes of an append that is not atomic: the answer is lost). `late`: the
 * caller hears nothing; they arrive when the promise resolves. A hook whose promise never settles is a caller
 * that died before it wrote.
 */
export type Fate =
  'store' | 'lose' | 'store-lose-answer' | 'store-die' | 'away' | { readonly late: Promise<void> };

export interface MemoryEventStoreOptions {
  readonly atomic: boolean;
  /**
   * Decides over every attempt to store, and delays it. `writes` are stored together: all of an append on an
   * atomic store, one by one on the other.
   */
  readonly onWrite?: (writes: readonly StreamWrite[]) => Promise<Fate>;
  /** Completes claims in the same commit. Given, the store `completesClaims`. */
  readonly completeClaim?: (claim: KeyClaim) => void;
}

const unknown: WriteOutcome = { kind: 'unknown' };

const stays = new Promise<never>(() => {});

/**
 * A log that lives as long as the process. Without `atomic` it behaves as EventStoreDB does: one stream at a
 * time.
 */
export class MemoryEventStore implements EventStore {
  readonly atomic: boolean;
  readonly completesClaims: boolean;
  readonly #onWrite: MemoryEventStoreOptions['onWrite'];
  readonly #completeClaim: MemoryEventStoreOptions['completeClaim'];
  readonly #log: LoggedEvent[] = [];
  readonly #streams = new Map<StreamName, LoggedEvent[]>();
  readonly #waiting = new Set<() => void>();
  #away = false;

  constructor({ atomic, onWrite, completeClaim }: MemoryEventStoreOptions) {
    this.atomic = atomic;
    this.completesClaims = completeClaim !== undefined;
    this.#onWrite = onWrite;
    this.#completeClaim = completeClaim;
  }

  /** While true, every call throws EventStoreUnavailable, and those who follow the log hear nothing. */
  get away(): boolean {
    return this.#away;
  }

  set away(away: boolean) {
    this.#away = away;
    if (!away) this.#wakeFollowers();
  }

  async append(
    writes: readonly StreamWrite[],
    completing: readonly KeyClaim[] = [],
  ): Promise<readonly WriteOutcome[]> {
    this.#reach();
    if (new Set(writes.map(({ stream }) => stream)).size < writes.length)
      throw new Error('an append writes to a stream once');
    if (writes.some(({ events }) => events.length === 0)) throw new Error('a write has at least one event');
    if (this.atomic) return this.#attempt(writes, completing);
    const outcomes: WriteOutcome[] = [];
    for (const write of writes) {
      const failed = outcomes.some(({ kind }) => kind !== 'appended');
      outcomes.push(
        ...(failed ? [{ kind: 'skipped' } as const] : await this.#attempt([write], [], outcomes.length > 0)),
      );
    }
    return outcomes;
  }

  async readStream(stream: StreamName, fromRevision: number): Promise<readonly RecordedEvent[]> {
    this.#reach();
    return (this.#streams.get(stream) ?? []).slice(fromRevision).map((event) => this.#asRead(event));
  }

  async readLast(stream: StreamName): Promise<RecordedEvent | null> {
    this.#reach();
    const last = this.#streams.get(stream)?.at(-1);
    return last === undefined ? null : this.#asRead(last);
  }

  async readLog(after: bigint, limit: number): Promise<readonly LoggedEvent[]> {
    this.#reach();
    return this.#log.slice(Number(after), Number(after) + limit);
  }

  async head(): Promise<LogHead> {
    this.#reach();
    return { position: BigInt(this.#log.length), hash: this.#log.at(-1)?.metadata.hash ?? null };
  }

  async *follow(
    after: bigint,
    { signal, batch = 500 }: { readonly signal: AbortSignal; readonly batch?: number },
  ): AsyncIterable<readonly LoggedEvent[]> {
    for (let handled = Number(after); !signal.aborted;) {
      const events = this.#away ? [] : this.#log.slice(handled, handled + batch);
      if (events.length > 0) yield events;
      else await this.#change(signal);
      handled += events.length;
    }
  }

  /** Engines that write one stream at a time do not tell positions on a stream read. */
  #asRead(event: LoggedEvent): RecordedEvent {
    return this.atomic ? event : { ...event, position: null };
  }

  async #attempt(
    writes: readonly StreamWrite[],
    completing: readonly KeyClaim[],
    begun = false,
  ): Promise<readonly WriteOutcome[]> {
    const fate = (await this.#onWrite?.(writes)) ?? 'store';
    const lost = writes.map(() => unknown);
    if (fate === 'away') {
      if (begun) return lost;
      throw new EventStoreUnavailable('the event store is away');
    }
    if (fate === 'lose') return lost;
    if (typeof fate === 'object') {
      void fate.late.then(() => this.#store(writes, completing));
      return lost;
    }
    const outcomes = this.#store(writes, completing);
    if (fate === 'store-die') return stays;
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
    this.#wakeFollowers();
    return outcomes;
  }

  #storedAlready({ stream, expected, events }: StreamWrite): bigint | null {
    const there = (this.#streams.get(stream) ?? []).slice(expected + 1, expected + 1 + events.length);
    if (there.length < events.length || there.some(({ id }, index) => id !== events[index]?.id)) return null;
    return there.at(-1)?.position ?? null;
  }

  #push({ stream, expected, events }: StreamWrite): bigint {
    const held = this.#streams.get(stream) ?? [];
    this.#streams.set(stream, held);
    events.forEach(({ id, type, data, metadata }, index) => {
      const stored: { data: object; metadata: LoggedEvent['metadata'] } = JSON.parse(
        JSON.stringify({ data, metadata }),
      );
      const event = {
        id,
        stream,
        revision: expected + 1 + index,
        position: BigInt(this.#log.length + 1),
        type,
        ...stored,
      };
      held.push(event);
      this.#log.push(event);
    });
    return BigInt(this.#log.length);
  }

  #reach() {
    if (this.#away) throw new EventStoreUnavailable('the event store is away');
  }

  #wakeFollowers() {
    for (const wake of this.#waiting) wake();
  }

  #change(signal: AbortSignal): Promise<void> {
    return new Promise((resolve) => {
      const wake = () => {
        this.#waiting.delete(wake);
        signal.removeEventListener('abort', wake);
        resolve();
      };
      this.#waiting.add(wake);
      signal.addEventListener('abort', wake, { once: true });
      if (signal.aborted) wake();
    });
  }
}
