import type { Clock } from '../../application/ports/system.js';
import type { Milliseconds } from '../../domain/ids.js';

/** What came to nothing within its time. */
export class Overdue extends Error {
  override readonly name = 'Overdue';
}

/** Why a wait was cut short. Given, so that no error has to be made for it. */
const done = 'done';

/** A stream of the client: a read or a subscription. */
export interface Source<T> extends AsyncIterable<T> {
  on(event: 'error', listener: (error: Error) => void): unknown;
  destroy(error?: Error): unknown;
}

const asError = (reason: unknown): Error => (reason instanceof Error ? reason : new Error(String(reason)));

export interface Supervision {
  readonly clock: Clock;
  readonly time: Milliseconds;
  readonly silent: () => Promise<Error | null>;
  readonly cancel: () => Promise<void>;
  readonly signals: readonly AbortSignal[];
}

/**
 * The items of a source, each handed over before the next is taken. `silent` is asked whenever nothing has
 * come for the time while the consumer waits; an error that it answers ends the source, and so does the
 * reason of a signal that aborts. `cancel` is called at the end, however it ends.
 */
export async function* supervised<T>(
  source: Source<T>,
  { clock, time, silent, cancel, signals }: Supervision,
): AsyncGenerator<T, void, undefined> {
  const ended = new AbortController();
  let moves = 0;
  let waiting = true;
  const standsStill = (seen: number) => waiting && moves === seen && !ended.signal.aborted;
  const watch = async (): Promise<void> => {
    for (let seen = -1; !ended.signal.aborted; await clock.sleep(time, ended.signal)) {
      if (standsStill(seen)) {
        const trouble = await silent();
        if (trouble !== null && standsStill(seen)) source.destroy(trouble);
      }
      seen = moves;
    }
  };
  // A source without a listener for its errors ends the process, also after the iteration is over.
  source.on('error', () => undefined);
  const stops = signals.map((signal) => {
    const stop = () => source.destroy(asError(signal.reason));
    if (signal.aborted) stop();
    signal.addEventListener('abort', stop, { once: true });
    return () => signal.removeEventListener('abort', stop);
  });
  watch().catch((error: unknown) => source.destroy(asError(error)));
  try {
    for await (const item of source) {
      moves += 1;
      waiting = false;
      yield item;
      waiting = true;
      moves += 1;
    }
  } finally {
    ended.abort(done);
    for (const remove of stops) remove();
    source.destroy();
    // Leaving the loop does not cancel the call. It is not awaited: a call that never began can't be
    // cancelled.
    cancel().catch(() => undefined);
  }
}
