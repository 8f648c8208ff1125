import type { Clock } from '../ports/system.js';

/** The time of a clock as of now, which goes on at the pace of its monotonic time, whatever it is set to. */
export const steadyClock = (clock: Pick<Clock, 'now' | 'monotonic'>): Pick<Clock, 'now'> => {
  const start = clock.now() - clock.monotonic();
  return { now: () => start + clock.monotonic() };
};

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
