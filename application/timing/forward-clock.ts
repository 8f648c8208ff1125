import type { Clock } from '../ports/system.js';

/** The time of a clock; while that is set back, it goes on at the pace of its monotonic time. */
export const forwardClock = (clock: Pick<Clock, 'now' | 'monotonic'>): Pick<Clock, 'now'> => {
  let start = -Infinity;
  return {
    now: () => {
      const elapsed = clock.monotonic();
      start = Math.max(start, clock.now() - elapsed);
      return start + elapsed;
    },
  };
};
