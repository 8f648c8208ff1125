interface Waiting<Item, Result> {
  readonly item: Item;
  readonly resolve: (result: Result) => void;
  readonly reject: (error: unknown) => void;
}

/**
 * Gathers items for work that is cheaper for many at once: what is added while one batch is under way goes
 * into the next. If a batch fails, it fails for every item in it.
 */
export class Batcher<Item, Result> {
  readonly #maxBatch: number;
  readonly #work: (items: readonly Item[]) => Promise<readonly Result[]>;
  readonly #waiting: Waiting<Item, Result>[] = [];
  #working = false;

  /**
   * `work` gets at most `maxBatch` items, in the order in which they were added, and returns a result for
   * each.
   */
  constructor(maxBatch: number, work: (items: readonly Item[]) => Promise<readonly Result[]>) {
    this.#maxBatch = maxBatch;
    this.#work = work;
  }

  add(item: Item): Promise<Result> {
    return new Promise((resolve, reject) => {
      this.#waiting.push({ item, resolve, reject });
      void this.#run();
    });
  }

  async #run(): Promise<void> {
    if (this.#working) return;
    this.#working = true;
    // Items that are added in the same step share the first batch.
    await Promise.resolve();
    while (this.#waiting.length > 0) {
      const batch = this.#waiting.splice(0, this.#maxBatch);
      try {
        const results = await this.#work(batch.map(({ item }) => item));
        batch.forEach(({ resolve, reject }, index) => {
          const result = results[index];
          if (result === undefined) reject(new TypeError('a batch has fewer results than items'));
          else resolve(result);
        });
      } catch (error) {
        for (const { reject } of batch) reject(error);
      }
    }
    this.#working = false;
  }
}
