const one = (): number => 1;

/**
 * Options of an LRUCache of at most `entries` entries that allocates memory as it fills. With its option
 * `max` it allocates all of it at once, and every start waits for that.
 */
export const lazilySized = (entries: number) => ({ maxSize: entries, sizeCalculation: one }) as const;
