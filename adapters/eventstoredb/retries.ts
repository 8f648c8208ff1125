import type { Milliseconds } from '../../domain/ids.js';
import type { Context } from './context.js';
import { isAway, isNotReady } from './failures.js';

/** The longest interval between attempts to reach a server. */
export const maxRetryInterval: Milliseconds = 250;

interface Tried {
  /** When the first try began, by the monotonic clock. */
  readonly began: Milliseconds;
  /** How many tries failed before this one. */
  readonly failures: number;
  /** Whether one of them was answered by a server that was not ready. */
  readonly wasStarting: boolean;
}

/**
 * How long to wait before a retry of a call that certainly had no effect; null: give up. A server that is
 * starting or has lost its leader, and a cluster with a node less, are given their time. So is a server that
 * was starting and can't be reached now: each of its refusals makes the client close its connection, also
 * under calls that other requests are about to make. A single server that is gone is asked once more at once,
 * because the client learns from the first failure that it has to connect again.
 * (docs/engines.md#a-server-that-is-away)
 */
export const pauseBefore = (
  { connection, clock, times, backoff }: Context,
  error: unknown,
  { began, failures, wasStarting }: Tried,
): Milliseconds | null => {
  if (isNotReady(error) || ((connection.isCluster || wasStarting) && isAway(error))) {
    const pause = Math.min(backoff(failures), maxRetryInterval);
    return clock.monotonic() + pause - began < times.patience ? pause : null;
  }
  return isAway(error) && failures === 0 ? 0 : null;
};
