import { EventEmitter, once } from 'node:events';
import type { LoggedEvent } from '../../domain/events.js';

/** A reader that takes events from a stretch. */
export interface StretchReader {
  /** The last event that it has handled. */
  position: bigint;
  /** How many it takes at a time. */
  readonly batch: number;
  /** The stretch to continue with after the current one; null if it is not known. */
  next: Stretch | null;
}

/** How many events that every reader has taken are kept for readers that come a little later. */
const keptForOthers = 1_000;
/** A reader that is further behind than this falls out. */
const maxEvents = 10_000;
/** The fewest events to drop at a time. */
const droppedAtOnce = 500;
/** How many events are fetched ahead of the foremost reader at least. */
const leastAhead = 500;
/** Two stretches that overlap and end no further apart than this become one. */
const nearlyLevel = 2_000;

/**
 * A decoded stretch of the log: every event of ours after `from` and up to `to`. One writer adds events to
 * its end, until it ends; any number of readers take them, each at its own pace. Events that no reader needs
 * any more are dropped, and so are events that only a reader needs that has fallen far behind.
 */
export class Stretch {
  /** Whether it has reached the head of the log, and whether it is a subscription there. */
  atHead = false;
  live = false;
  /** The last position that it covers. */
  to: bigint;
  /** Whether nothing more is added. */
  ended = false;
  /** Why it has ended; null if it goes on elsewhere. */
  failure: Error | null = null;
  #from: bigint;
  #events: LoggedEvent[] = [];
  readonly #readers = new Set<StretchReader>();
  readonly #bells = new EventEmitter<{ readonly more: []; readonly room: [] }>();
  readonly #abandoned = new AbortController();

  constructor(after: bigint) {
    this.#from = after;
    this.to = after;
    this.#bells.setMaxListeners(0);
  }

  /** Whether everything after a position is here, or will come. */
  leadsOnFrom(position: bigint): boolean {
    return !this.ended && !this.#abandoned.signal.aborted && this.#from <= position;
  }

  /** Aborts when the last reader has left. */
  get abandoned(): AbortSignal {
    return this.#abandoned.signal;
  }

  /** Whether nothing after this position has been dropped. */
  holds(position: bigint): boolean {
    return this.#from <= position;
  }

  /** Whether a reader that has read up to this position can go on here. */
  covers(position: bigint): boolean {
    return this.leadsOnFrom(position) && position <= this.to;
  }

  /** Whether the readers of another stretch can go on here: it reaches as far, or very soon will. */
  meets(other: Stretch): boolean {
    if (this.#from > other.to) return false;
    if (other.to <= this.to) return true;
    return other.#from <= this.to && other.#events.length - other.#indexAfter(this.to) <= nearlyLevel;
  }

  /** At most `limit` events after a position that it covers. */
  after(position: bigint, limit: number): readonly LoggedEvent[] {
    const first = this.#indexAfter(position);
    return this.#events.slice(first, first + limit);
  }

  /** Adds events to the end, without the ones that it has. */
  add(events: readonly LoggedEvent[]): void {
    for (const event of events) {
      if (event.position <= this.to) continue;
      this.#events.push(event);
      this.to = event.position;
    }
    this.#drop();
    this.#bells.emit('more');
  }

  /** Nothing more is added: because of a failure, or because another stretch goes on. */
  end(failure: Error | null, next: Stretch | null): void {
    this.ended = true;
    this.failure = failure;
    for (const reader of this.#readers) reader.next = next;
    this.#bells.emit('more');
  }

  join(reader: StretchReader): void {
    this.#readers.add(reader);
  }

  leave(reader: StretchReader): void {
    this.#readers.delete(reader);
    if (this.#readers.size === 0) this.#abandoned.abort('the stretch has no reader any more');
    this.#bells.emit('room');
  }

  /** The reader has handled everything up to the position. */
  advance(reader: StretchReader, position: bigint): void {
    reader.position = position;
    this.#drop();
    this.#bells.emit('room');
  }

  /** Resolves when events were added, when it has ended, or when the signal aborts. */
  async more(signal: AbortSignal): Promise<void> {
    if (!this.ended) await this.#rung('more', signal);
  }

  /** Resolves when the foremost reader has not much left to take, or there is no reader any more. */
  async room(): Promise<void> {
    while (!this.#abandoned.signal.aborted && this.#unread() >= this.#ahead())
      await this.#rung('room', this.#abandoned.signal);
  }

  /** Waits for a ring, or until the signal aborts. */
  async #rung(bell: 'more' | 'room', signal: AbortSignal): Promise<void> {
    await once(this.#bells, bell, { signal }).catch(() => undefined);
  }

  /** How many events the foremost reader has not handled. */
  #unread(): number {
    let foremost = this.#from;
    for (const { position } of this.#readers) if (position > foremost) foremost = position;
    return this.#events.length - this.#indexAfter(foremost);
  }

  #ahead(): number {
    let largest = 0;
    for (const { batch } of this.#readers) largest = Math.max(largest, batch);
    return Math.max(leastAhead, 2 * largest);
  }

  #drop(): void {
    let hindmost = this.to;
    for (const { position } of this.#readers) if (position < hindmost) hindmost = position;
    const excess = Math.max(this.#indexAfter(hindmost) - keptForOthers, this.#events.length - maxEvents);
    if (excess < droppedAtOnce) return;
    this.#from = this.#events[excess - 1]?.position ?? this.#from;
    this.#events = this.#events.slice(excess);
  }

  /** The index of the first event after a position. */
  #indexAfter(position: bigint): number {
    let [low, high] = [0, this.#events.length];
    while (low < high) {
      const middle = (low + high) >>> 1;
      if ((this.#events[middle]?.position ?? 0n) <= position) low = middle + 1;
      else high = middle;
    }
    return low;
  }
}
