import { windowLength, type RateLimiter } from '../../application/ports/rate-limiter.js';
import type { Clock } from '../../application/ports/system.js';
import { within } from '../../application/within.js';
import type { Milliseconds } from '../../domain/ids.js';
import { isDuplicate, type MongoDatabase } from './database.js';

interface CounterRow {
  /** The window's number and the subject. */
  readonly _id: string;
  readonly count: number;
  /** The server removes rows some time after this. */
  readonly until: Date;
}

export interface MongoRateLimiterOptions {
  readonly database: MongoDatabase;
  readonly clock: Clock;
  /** Counts what this process sees, always: what it knows itself still counts while MongoDB is away. */
  readonly fallback: RateLimiter;
  /** The longest that a request waits for its count. */
  readonly patience?: Milliseconds;
}

const usualPatience: Milliseconds = 300;
/** After a failure MongoDB is left alone for so long. */
const pause: Milliseconds = 1_000;

const windowOf = (now: Milliseconds): number => Math.floor(now / windowLength);

/**
 * Requests counted for all processes together. Never fails: it goes on with the fallback's counts while
 * MongoDB does not answer in time.
 */
export class MongoRateLimiter implements RateLimiter {
  readonly #database: MongoDatabase;
  readonly #clock: Clock;
  readonly #fallback: RateLimiter;
  readonly #patience: Milliseconds;
  #awayUntil: Milliseconds = 0;
  /** The last window in which a hit could not be counted in MongoDB: there the fallback may know of more. */
  #incomplete = -1;

  constructor({ database, clock, fallback, patience = usualPatience }: MongoRateLimiterOptions) {
    this.#database = database;
    this.#clock = clock;
    this.#fallback = fallback;
    this.#patience = patience;
  }

  async hit(subject: string, now: Milliseconds): Promise<number> {
    const own = await this.#fallback.hit(subject, now);
    const shared = await this.#shared(() => this.#count(subject, now, 1));
    if (shared === null) this.#incomplete = Math.max(this.#incomplete, windowOf(now));
    return this.#together(own, shared, now);
  }

  async count(subject: string, now: Milliseconds): Promise<number> {
    const own = await this.#fallback.count(subject, now);
    return this.#together(own, await this.#shared(() => this.#count(subject, now, 0)), now);
  }

  /**
   * The shared count alone where it is complete: hits that come at once may be counted in another order there
   * than here, and the larger of both would be given to two of them.
   */
  #together(own: number, shared: number | null, now: Milliseconds): number {
    if (shared === null) return own;
    return this.#incomplete === windowOf(now) ? Math.max(own, shared) : shared;
  }

  /** Null where there is no answer in time. */
  async #shared(ask: () => Promise<number>): Promise<number | null> {
    if (this.#clock.monotonic() < this.#awayUntil) return null;
    const answer = ask().catch(() => null);
    const count = await within(this.#clock, this.#patience, answer, () => null);
    if (count === null) this.#awayUntil = this.#clock.monotonic() + pause;
    return count;
  }

  async #count(subject: string, now: Milliseconds, hits: 0 | 1): Promise<number> {
    const counters = await this.#database.prepared<CounterRow>('rate_counters', [
      { key: { until: 1 }, name: 'until', expireAfterSeconds: 0 },
    ]);
    const window = windowOf(now);
    const _id = `${window} ${subject}`;
    if (hits === 0) return (await counters.findOne({ _id: { $eq: _id } }))?.count ?? 0;
    const until = new Date((window + 2) * windowLength);
    const increment = () =>
      counters.findOneAndUpdate(
        { _id: { $eq: _id } },
        { $inc: { count: 1 }, $setOnInsert: { until } },
        { upsert: true, returnDocument: 'before' },
      );
    const before = await increment().catch((error: unknown) => {
      if (isDuplicate(error)) return increment(); // two first requests of a window met
      throw error;
    });
    return (before?.count ?? 0) + 1;
  }
}
