import { LRUCache } from 'lru-cache';

const one = (): number => 1;

/**
 * An LRUCache of at most `entries` entries that allocates memory as it fills. With the option `max` it
 * allocates all of it at once, and every start waits for that.
 */
export class LazyLru<K extends NonNullable<unknown>, V extends NonNullable<unknown>> extends LRUCache<K, V> {
  constructor(entries: number) {
    super({ maxSize: entries, sizeCalculation: one });
  }
}
