const one = (): number => 1;

/**
 * Options of an LRUCache of at most `entries` entries that takes its memory as it fills. With its option
 * `max` it takes all of it at once, and every start waits for that.
 */
export const growingTo = (entries: number) => ({ maxSize: entries, sizeCalculation: one }) as const;
