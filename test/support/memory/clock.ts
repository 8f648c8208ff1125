import type { Clock } from '../../../application/ports/system.js';
import type { Instant, Milliseconds } from '../../../domain/ids.js';

interface Sleeper {
  readonly due: Milliseconds;
  /** Which fall-asleep it was. */
  readonly number: number;
  readonly wake: () => void;
  isAwake: boolean;
}

const isBefore = (one: Sleeper, other: Sleeper): boolean =>
  one.due < other.due || (one.due === other.due && one.number < other.number);

/**
 * Sleepers, the next one first: a binary heap. Those that were woken otherwise leave it when they come up.
 */
class Dormitory {
  readonly #heap: Sleeper[] = [];

  add(sleeper: Sleeper): void {
    const heap = this.#heap;
    let at = heap.push(sleeper) - 1;
    for (let up = (at - 1) >> 1; at > 0; up = (at - 1) >> 1) {
      const above = heap[up];
      if (above === undefined || isBefore(above, sleeper)) break;
      heap[at] = above;
      at = up;
    }
    heap[at] = sleeper;
  }

  next(): Sleeper | null {
    for (let first = this.#heap[0]; first !== undefined; first = this.#heap[0]) {
      if (!first.isAwake) return first;
      this.#removeFirst();
    }
    return null;
  }

  #removeFirst(): void {
    const heap = this.#heap;
    const last = heap.pop();
    if (last === undefined || heap.length === 0) return;
    let at = 0;
    for (let down = 1; down < heap.length; down = 2 * at + 1) {
      const left = heap[down];
      const right = heap[down + 1];
      const isRight = left !== undefined && right !== undefined && isBefore(right, left);
      const below = isRight ? right : left;
      if (below === undefined || isBefore(last, below)) break;
      heap[at] = below;
      at = isRight ? down + 1 : down;
    }
    heap[at] = last;
  }
}

/** A clock that stands still until it is advanced. */
export class VirtualClock implements Clock {
  #elapsed: Milliseconds = 0;
  /** `now` is this plus the elapsed time. */
  #start: Milliseconds;
  readonly #sleepers = new Dormitory();
  #slept = 0;
  #sleeping = 0;

  readonly #began: Milliseconds;

  constructor(start = '2026-03-02T15:00:00.000Z') {
    this.#start = Date.parse(start);
    this.#began = this.#start;
  }

  now(): Milliseconds {
    return this.#start + this.#elapsed;
  }

  instant(): Instant {
    return new Date(this.now()).toISOString() as Instant;
  }

  steady(): Milliseconds {
    return this.#began + this.#elapsed;
  }

  monotonic(): Milliseconds {
    return this.#elapsed;
  }

  sleep(time: Milliseconds, signal?: AbortSignal): Promise<void> {
    if (time <= 0 || signal?.aborted === true) return Promise.resolve();
    return new Promise((resolve) => {
      const wake = () => {
        sleeper.isAwake = true;
        this.#sleeping -= 1;
        signal?.removeEventListener('abort', wake);
        resolve();
      };
      const sleeper = { due: this.#elapsed + time, number: (this.#slept += 1), wake, isAwake: false };
      this.#sleepers.add(sleeper);
      this.#sleeping += 1;
      signal?.addEventListener('abort', wake, { once: true });
    });
  }

  /** How many sleepers there are. */
  get sleeping(): number {
    return this.#sleeping;
  }

  /** When the next sleeper is due, or null if there is none. */
  get nextDue(): Milliseconds | null {
    const next = this.#sleepers.next();
    return next === null ? null : this.#start + next.due;
  }

  /** Changes `now`, like setting the machine's clock. No sleeper wakes earlier or later because of it. */
  set(now: Milliseconds): void {
    this.#start = now - this.#elapsed;
  }

  /**
   * Moves the time forward and wakes sleepers in the order in which they are due. Sleepers that are due at
   * the same time wake in the order in which they fell asleep.
   */
  async advance(time: Milliseconds): Promise<void> {
    const end = this.#elapsed + time;
    await runMicrotasks();
    for (let next = this.#sleepers.next(); next !== null && next.due <= end; next = this.#sleepers.next()) {
      this.#elapsed = Math.max(this.#elapsed, next.due);
      next.wake();
      await runMicrotasks();
    }
    this.#elapsed = Math.max(this.#elapsed, end);
  }

  /**
   * Moves the time forward at once, as for a machine that stood still: all that is due by then wakes late.
   */
  skip(time: Milliseconds): void {
    this.#elapsed += time;
    for (
      let next = this.#sleepers.next();
      next !== null && next.due <= this.#elapsed;
      next = this.#sleepers.next()
    )
      next.wake();
  }

  /** Wakes those who are due next; false if nobody sleeps. */
  wakeNext(): boolean {
    const next = this.#sleepers.next();
    if (next === null) return false;
    this.#elapsed = Math.max(this.#elapsed, next.due);
    for (let same = this.#sleepers.next(); same?.due === next.due; same = this.#sleepers.next()) same.wake();
    return true;
  }
}

/** Lets everything go on that waits neither for the clock nor for I/O. */
const runMicrotasks = async () => {
  for (let turn = 0; turn < 100; turn++) await Promise.resolve();
};
