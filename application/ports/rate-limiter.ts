import type { Milliseconds } from '../../domain/ids.js';

/** Counts requests per clock minute. (decision 52: the window of the rate limit) */
export interface RateLimiter {
  /**
   * Counts one request of `subject` in the minute of `now`, by a steady clock. Returns how many there are,
   * including this one.
   */
  hit(subject: string, now: Milliseconds): Promise<number>;
}

export const windowLength: Milliseconds = 60_000;
