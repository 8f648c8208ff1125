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

interface Hit {
  readonly subject: string;
  readonly window: number;
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
export class MongoRateLimiter implements RateLimiter {
  readonly #hits: Batcher<Hit, number>;
  #awayUntil: Milliseconds = 0;
  /** The last window in which MongoDB missed a hit: in that window the fallback may know of more. */
  #incomplete = -1;

  constructor(private readonly options: MongoRateLimiterOptions) {
    this.#hits = Batcher.lane(options.clock, (hits) => this.#countAll(hits));
  }

  /**
   * Returns the shared count alone if it is complete. Hits at the same time may be counted there in another
   * order than here, and the larger of both counts would be given to two of them.
   */
  async hit(subject: string, now: Milliseconds): Promise<number> {
    const window = Math.floor(now / windowLength);
    const own = await this.options.fallback.hit(subject, now);
    const shared = await this.#shared({ subject, window });
    if (shared === null) {
      this.#incomplete = Math.max(this.#incomplete, window);
      return own;
    }
    return this.#incomplete === window ? Math.max(own, shared) : shared;
  }

  /** The count for all processes; null if there is no response in time. */
  async #shared(hit: Hit): Promise<number | null> {
    const { clock, timeout = usualTimeout } = this.options;
    if (clock.monotonic() < this.#awayUntil) return null;
    const asked = this.#hits.add(hit).catch(() => null);
    const count = await withTimeout(clock, timeout, asked, () => null);
    if (count === null) this.#awayUntil = clock.monotonic() + pauseAfterFailure;
    return count;
  }

  /** One call for each counter: of n hits on it, each gets a count of its own. */
  async #countAll(hits: readonly Hit[]): Promise<readonly number[]> {
    const counters = await this.options.database.indexed<CounterRow>('rate_counters');
    const ids = hits.map(({ subject, window }) => `${window} ${subject}`);
    const sizes = new Map<string, number>();
    for (const id of ids) sizes.set(id, (sizes.get(id) ?? 0) + 1);
    const counting = [...sizes].map(
      async ([id, size]) => [id, await this.#increment(counters, id, size)] as const,
    );
    const counted = new Map(await Promise.all(counting));
    return ids.map((id) => {
      const count = (counted.get(id) ?? 0) + 1;
      counted.set(id, count);
      return count;
    });
  }

  /**
   * Returns the count before. Counting and inserting are two steps: some servers count an upsert twice that
   * meets another one.
   */
  async #increment(counters: Collection<CounterRow>, _id: string, by: number): Promise<number> {
    const until = new Date((Number.parseInt(_id, 10) + 2) * windowLength);
    for (;;) {
      const before = await counters.findOneAndUpdate(
        { _id },
        { $inc: { count: by } },
        { returnDocument: 'before' },
      );
      if (before !== null) return before.count;
      await isInserted(counters.insertOne({ _id, count: 0, until }));
    }
  }
}
