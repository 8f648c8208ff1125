import { setTimeout as pause } from 'node:timers/promises';
import { messageOf } from '../../../domain/errors.js';

const firstPause = 2;
const longestPause = 50;

/**
 * Waits until `condition` holds and returns its value: anything but `false`, `null` and `undefined`. A
 * condition that throws does not hold yet, so an `expect` can be the condition (give `true` after it). Throws
 * after `within` milliseconds with the last thing that was seen: no busy machine comes near the default. The one
 * place in the tests that waits by the clock.
 */
export const eventually = async <T>(
  condition: () => T | Promise<T>,
  { within = 20_000, what = 'the condition' }: { readonly within?: number; readonly what?: string } = {},
): Promise<Exclude<T, false | null | undefined>> => {
  const deadline = performance.now() + within;
  for (let wait = firstPause; ; wait = Math.min(wait * 2, longestPause)) {
    let last: string;
    try {
      const seen = await condition();
      if (seen !== false && seen !== null && seen !== undefined)
        return seen as Exclude<T, false | null | undefined>;
      last = `it gave ${String(seen)}`;
    } catch (error) {
      last = messageOf(error);
    }
    if (performance.now() + wait > deadline)
      throw new Error(`${what} did not hold within ${within} ms: ${last}`);
    await pause(wait);
  }
};
