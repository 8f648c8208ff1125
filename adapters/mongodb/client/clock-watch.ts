import { maxDrift, type Clock } from '../../../application/ports/system.js';
import { untilAborted } from '../../../application/timing/until-aborted.js';
import type { Milliseconds } from '../../../domain/ids.js';
import { aheadOf, type MongoDatabase } from './database.js';

/** How far the clocks of a process and of the database may differ before it is reported. */
export const toleratedSkew: Milliseconds = 30_000;
const checkInterval: Milliseconds = 10_000;
/** How often to look whether the machine was suspended, or its clock set. */
const lookInterval: Milliseconds = 1_000;
const repeatInterval: Milliseconds = 3_600_000;

export interface ClockWatchOptions {
  readonly database: Pick<MongoDatabase, 'serverTime'>;
  readonly clock: Clock;
  /**
   * Called with the skew in ms (negative: this clock is slow) when it first exceeds the limit, every hour
   * while it does, and with 0 when it no longer does.
   */
  readonly onSkew: (ahead: Milliseconds) => void;
  readonly onError: (error: unknown) => void;
}

/**
 * Lets this process go by the database's time, as all others do: no two of them compare times of clocks that
 * differ, and a clock that is set changes nothing. Until the signal aborts. Never rejects.
 */
export const watchClock = (
  { database, clock, onSkew, onError }: ClockWatchOptions,
  signal: AbortSignal,
): Promise<void> => {
  let reportedAt: Milliseconds | null = null;
  let nextAt: Milliseconds = -Infinity;
  return untilAborted({ clock, signal, pause: lookInterval, onError }, async () => {
    const began = clock.monotonic();
    if (began < nextAt && clock.isAgreed?.() !== false) return;
    const drift = clock.drift?.() ?? 0;
    const there = await database.serverTime();
    // Suspended meanwhile: what was asked is of before.
    if (Math.abs((clock.drift?.() ?? 0) - drift) >= maxDrift) return;
    // The clock may have been set meanwhile.
    const ahead = aheadOf(there, clock.now() - (clock.monotonic() - began), clock.now());
    clock.agree?.(-ahead);
    const now = clock.monotonic();
    nextAt = now + checkInterval;
    if (Math.abs(ahead) <= toleratedSkew) {
      if (reportedAt !== null) onSkew(0);
      reportedAt = null;
    } else if (reportedAt === null || now - reportedAt >= repeatInterval) {
      reportedAt = now;
      onSkew(ahead);
    }
  });
};
