import type { Milliseconds } from '../../domain/ids.js';
import type { Clock } from '../ports/system.js';

const overdue = Symbol('overdue');
/** The reason of the abort: without one, each abort would make an error with its stack. */
const settled = 'settled';

/**
 * Resolves with the promise's value; if that takes longer than `time`, with what `late` returns or throws.
 * The work behind the promise goes on.
 */
export const withTimeout = async <T, L>(
  clock: Clock,
  time: Milliseconds,
  promise: Promise<T>,
  late: () => L,
): Promise<T | L> => {
  const waiting = new AbortController();
  try {
    const alarm = clock.sleep(time, waiting.signal).then((): typeof overdue => overdue);
    const outcome = await Promise.race([promise, alarm]);
    return outcome === overdue ? late() : outcome;
  } finally {
    waiting.abort(settled);
  }
};
