import { setTimeout as pause } from 'node:timers/promises';
import { messageOf } from '../../../domain/errors.js';

const firstPause = 2;
const maxPause = 50;
const maxRest = 500;

/**
 * Waits until `condition` holds and returns its value: anything but `false`, `null` and `undefined`. A
 * condition that throws does not hold yet, so an `expect` can be the condition (give `true` after it). Throws
 * after `within` milliseconds with the last thing that was seen. On a machine that stalls, each look takes
 * longer than its pause should: such time is counted as twice the pause at most, so the wait grows as
 * everything else does. The one place in the tests that waits by the clock.
 */
export const eventually = async <T>(
  condition: () => T | Promise<T>,
  { within = 20_000, what = 'the condition' }: { readonly within?: number; readonly what?: string } = {},
): Promise<Exclude<T, false | null | undefined>> => {
  let waited = 0;
  for (let wait = firstPause; ; wait = Math.min(wait * 2, maxPause)) {
    let last: string;
    const looked = performance.now();
    try {
      const seen = await condition();
      if (seen !== false && seen !== null && seen !== undefined)
        return seen as Exclude<T, false | null | undefined>;
      last = `it gave ${String(seen)}`;
    } catch (error) {
      last = messageOf(error);
    }
    if (waited + wait > within) throw new Error(`${what} did not hold within ${within} ms: ${last}`);
    // At most half of the time is spent on looking, which may itself delay what is waited for.
    await pause(Math.max(wait, Math.min(performance.now() - looked, maxRest)));
    waited += Math.min(performance.now() - looked, 2 * wait);
  }
};
