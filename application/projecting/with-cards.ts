import type { LoggedEvent } from '../../domain/events.js';
import type { Milliseconds } from '../../domain/ids.js';
import type { Clock } from '../ports/system.js';

type Batch = readonly LoggedEvent[];

/** The longest that a spend waits for its card: many times an append. */
const maxWait: Milliseconds = 100;

const isSpend = ({ type }: LoggedEvent): boolean => type === 'CreditSpent';

/**
 * The same events in larger batches: spends alone wait for what follows them, the event of their card as a
 * rule, so that one save has both. A reader waits for the card, and for no spend.
 */
export async function* withCards(
  batches: AsyncIterable<Batch>,
  clock: Clock,
): AsyncGenerator<Batch, void, undefined> {
  const source = batches[Symbol.asyncIterator]();
  const ask = (): Promise<IteratorResult<Batch>> => {
    const asked = source.next();
    asked.catch(() => undefined);
    return asked;
  };
  let held: Batch = [];
  let due: Milliseconds = 0;
  const overdue = (): Promise<null> => clock.sleep(due - clock.monotonic()).then(() => null);
  let next = ask();
  try {
    for (;;) {
      const came = await (held.length === 0 ? next : Promise.race([next, overdue()]));
      if (came?.done === true) break;
      if (held.length === 0) due = clock.monotonic() + maxWait;
      if (came !== null) held = [...held, ...came.value];
      if (came === null || !held.every(isSpend)) {
        yield held;
        held = [];
      }
      if (came !== null) next = ask();
    }
    if (held.length > 0) yield held;
  } finally {
    // One that waits for events ends with the reader's signal, not now.
    source.return?.().catch(() => undefined);
  }
}
