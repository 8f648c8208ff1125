import type { Milliseconds } from '../../domain/ids.js';
import { TooContended } from './outcome.js';
import type { Clock, Entropy } from '../ports/system.js';

/** How long an attempt is repeated while other writers are faster. */
const contentionTimeout: Milliseconds = 5_000;

const firstPause: Milliseconds = 4;
const maxPause: Milliseconds = 200;

/**
 * Calls `attempt` until it returns a value; null means that another writer was faster, or that the outcome is
 * unknown. The first retry follows at once, later ones after a growing pause with jitter. Throws TooContended
 * when the second attempt or a later one ends after 5 s or more, and the errors of `attempt`.
 */
export const retry = async <T>(
  { clock, entropy }: { readonly clock: Clock; readonly entropy: Entropy },
  attempt: () => Promise<T | null>,
): Promise<T> => {
  const deadline = clock.monotonic() + contentionTimeout;
  const first = await attempt();
  if (first !== null) return first;
  for (let pause = firstPause; ; pause = Math.min(pause * 2, maxPause)) {
    const result = await attempt();
    if (result !== null) return result;
    if (clock.monotonic() >= deadline) throw new TooContended('other writers kept changing the same stream');
    await clock.sleep(entropy.below(pause) + 1);
  }
};
