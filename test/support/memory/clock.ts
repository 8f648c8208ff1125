import type { Clock } from '../../../application/ports/system.js';
import type { Instant, Milliseconds } from '../../../domain/ids.js';

interface Sleeper {
  readonly due: Milliseconds;
  readonly wake: () => void;
}

/** A clock that stands still until it is advanced. */
export class VirtualClock implements Clock {
  #elapsed: Milliseconds = 0;
  /** `now` is this plus the elapsed time. */
  #start: Milliseconds;
  readonly #sleepers = new Set<Sleeper>();

  constructor(start = '2026-03-02T15:00:00.000Z') {
    this.#start = Date.parse(start);
  }

  now(): Milliseconds {
    return this.#start + this.#elapsed;
  }

  instant(): Instant {
    return new Date(this.now()).toISOString() as Instant;
  }

  monotonic(): Milliseconds {
    return this.#elapsed;
  }

  sleep(time: Milliseconds, signal?: AbortSignal): Promise<void> {
    if (time <= 0 || signal?.aborted === true) return Promise.resolve();
    return new Promise((resolve) => {
      const wake = () => {
        this.#sleepers.delete(sleeper);
        signal?.removeEventListener('abort', wake);
        resolve();
      };
      const sleeper = { due: this.#elapsed + time, wake };
      this.#sleepers.add(sleeper);
      signal?.addEventListener('abort', wake, { once: true });
    });
  }

  /** How many sleepers there are. */
  get sleeping(): number {
    return this.#sleepers.size;
  }

  /** When the next sleeper is due, or null if there is none. */
  get nextDue(): Milliseconds | null {
    const next = this.#next();
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
    for (let next = this.#next(); next !== null && next.due <= end; next = this.#next()) {
      this.#elapsed = Math.max(this.#elapsed, next.due);
      next.wake();
      await runMicrotasks();
    }
    this.#elapsed = Math.max(this.#elapsed, end);
  }

  #next(): Sleeper | null {
    let next: Sleeper | null = null;
    for (const sleeper of this.#sleepers) if (next === null || sleeper.due < next.due) next = sleeper;
    return next;
  }
}

/** Lets everything go on that waits neither for the clock nor for I/O. */
const runMicrotasks = async () => {
  for (let turn = 0; turn < 100; turn++) await Promise.resolve();
};
