import type { Collection, IndexDescription } from 'mongodb';
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

export const counterIndexes: readonly IndexDescription[] = [
  { key: { until: 1 }, name: 'until', expireAfterSeconds: 0 },
];

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

const defaultTimeout: Milliseconds = 300;
/** How long MongoDB is not asked again after a failure. */
const pauseAfterFailure: Milliseconds = 1_000;

const windowOf = (now: Milliseconds): number => Math.floor(now / windowLength);

/**
 * Counts the requests to all processes together. Never fails: while MongoDB does not respond in time, the
 * fallback's counts apply.
 */
export class MongoRateLimiter implements RateLimiter {
  readonly #database: MongoDatabase;
  readonly #clock: Clock;
  readonly #fallback: RateLimiter;
  readonly #timeout: Milliseconds;
  readonly #hits: Batcher<Hit, number>;
  #awayUntil: Milliseconds = 0;
  /** The last window in which MongoDB missed a hit: in that window the fallback may know of more. */
  #incomplete = -1;

  constructor({ database, clock, fallback, timeout = defaultTimeout }: MongoRateLimiterOptions) {
    this.#database = database;
    this.#clock = clock;
    this.#fallback = fallback;
    this.#timeout = timeout;
    this.#hits = Batcher.lane(clock, (hits) => this.#countAll(hits));
  }

  async hit(subject: string, now: Milliseconds): Promise<number> {
    const own = await this.#fallback.hit(subject, now);
    const shared = await this.#shared(() => this.#hits.add({ subject, window: windowOf(now) }));
    if (shared === null) this.#incomplete = Math.max(this.#incomplete, windowOf(now));
    return this.#combine(own, shared, now);
  }

  /**
   * Returns the shared count alone if it is complete. Hits at the same time may be counted there in another
   * order than here, and the larger of both counts would be given to two of them.
   */
  #combine(own: number, shared: number | null, now: Milliseconds): number {
    if (shared === null) return own;
    return this.#incomplete === windowOf(now) ? Math.max(own, shared) : shared;
  }

  /** The count for all processes; null if there is no response in time. */
  async #shared(ask: () => Promise<number>): Promise<number | null> {
    if (this.#clock.monotonic() < this.#awayUntil) return null;
    const asked = ask().catch(() => null);
    const count = await withTimeout(this.#clock, this.#timeout, asked, () => null);
    if (count === null) this.#awayUntil = this.#clock.monotonic() + pauseAfterFailure;
    return count;
  }

  /** One call for each counter: of n hits on it, each gets a count of its own. */
  async #countAll(hits: readonly Hit[]): Promise<readonly number[]> {
    const counters = await this.#database.indexed<CounterRow>('rate_counters', counterIndexes);
    const ids = hits.map(({ subject, window }) => `${window} ${subject}`);
    const sizes = new Map<string, number>();
    for (const id of ids) sizes.set(id, (sizes.get(id) ?? 0) + 1);
    const counted = new Map(
      await Promise.all(
        [...sizes].map(
          async ([id, size]) => [id, await this.#increment(counters, id, size)] satisfies [string, number],
        ),
      ),
    );
    return ids.map((id) => {
      const count = (counted.get(id) ?? 0) + 1;
      counted.set(id, count);
      return count;
    });
  }

  /** Returns the count before. */
  async #increment(counters: Collection<CounterRow>, _id: string, by: number): Promise<number> {
    const until = new Date((Number.parseInt(_id, 10) + 2) * windowLength);
    for (;;) {
      const before = await counters.findOneAndUpdate(
        { _id },
        { $inc: { count: by } },
        { returnDocument: 'before' },
      );
      if (before !== null) return before.count;
      await this.#begin(counters, { _id, count: 0, until });
    }
  }

  /** Counting and inserting are two steps: some servers count an upsert twice that meets another one. */
  async #begin(counters: Collection<CounterRow>, row: CounterRow): Promise<void> {
    await isInserted(counters.insertOne(row));
  }
}
