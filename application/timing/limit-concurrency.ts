/** Runs tasks, at most `limit` of them at once, and the others in the order of their calls. */
export const limitConcurrency = (limit: number): (<T>(work: () => Promise<T>) => Promise<T>) => {
  let running = 0;
  const waiting: (() => void)[] = [];
  return async (work) => {
    // A finished task passes its place on, so that no later caller takes it.
    if (running >= limit) await new Promise<void>((resolve) => waiting.push(resolve));
    else running += 1;
    try {
      return await work();
    } finally {
      const next = waiting.shift();
      if (next === undefined) running -= 1;
      else next();
    }
  };
};

/** The results of the work on all items, at most `limit` of them at once. */
export const mapLimited = <Item, Result>(
  limit: number,
  items: readonly Item[],
  work: (item: Item) => Promise<Result>,
): Promise<Result[]> => {
  const limited = limitConcurrency(limit);
  return Promise.all(items.map((item) => limited(() => work(item))));
};
