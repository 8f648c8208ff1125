import type { Clock } from '../../../application/ports/system.js';
import type { Instant, Milliseconds } from '../../../domain/ids.js';

/** A clock that stands still until it is set, and whose sleepers wake at once. */
export const standingClock = (start: Milliseconds): Clock & { readonly set: (now: Milliseconds) => void } => {
  let now = start;
  return {
    now: () => now,
    instant: () => new Date(now).toISOString() as Instant,
    sleep: () => Promise.resolve(),
    set: (next) => void (now = next),
  };
};
