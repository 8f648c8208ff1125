import { AbstractCursor, Collection, MongoError } from 'mongodb';
import type { Clock } from '../../application/ports/system.js';
import type { Milliseconds } from '../../domain/ids.js';

/** Not ended in time: whether it was done is not known, and it may be done later. */
export class MongoOverdue extends MongoError {
  constructor() {
    super('MongoDB did not answer in time');
  }
}

interface UnderWay {
  readonly until: Milliseconds;
  readonly giveUp: () => void;
}

/**
 * What is asked of the server, each thing with an end by the clock. The driver's own times end nearly
 * everything, but a write that is larger than the socket's buffers never ends where its connection is closed
 * while it waits for them, and its place among the connections is never free again.
 */
export class Bounds {
  readonly #clock: Clock;
  readonly #longest: Milliseconds;
  /**
   * In the order of asking, which is that of their ends. One sleep for all: a timer for each would cost a
   * third of what the driver does.
   */
  readonly #underWay = new Set<UnderWay>();
  readonly #stopped = new AbortController();
  #isWatching = false;

  constructor(clock: Clock, longest: Milliseconds) {
    this.#clock = clock;
    this.#longest = longest;
  }

  /** What the driver makes of it. Throws MongoOverdue. */
  end<T>(asked: Promise<T>): Promise<T> {
    return new Promise((resolve, reject) => {
      const one = {
        until: this.#clock.monotonic() + this.#longest,
        giveUp: () => reject(new MongoOverdue()),
      };
      this.#underWay.add(one);
      asked.then(resolve, reject).finally(() => this.#underWay.delete(one));
      if (this.#stopped.signal.aborted) one.giveUp();
      else void this.#watch();
    });
  }

  /** Ends what is under way, and from now on whatever is asked: it is overdue at once. */
  stop(): void {
    this.#stopped.abort();
    for (const { giveUp } of this.#underWay) giveUp();
  }

  async #watch(): Promise<void> {
    if (this.#isWatching) return;
    this.#isWatching = true;
    for (
      let [first] = this.#underWay;
      first !== undefined && !this.#stopped.signal.aborted;
      [first] = this.#underWay
    ) {
      const left = first.until - this.#clock.monotonic();
      if (left > 0) await this.#clock.sleep(left, this.#stopped.signal);
      else {
        this.#underWay.delete(first);
        first.giveUp();
      }
    }
    this.#isWatching = false;
  }
}

/**
 * The same database, collection or cursor; every promise that it gives, and that what it gives does, is
 * handed to `end`.
 */
export const bounded = <Of extends object>(of: Of, end: (asked: Promise<unknown>) => Promise<unknown>): Of =>
  new Proxy(of, {
    get: (target, property) => {
      const value: unknown = Reflect.get(target, property);
      if (typeof value !== 'function') return value;
      return (...given: unknown[]): unknown => {
        const made: unknown = Reflect.apply(value, target, given);
        if (made instanceof Promise) return end(made);
        return made instanceof Collection || made instanceof AbstractCursor ? bounded(made, end) : made;
      };
    },
  });
