import { setImmediate as turn } from 'node:timers/promises';
import type { VirtualClock } from '../memory/clock.js';

/**
 * Runs a world, advancing its clock when everything waits for it, until the work is done or nothing moves any
 * more: then its process is dead.
 */
export const drive = async <T>(clock: VirtualClock, work: Promise<T>): Promise<T | 'dead'> => {
  const box: { outcome?: () => T } = {};
  work.then(
    (value) => (box.outcome = () => value),
    (error: unknown) =>
      (box.outcome = () => {
        throw error;
      }),
  );
  for (;;) {
    await turn();
    if (box.outcome !== undefined) return box.outcome();
    if (!clock.wakeNext()) return 'dead';
  }
};
