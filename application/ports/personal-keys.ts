import { EventStoreUnavailable, pagesAfter, type LogHead } from './event-store.js';

/** The keys can't be reached: personal data can neither be sealed nor opened. Nothing was written. */
export class PersonalKeysUnavailable extends EventStoreUnavailable {}

/** A block of keys, encrypted with a key that is not in the store. */
export interface WrappedBlock {
  /** The id of the key that it is encrypted with, or `givenUp` of it. */
  readonly wrappedBy: string;
  readonly iv: Buffer;
  /** Ciphertext and tag. */
  readonly sealed: Buffer;
}

/** A block under the number that was drawn for it by chance: no other has it, in any store of keys. */
export interface NumberedBlock extends WrappedBlock {
  readonly number: number;
}

export interface StoredBlock extends NumberedBlock {
  /** Counts the changes of the block. */
  readonly version: number;
}

/** Ids of keys don't hold it. */
const givenUpSign = ':';

/** Gives up the blocks of a key: they are missed no more, and open if it is found again. */
export const givenUp = (id: string): string => `${givenUpSign}${id}`;

export const isGivenUp = (wrappedBy: string): boolean => wrappedBy.startsWith(givenUpSign);

/** The id of the key that a block is encrypted with, whether it was given up or not. */
export const wrapperOf = (wrappedBy: string): string =>
  isGivenUp(wrappedBy) ? wrappedBy.slice(givenUpSign.length) : wrappedBy;

const blocksAtOnce = 100;

/** All blocks that are there, a page at a time. */
export const pagesOfBlocks = (keys: Pick<PersonalKeys, 'after'>) =>
  pagesAfter<StoredBlock>(blocksAtOnce, (last) => keys.after(last?.number ?? -1, blocksAtOnce));

/** How far the log was read by the process that destroys keys and notes which are in use. */
export type ShredderMark = LogHead;

/**
 * The keys of personal data. Writes by `add`, `replace` and `saveMark` are durable when they resolve. All
 * methods throw PersonalKeysUnavailable.
 *
 * The mark is kept only here: a store that is restored from a backup has its old mark, so that later erasures
 * are repeated, and blocks that came into use since are looked for.
 */
export interface PersonalKeys {
  /**
   * Block 0, whose first key hashes texts that must be found again. It is added, as `make` returns it, to a
   * store without blocks: several concurrent callers all get the same one. Null if there are other blocks,
   * but not this.
   */
  first(make: (number: number) => WrappedBlock): Promise<StoredBlock | null>;

  /** Adds blocks. Never replaces one: rejects if one of these numbers is there. */
  add(blocks: readonly NumberedBlock[]): Promise<void>;

  /** The blocks that are there. */
  load(numbers: readonly number[]): Promise<readonly StoredBlock[]>;

  /** At most `limit` blocks that come after a number, in their order. */
  after(number: number, limit: number): Promise<readonly StoredBlock[]>;

  /**
   * Replaces a block if it still has this version; nothing of the one before is kept. False if it has
   * another.
   */
  replace(block: StoredBlock): Promise<boolean>;

  /** Null before the first one. */
  mark(): Promise<ShredderMark | null>;

  /**
   * Notes the blocks that events before the mark use, then the mark. False, and no mark, if the mark is not
   * `before` any more: another process, or another store, has taken over.
   */
  saveMark(mark: ShredderMark, before: ShredderMark | null, uses: readonly number[]): Promise<boolean>;

  /** Which of these blocks, and of all whose use was noted, are not there. */
  missing(numbers: readonly number[]): Promise<readonly number[]>;

  /** The ids of all keys that blocks are encrypted with. */
  wrappers(): Promise<readonly string[]>;
}
