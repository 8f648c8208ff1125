import type { Clock } from '../ports/system.js';
import { Instant } from '../../domain/ids.js';

/** The time of a clock as of now, which goes on at the pace of its monotonic time, whatever it is set to. */
export const steadyClock = (clock: Pick<Clock, 'now' | 'monotonic'>): Pick<Clock, 'now' | 'instant'> => {
  const start = clock.now() - clock.monotonic();
  const now = () => start + clock.monotonic();
  return { now, instant: () => Instant.parse(new Date(now()).toISOString()) };
};
