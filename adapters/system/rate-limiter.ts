import { RateLimiterMemory } from 'rate-limiter-flexible';
import { windowLength, type RateLimiter } from '../../application/ports/rate-limiter.js';
import type { Milliseconds } from '../../domain/ids.js';

const windowOf = (subject: string, now: Milliseconds) => `${Math.floor(now / windowLength)} ${subject}`;

/** Counts the requests of this process. A window's counts are kept at least until the window is over. */
export class LocalRateLimiter implements RateLimiter {
  readonly #windows = new RateLimiterMemory({ keyPrefix: '', points: 0, duration: windowLength / 1000 + 1 });

  async hit(subject: string, now: Milliseconds): Promise<number> {
    return (await this.#windows.penalty(windowOf(subject, now))).consumedPoints;
  }
}
