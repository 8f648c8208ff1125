import { Readable } from 'node:stream';
import type { Clock } from '../../application/ports/system.js';
import type { Milliseconds } from '../../domain/ids.js';

/** A stream of the client: a read or a subscription. */
export interface Source<T> extends AsyncIterable<T> {
  on(event: 'error', listener: (error: Error) => void): unknown;
  on(event: string, listener: (...values: unknown[]) => void): unknown;
  destroy(error?: Error): unknown;
}

export interface Supervision {
  readonly clock: Clock;
  /** How long the source may be silent. */
  readonly time: Milliseconds;
  /** Asked when the source has been silent that long while its consumer waits. An error ends the source. */
  readonly onSilence: () => Promise<Error | null>;
  /** Cancels the source's call. Called at the end, however it ends. */
  readonly cancel: () => Promise<void>;
  /** Each ends the source with its reason. */
  readonly signals: readonly AbortSignal[];
}

/** The items of a source. Each is yielded before the next is taken. (docs/engines.md#eventstoredb) */
export async function* supervised<T>(
  source: Source<T>,
  { clock, time, onSilence, cancel, signals }: Supervision,
): AsyncGenerator<T, void, undefined> {
  const ended = new AbortController();
  let moves = 0;
  let isConsumerWaiting = true;
  const isSilent = (seen: number) => isConsumerWaiting && moves === seen && !ended.signal.aborted;
  const watch = async (): Promise<void> => {
    for (let seen = -1; !ended.signal.aborted; await clock.sleep(time, ended.signal)) {
      if (isSilent(seen)) {
        const error = await onSilence();
        if (error !== null && isSilent(seen)) source.destroy(error);
      }
      seen = moves;
    }
  };
  // A source without an error listener ends the process, even after the iteration is over.
  source.on('error', () => undefined);
  // The client keeps a call, and waits for it when it closes, until what it has brought is read.
  source.on('unpipe', (call) => call instanceof Readable && call.resume());
  const removals = signals.map((signal) => {
    const stop = () => source.destroy(asError(signal.reason));
    if (signal.aborted) stop();
    signal.addEventListener('abort', stop, { once: true });
    return () => signal.removeEventListener('abort', stop);
  });
  watch().catch((error: unknown) => source.destroy(asError(error)));
  try {
    for await (const item of source) {
      moves += 1;
      isConsumerWaiting = false;
      yield item;
      isConsumerWaiting = true;
      moves += 1;
    }
  } finally {
    ended.abort(noError);
    for (const remove of removals) remove();
    source.destroy();
    // Leaving the loop does not cancel the call. Cancelling isn't awaited, because it fails for a call that
    // never began.
    cancel().catch(() => undefined);
  }
}

/** A reason for aborting, so that no error has to be made for it. */
const noError = 'the iteration is over';

const asError = (reason: unknown): Error => (reason instanceof Error ? reason : new Error(String(reason)));
