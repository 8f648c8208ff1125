interface Asked<Item, Result> {
  readonly item: Item;
  readonly resolve: (result: Result) => void;
  readonly reject: (error: unknown) => void;
}

/**
 * Work that is cheaper for many than for each: what is asked for while one lot is under way goes into the
 * next. A lot that fails, fails for all in it.
 */
export class Batcher<Item, Result> {
  readonly #most: number;
  readonly #work: (items: readonly Item[]) => Promise<readonly Result[]>;
  readonly #waiting: Asked<Item, Result>[] = [];
  #working = false;

  /** `work` is given up to `most` items in the order of asking, and answers a result for each. */
  constructor(most: number, work: (items: readonly Item[]) => Promise<readonly Result[]>) {
    this.#most = most;
    this.#work = work;
  }

  ask(item: Item): Promise<Result> {
    return new Promise((resolve, reject) => {
      this.#waiting.push({ item, resolve, reject });
      void this.#run();
    });
  }

  async #run(): Promise<void> {
    if (this.#working) return;
    this.#working = true;
    // Those who ask in the same step share the first lot.
    await Promise.resolve();
    while (this.#waiting.length > 0) {
      const lot = this.#waiting.splice(0, this.#most);
      try {
        const results = await this.#work(lot.map(({ item }) => item));
        lot.forEach(({ resolve, reject }, index) => {
          const result = results[index];
          if (result === undefined) reject(new TypeError('a lot was answered in part'));
          else resolve(result);
        });
      } catch (error) {
        for (const { reject } of lot) reject(error);
      }
    }
    this.#working = false;
  }
}
