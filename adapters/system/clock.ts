import { maxDrift, type Clock } from '../../application/ports/system.js';
import type { Instant, Milliseconds } from '../../domain/ids.js';

/** The longest time that a timer can take. A longer sleep is made of several timers. */
const maxTimer: Milliseconds = 2 ** 31 - 1;

const timer = (time: Milliseconds, signal: AbortSignal | undefined): Promise<void> =>
  new Promise((resolve) => {
    const wake = () => {
      clearTimeout(handle);
      signal?.removeEventListener('abort', wake);
      resolve();
    };
    const handle = setTimeout(wake, time);
    signal?.addEventListener('abort', wake, { once: true });
  });

export class SystemClock implements Clock {
  #formatted: { readonly at: Milliseconds; readonly instant: Instant } = {
    at: Number.NaN,
    instant: '' as Instant,
  };

  /** By how much `now` is ahead of the monotonic clock, if it was agreed on. */
  #agreed: Milliseconds | null = null;

  readonly #began: Milliseconds = this.drift();
  /** Of the moment at which it was agreed on. */
  #drift: Milliseconds = this.#began;

  now(): Milliseconds {
    return this.#agreed === null ? Date.now() : this.steady();
  }

  steady(): Milliseconds {
    return Math.floor((this.#agreed ?? this.#began) + performance.now());
  }

  agree(by: Milliseconds): void {
    this.#drift = this.drift();
    this.#agreed = (this.#agreed ?? this.#drift) + by;
  }

  isAgreed(): boolean {
    return this.#agreed === null || Math.abs(this.drift() - this.#drift) < maxDrift;
  }

  drift(): Milliseconds {
    return Date.now() - performance.now();
  }

  /** Formatted once per millisecond: a busy service asks several times in each. */
  instant(): Instant {
    const now = this.now();
    if (now !== this.#formatted.at)
      this.#formatted = { at: now, instant: new Date(now).toISOString() as Instant };
    return this.#formatted.instant;
  }

  monotonic(): Milliseconds {
    return Math.floor(performance.now());
  }

  async sleep(time: Milliseconds, signal?: AbortSignal): Promise<void> {
    const end = performance.now() + time;
    for (let left = time; left > 0 && signal?.aborted !== true; left = Math.ceil(end - performance.now()))
      await timer(Math.min(left, maxTimer), signal);
  }
}
