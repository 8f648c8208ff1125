import { FinalError } from '../../domain/errors.js';
import type { Milliseconds } from '../../domain/ids.js';
import type { Checkpoint } from './log-tiles.js';

/** A head of the tree, and its signed note. */
export type SignedHead = Omit<Checkpoint, 'at'>;

/** The head of the tree at some time. */
export type KnownHead = Pick<Checkpoint, 'size' | 'root'>;

/** The stored head is not the last one that was signed, or is missing: without it nothing is signed. */
export class UnusableHead extends FinalError {}

/**
 * The head of the tree that was signed last, kept out of reach of writers to the stores. It exposes a log
 * that was set back or replaced.
 */
export interface SignedHeads {
  /** Where that is, in words for the operator. */
  readonly place: string;

  /** Null if there is none. Throws UnusableHead if no key of the log has signed the stored one. */
  last(): Promise<SignedHead | null>;

  /** When the last one was written; null if there is none. */
  since(): Promise<Milliseconds | null>;

  /** Takes the place of the last one. It is durable when this has settled. */
  keep(note: string): Promise<void>;

  /** Whether a key of the log has signed a note. */
  isOurs(note: string): boolean;
}
