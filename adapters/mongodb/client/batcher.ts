import { nextTurn } from '../../../application/timing/next-turn.js';
import type { Clock } from '../../../application/ports/system.js';
import { withTimeout } from '../../../application/timing/with-timeout.js';
import type { Milliseconds } from '../../../domain/ids.js';

interface Waiting<Item, Result> {
  readonly item: Item;
  readonly resolve: (result: Result) => void;
  readonly reject: (error: unknown) => void;
}

/** Does the work for items in the order in which they were added, and returns a result for each. */
type Work<Item, Result> = (items: readonly Item[]) => Promise<readonly Result[]>;

/** The most items of a lane that go into one call. */
const laneBatch = 500;
/** An item that has come to a lane during a call waits no longer than this for its end. */
const laneTimeout: Milliseconds = 500;

/**
 * Gathers items for work that is cheaper for many at once: items that come while one batch is under way go
 * into the next. If a batch fails, it fails for every item in it.
 */
export class Batcher<Item, Result> {
  readonly #waiting: Waiting<Item, Result>[] = [];
  #isWorking = false;

  /**
   * `work` gets at most `maxBatch` items. Items that are added in the same step share a batch. `clock`: that
   * of a lane.
   */
  constructor(
    private readonly maxBatch: number,
    private readonly work: Work<Item, Result>,
    private readonly clock: Clock | null = null,
  ) {}

  /**
   * A lane for items that requests wait for: all items of this turn of the event loop share a call. A call
   * that hangs doesn't hold up the others for long.
   */
  static lane<Item, Result>(clock: Clock, work: Work<Item, Result>): Batcher<Item, Result> {
    return new Batcher(laneBatch, work, clock);
  }

  add(item: Item): Promise<Result> {
    return new Promise((resolve, reject) => {
      this.#waiting.push({ item, resolve, reject });
      void this.#run();
    });
  }

  async #run(): Promise<void> {
    if (this.#isWorking) return;
    this.#isWorking = true;
    while (this.#waiting.length > 0) {
      await (this.clock === null ? Promise.resolve() : nextTurn());
      const work = this.#do(this.#waiting.splice(0, this.maxBatch));
      await (this.clock === null ? work : withTimeout(this.clock, laneTimeout, work, () => undefined));
    }
    this.#isWorking = false;
  }

  async #do(batch: readonly Waiting<Item, Result>[]): Promise<void> {
    try {
      const results = await this.work(batch.map(({ item }) => item));
      batch.forEach(({ resolve, reject }, index) => {
        const result = results[index];
        if (result === undefined) reject(new TypeError('a batch has fewer results than items'));
        else resolve(result);
      });
    } catch (error) {
      for (const { reject } of batch) reject(error);
    }
  }
}
