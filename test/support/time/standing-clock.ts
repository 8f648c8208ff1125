import type { Clock } from '../../../application/ports/system.js';
import type { Instant, Milliseconds } from '../../../domain/ids.js';

/**
 * A clock that stands still until it is set, and whose sleepers wake at once: the time that they wanted to
 * sleep passes for time limits alone.
 */
export const standingClock = (start: Milliseconds): Clock & { readonly set: (now: Milliseconds) => void } => {
  let now = start;
  let slept = 0;
  return {
    now: () => now,
    instant: () => new Date(now).toISOString() as Instant,
    steady: () => start + slept,
    monotonic: () => start + slept,
    sleep: (time) => Promise.resolve(void (slept += time)),
    set: (next) => void (now = next),
  };
};
