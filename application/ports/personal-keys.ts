import type { EventMark } from './event-store.js';
import { EventStoreUnavailable } from './event-store.js';

/** The keys can't be reached: personal data can neither be sealed nor opened. Nothing was written. */
export class PersonalKeysUnavailable extends EventStoreUnavailable {}

/** A block of keys, encrypted with a key that is not in the store. */
export interface WrappedBlock {
  /** The id of the key that it is encrypted with. */
  readonly wrappedBy: string;
  readonly iv: Buffer;
  /** Ciphertext and tag. */
  readonly sealed: Buffer;
}

export interface StoredBlock extends WrappedBlock {
  readonly number: number;
  /** Counts the changes of the block. */
  readonly version: number;
}

/** How far the log was read by whoever destroys keys. */
export interface ShredderMark {
  readonly position: bigint;
  readonly event: EventMark | null;
}

/**
 * The keys of personal data. What `add`, `replace` and `saveMark` have written is durable when they resolve.
 * Everything throws PersonalKeysUnavailable.
 *
 * The mark lies here and nowhere else: a store that is restored from a backup has its old mark, so that what
 * was erased since is erased again.
 */
export interface PersonalKeys {
  /**
   * Block 0, whose first key names what must be found again. It is added, as `make` returns it, to a store
   * that never had a block: of several callers at once all get the same one. Null if it is lost.
   */
  first(make: (number: number) => WrappedBlock): Promise<StoredBlock | null>;

  /**
   * Adds `count` blocks, which `make` returns for their numbers. A number is given once, even if this fails.
   */
  add(count: number, make: (number: number) => WrappedBlock): Promise<readonly number[]>;

  /** The blocks that are there. */
  load(numbers: readonly number[]): Promise<readonly StoredBlock[]>;

  /** At most `limit` blocks that come after a number, in their order. */
  after(number: number, limit: number): Promise<readonly StoredBlock[]>;

  /**
   * Replaces a block if it still has this version; nothing of the one before is kept. False if it has
   * another.
   */
  replace(block: StoredBlock): Promise<boolean>;

  /** Null if nothing was destroyed yet. */
  mark(): Promise<ShredderMark | null>;

  saveMark(mark: ShredderMark): Promise<void>;
}
