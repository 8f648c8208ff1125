import type { Milliseconds } from '../../domain/ids.js';
import type { DeliveryLog } from '../ports/delivery-log.js';
import type { DeliveryQueue } from '../ports/delivery-queue.js';
import type { Clock } from '../ports/system.js';
import { windowOf, type DeliveryPolicy } from './public-deliveries.js';
import { untilAborted } from '../timing/until-aborted.js';

export interface UpkeepDeps {
  readonly log: Pick<DeliveryLog, 'dropExpired' | 'continueRedrives' | 'removeEnded'>;
  readonly queue: DeliveryQueue;
  readonly clock: Clock;
  /** By which attempts are due and windows end. */
  readonly dueClock: Pick<Clock, 'now'>;
  readonly policy: DeliveryPolicy;
  readonly keep: Milliseconds;
}

const usualPause: Milliseconds = 60_000;
const removalPause: Milliseconds = 600_000;
const failurePause: Milliseconds = 1_000;

/**
 * How late the end of a window may be noticed: a tenth of the window, at most a minute.
 */
const dropExpiredEvery = (policy: DeliveryPolicy): Milliseconds =>
  Math.min(usualPause, Math.max(1_000, windowOf(policy) / 10));

/**
 * Does work on many deliveries, some at a time and after the answer: drops the leftovers of deleted and
 * disabled endpoints, finishes redrives, removes long-ended deliveries. Until the signal aborts; any number
 * of processes may do it.
 */
export const keepDeliveries = async (
  { log, queue, clock, dueClock, policy, keep }: UpkeepDeps,
  signal: AbortSignal,
  report: (error: unknown) => void,
): Promise<void> => {
  const repeat = (pause: Milliseconds, work: () => Promise<unknown>): Promise<void> =>
    untilAborted({ clock, signal, pause, pauseAfterError: failurePause, onError: report }, work);
  const finishRedrives = async (): Promise<void> => {
    const now = dueClock.now();
    const endpoints = await log.continueRedrives();
    await queue.announce(
      [...endpoints].map((endpoint) => ({ endpoint, delivery: null, attempt: 0, due: now })),
    );
  };
  await Promise.all([
    repeat(dropExpiredEvery(policy), () => log.dropExpired(dueClock.now())),
    repeat(dropExpiredEvery(policy), finishRedrives),
    repeat(Math.min(removalPause, keep), () => log.removeEnded(clock.now() - keep)),
  ]);
};
