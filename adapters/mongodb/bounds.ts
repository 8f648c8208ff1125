import { AbstractCursor, Collection, MongoError } from 'mongodb';
import type { Clock } from '../../application/ports/system.js';
import type { Milliseconds } from '../../domain/ids.js';

/** Not ended in time: whether it was done is not known, and it may be done later. */
export class MongoOverdue extends MongoError {
  constructor() {
    super('MongoDB did not answer in time');
  }
}

/**
 * What is asked of the server, each thing with an end by the clock. The driver's own times end nearly everything, but a write that is larger than the socket's
 * buffers never ends where its connection is closed while it waits for them, and its place among the connections is never free again.
 */
export class Bounds {
  readonly #clock: Clock;
  readonly #longest: Milliseconds;
  readonly #underWay = new Set<AbortController>();

  constructor(clock: Clock, longest: Milliseconds) {
    this.#clock = clock;
    this.#longest = longest;
  }

  /** What the driver makes of it. Throws MongoOverdue. */
  async end<T>(asked: Promise<T>): Promise<T> {
    const over = new AbortController();
    this.#underWay.add(over);
    const late = this.#clock.sleep(this.#longest, over.signal).then(() => {
      throw new MongoOverdue();
    });
    try {
      return await Promise.race([asked, late]);
    } finally {
      this.#underWay.delete(over);
      over.abort();
    }
  }

  /** Ends what is under way: it is overdue now. */
  endAll(): void {
    for (const over of this.#underWay) over.abort();
  }
}

/** The same database, collection or cursor; every promise that it gives, and that what it gives does, is handed to `end`. */
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
