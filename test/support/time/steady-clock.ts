import type { Clock } from '../../../application/ports/system.js';

/** The time of a clock as of now, which goes on at the pace of its monotonic time, whatever it is set to. */
export const steadyClock = (clock: Pick<Clock, 'now' | 'monotonic'>): Pick<Clock, 'now'> => {
  const start = clock.now() - clock.monotonic();
  return { now: () => start + clock.monotonic() };
};
