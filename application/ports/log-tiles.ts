import { NamedError } from '../../domain/errors.js';
import type { Instant } from '../../domain/ids.js';
import type { Frontier, Hash } from '../../domain/merkle.js';

/** A leaf of the log of the log, and its event. */
export interface Leaf {
  readonly hash: Hash;
  readonly position: bigint;
  /** How many events of its organization precede it. */
  readonly orgSeq: number;
}

/** The tree over all events that were notarized. `position`: of the last of them; 0 if there is none. */
export interface LogTree extends Frontier {
  readonly position: bigint;
  /** Grows with each notary that begins. */
  readonly epoch: number;
}

/** A signed head of the tree. */
export interface Checkpoint {
  readonly size: number;
  readonly root: Hash;
  readonly note: string;
  readonly at: Instant;
}

/** Where the log is not as it was written, as far as is known. */
export interface LogDamage {
  readonly position: bigint;
  readonly reason: string;
}

/** The leaves of one tile of level 0: up to 256, fewer in the last tile. */
export interface LeafTile {
  /** The position of the event before the tile's first; 0 if there is none. */
  readonly after: bigint;
  readonly hashes: readonly Hash[];
  readonly orgSeqs: readonly number[];
}

/** A checkpoint of that size was signed for another tree: there are two logs. */
export class ForkedLog extends NamedError {
  constructor(readonly size: number) {
    super(`A checkpoint of size ${size} with another root was signed before: the log has been forked.`);
  }
}

/**
 * The log of the log: a tree over all events, in tiles of 256 hashes, and the signed checkpoints. Writes are
 * durable when their promises settle. All methods throw EventStoreUnavailable if the storage can't be
 * reached.
 */
export interface LogTiles {
  tree(): Promise<LogTree>;

  /**
   * Adds leaves to a tree of size `from`; the last one is for the event at position `to`. All or nothing.
   * Returns false, and adds nothing, if the tree has another size or a later epoch has written. Without
   * leaves, the epoch takes the tree over.
   */
  extend(from: number, leaves: readonly Leaf[], to: bigint, epoch: number): Promise<boolean>;

  /** Hashes of a tile level, side by side. Fewer if they are not there. */
  hashes(level: number, from: number, count: number): Promise<Buffer>;

  /** Null if there is no leaf in that tile. */
  leaves(tile: number): Promise<LeafTile | null>;

  /** The tile of level 0 for the event at a position, if it was notarized. */
  tileOf(position: bigint): Promise<number>;

  /**
   * Keeps a checkpoint. The last one of each hour stays forever. Throws ForkedLog if a checkpoint of that
   * size with another root is kept.
   */
  keep(checkpoint: Checkpoint): Promise<void>;

  /** The checkpoint of the largest size. */
  newest(): Promise<Checkpoint | null>;

  /** Every checkpoint that is kept, the smallest size first. */
  kept(): Promise<readonly Checkpoint[]>;

  /** Removes tiles and tree, but no checkpoint, so that they are made again from the first event. */
  reset(): Promise<void>;

  damage(): Promise<LogDamage | null>;
  /** Null once every event was found as it was written. Until then the first damage stays. */
  reportDamage(damage: LogDamage | null): Promise<void>;
}
