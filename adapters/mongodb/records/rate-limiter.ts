import type { Collection } from 'mongodb';
import { windowLength, type RateLimiter } from '../../../application/ports/rate-limiter.js';
import type { Clock } from '../../../application/ports/system.js';
import { withTimeout } from '../../../application/timing/with-timeout.js';
import type { Milliseconds } from '../../../domain/ids.js';
import { Batcher } from '../client/batcher.js';
import type { MongoDatabase } from '../client/database.js';
import { isInserted } from '../client/refusals.js';

interface CounterRow {
  /** The number of the window, and the subject. */
  readonly _id: string;
  readonly count: number;
  /** The server deletes the row some time after this. */
  readonly until: Date;
}

export interface MongoRateLimiterOptions {
  readonly database: MongoDatabase;
  readonly clock: Clock;
  /** Always counts this process's requests, and counts alone while MongoDB is away. */
  readonly fallback: RateLimiter;
  /** How long a request waits for its count at most. */
  readonly timeout?: Milliseconds;
}

const usualTimeout: Milliseconds = 300;
/** How long MongoDB is not asked again after a failure. */
const pauseAfterFailure: Milliseconds = 1_000;

/**
 * Counts the requests to all processes together. Never fails: while MongoDB does not respond in time, the
 * fallback's counts apply.
 */
export const mongoRateLimiter = ({
  database,
  clock,
  fallback,
  timeout = usualTimeout,
}: MongoRateLimiterOptions): RateLimiter => {
  let awayUntil: Milliseconds = 0;
  /** The last window in which MongoDB missed a hit: in that window the fallback may know of more. */
  let incomplete = -1;

  /**
   * Returns the count before. Counting and inserting are two steps: some servers count an upsert twice that
   * meets another one.
   */
  const increment = async (counters: Collection<CounterRow>, _id: string, by: number): Promise<number> => {
    const until = new Date((Number.parseInt(_id, 10) + 2) * windowLength);
    const counted = { $inc: { count: by } };
    for (;;) {
      const before = await counters.findOneAndUpdate({ _id }, counted, { returnDocument: 'before' });
      if (before !== null) return before.count;
      await isInserted(counters.insertOne({ _id, count: 0, until }));
    }
  };

  /** One call for each counter: of n hits on it, each gets a count of its own. `ids`: of the counters. */
  const hits = Batcher.lane(clock, async (ids: readonly string[]): Promise<readonly number[]> => {
    const counters = await database.indexed<CounterRow>('rate_counters');
    const sizes = new Map<string, number>();
    for (const id of ids) sizes.set(id, (sizes.get(id) ?? 0) + 1);
    const counting = [...sizes].map(async ([id, size]) => [id, await increment(counters, id, size)] as const);
    const counted = new Map(await Promise.all(counting));
    return ids.map((id) => {
      const count = (counted.get(id) ?? 0) + 1;
      counted.set(id, count);
      return count;
    });
  });

  /** The count for all processes; null if there is no response in time. */
  const countShared = async (id: string): Promise<number | null> => {
    if (clock.monotonic() < awayUntil) return null;
    const asked = hits.add(id).catch(() => null);
    const count = await withTimeout(clock, timeout, asked, () => null);
    if (count === null) awayUntil = clock.monotonic() + pauseAfterFailure;
    return count;
  };

  return {
    /**
     * Returns the shared count alone if it is complete. Hits at the same time may be counted there in another
     * order than here, and the larger of both counts would be given to two of them.
     */
    hit: async (subject, now) => {
      const window = Math.floor(now / windowLength);
      const own = await fallback.hit(subject, now);
      const shared = await countShared(`${window} ${subject}`);
      if (shared === null) {
        incomplete = Math.max(incomplete, window);
        return own;
      }
      return incomplete === window ? Math.max(own, shared) : shared;
    },
  };
};
