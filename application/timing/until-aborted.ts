import type { Milliseconds } from '../../domain/ids.js';
import type { Clock } from '../ports/system.js';

export interface Repetition {
  readonly clock: Clock;
  readonly signal: AbortSignal;
  readonly pause: Milliseconds;
  /** How long to wait after a failure; `pause` if it is not given. */
  readonly pauseAfterError?: Milliseconds;
  readonly onError: (error: unknown) => void;
}

/**
 * Repeats the work until the signal aborts, with a pause after each time. A failure is reported, and the work
 * is tried again. Never rejects.
 */
export const untilAborted = async (
  { clock, signal, pause, pauseAfterError = pause, onError }: Repetition,
  work: () => Promise<unknown>,
): Promise<void> => {
  while (!signal.aborted) {
    let rest = pause;
    try {
      await work();
    } catch (error) {
      onError(error);
      rest = pauseAfterError;
    }
    await clock.sleep(rest, signal);
  }
};
