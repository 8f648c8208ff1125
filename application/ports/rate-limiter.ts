import type { Milliseconds } from '../../domain/ids.js';

/** Requests counted in clock-minute windows. (decision 52) */
export interface RateLimiter {
  /** Counts one request of `subject` in the window that holds `now`; answers how many there were with it. */
  hit(subject: string, now: Milliseconds): Promise<number>;
  /** How many there were in the window that holds `now`. */
  count(subject: string, now: Milliseconds): Promise<number>;
}

export const windowLength: Milliseconds = 60_000;
