import type { Clock } from '../../../application/ports/system.js';
import type { Instant, Milliseconds } from '../../../domain/ids.js';

interface Sleeper {
  readonly due: Milliseconds;
  readonly wake: () => void;
}

/** Lets everything that can go on without the clock go on, as far as it needs no I/O. */
const settle = async () => {
  for (let turn = 0; turn < 100; turn++) await Promise.resolve();
};

/** A clock that stands still until it is advanced. */
export class VirtualClock implements Clock {
  #now: Milliseconds;
  readonly #sleepers = new Set<Sleeper>();

  constructor(start = '2026-03-02T15:00:00.000Z') {
    this.#now = Date.parse(start);
  }

  now(): Milliseconds {
    return this.#now;
  }

  instant(): Instant {
    return new Date(this.#now).toISOString() as Instant;
  }

  sleep(time: Milliseconds, signal?: AbortSignal): Promise<void> {
    if (time <= 0 || signal?.aborted === true) return Promise.resolve();
    return new Promise((resolve) => {
      const wake = () => {
        this.#sleepers.delete(sleeper);
        signal?.removeEventListener('abort', wake);
        resolve();
      };
      const sleeper = { due: this.#now + time, wake };
      this.#sleepers.add(sleeper);
      signal?.addEventListener('abort', wake, { once: true });
    });
  }

  /** How many sleep now. */
  get sleeping(): number {
    return this.#sleepers.size;
  }

  /** When the next sleeper is due, or null where nobody sleeps. */
  get nextDue(): Milliseconds | null {
    return this.#next()?.due ?? null;
  }

  /**
   * Moves the time forward and wakes sleepers in the order in which they are due, those due together in the
   * order in which they went to sleep.
   */
  async advance(time: Milliseconds): Promise<void> {
    const end = this.#now + time;
    await settle();
    for (let next = this.#next(); next !== null && next.due <= end; next = this.#next()) {
      this.#now = Math.max(this.#now, next.due);
      next.wake();
      await settle();
    }
    this.#now = Math.max(this.#now, end);
  }

  #next(): Sleeper | null {
    let next: Sleeper | null = null;
    for (const sleeper of this.#sleepers) if (next === null || sleeper.due < next.due) next = sleeper;
    return next;
  }
}
