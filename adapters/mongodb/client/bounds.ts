import { AbstractCursor, Collection, MongoError } from 'mongodb';
import type { Clock } from '../../../application/ports/system.js';
import type { Milliseconds } from '../../../domain/ids.js';

/** A request took too long. Whether it took effect is unknown, and it may take effect later. */
export class MongoOverdue extends MongoError {
  constructor() {
    super('MongoDB did not respond in time');
  }
}

interface PendingRequest {
  readonly overdueAt: Milliseconds;
  readonly giveUp: () => void;
}

/**
 * Gives every request to the server a time limit. The driver's own limits end nearly everything. But a write
 * that is larger than the socket's buffers never ends if its connection is closed while it waits for them,
 * and the connection never goes back to the pool. (docs/engines.md#mongodb)
 */
export class Bounds {
  /**
   * In the order in which they began, and so become overdue. One sleep serves all of them: a timer for each
   * would cost a third of the driver's own work.
   */
  readonly #pending = new Set<PendingRequest>();
  readonly #stopped = new AbortController();
  #isWatching = false;

  constructor(
    private readonly clock: Clock,
    private readonly timeout: Milliseconds,
  ) {}

  /** Settles as the request does. Throws MongoOverdue. */
  limit<T>(request: Promise<T>): Promise<T> {
    return new Promise((resolve, reject) => {
      const pending = {
        overdueAt: this.clock.monotonic() + this.timeout,
        giveUp: () => reject(new MongoOverdue()),
      };
      this.#pending.add(pending);
      request.then(resolve, reject).finally(() => this.#pending.delete(pending));
      if (this.#stopped.signal.aborted) pending.giveUp();
      else void this.#watch();
    });
  }

  /** Ends every request as overdue: the pending ones, and from now on any other at once. */
  stop(): void {
    this.#stopped.abort();
    for (const { giveUp } of this.#pending) giveUp();
  }

  async #watch(): Promise<void> {
    if (this.#isWatching) return;
    this.#isWatching = true;
    while (!this.#stopped.signal.aborted) {
      const [first] = this.#pending;
      if (first === undefined) break;
      const left = first.overdueAt - this.clock.monotonic();
      if (left > 0) await this.clock.sleep(left, this.#stopped.signal);
      else {
        this.#pending.delete(first);
        first.giveUp();
      }
    }
    this.#isWatching = false;
  }
}

/** The generation of a build has a collection of its own: they are counted together. */
const withoutBuild = (collection: string): string => collection.replace(/_v\d+_g\d+$/, '');

/** The name of a call: the method, and the collection if it belongs to one. */
const callOf = (of: object, method: string): string => {
  if (of instanceof AbstractCursor) return `${method} ${withoutBuild(of.namespace.collection ?? '')}`;
  return of instanceof Collection ? `${method} ${withoutBuild(of.collectionName)}` : method;
};

/**
 * The same database, collection or cursor, with every promise that its methods return passed through `limit`,
 * which also gets the name of the call; likewise for the collections and cursors that they return.
 */
export const bounded = <Of extends object>(
  of: Of,
  limit: (request: Promise<unknown>, call: string) => Promise<unknown>,
  cursorOf = '',
): Of =>
  new Proxy(of, {
    get: (target, property) => {
      const value: unknown = Reflect.get(target, property);
      if (typeof value !== 'function') return value;
      return (...args: unknown[]): unknown => {
        const result: unknown = Reflect.apply(value, target, args);
        // Configuring a cursor before its first request is no request.
        const asked = cursorOf === '' ? String(property) : cursorOf;
        if (result instanceof Promise) return limit(result, callOf(target, asked));
        return result instanceof Collection || result instanceof AbstractCursor
          ? bounded(result, limit, result instanceof Collection ? '' : asked)
          : result;
      };
    },
  });
