import type { ArtworkDigest, Front } from '../../domain/artwork.js';
import { NamedError } from '../../domain/errors.js';
import type { Milliseconds } from '../../domain/ids.js';

/** The print master is a JPEG; the two smaller ones are for screens, and WebP. */
export const pictureSizes = ['master', 'preview', 'thumbnail'] as const;
export type PictureSize = (typeof pictureSizes)[number];
export type Pictures = Readonly<Record<PictureSize, Buffer>>;

export interface StoredArtwork {
  readonly digest: ArtworkDigest;
  readonly putAt: Milliseconds;
}

/** The pictures can't be reached, or have no room. */
export class ArtworkUnavailable extends NamedError {}

/**
 * The fronts of cards, by the digests of their print masters. All throw ArtworkUnavailable. No send asks for
 * them.
 */
export interface Artwork {
  /**
   * Durable and whole when it resolves; a put that broke off, or whose bytes were removed as unfinished, is
   * not there at all. A repeat moves `putAt`, and keeps the pictures that are there, unless they have other
   * bytes.
   */
  put(digest: ArtworkDigest, pictures: Pictures): Promise<void>;
  /** Moves `putAt` of pictures that are there, which keeps them from a removal; false if there are none. */
  renew(digest: ArtworkDigest): Promise<boolean>;
  get(digest: ArtworkDigest, size: PictureSize): Promise<Buffer | null>;
  /** Removes the pictures unless they were put at that moment or later. Needs no room. */
  remove(digest: ArtworkDigest, putBefore: Milliseconds): Promise<void>;
  list(): AsyncIterable<StoredArtwork>;
  /** Removes what is left of puts and removals that broke off before that moment. */
  removeUnfinished(before: Milliseconds): Promise<void>;
}

/** A front for each way to fit a picture on a card. */
export type MadeFronts = readonly (Front & { readonly pictures: Pictures })[];

/** Makes fronts of pictures that people upload. */
export interface PictureMaker {
  /**
   * Makes them of a file in pieces, which take a while to join. Throws `invalid_body`, in words that say what
   * to do, if it is no picture of the kinds that are taken, is damaged, or takes too much time or memory.
   */
  make(file: readonly Buffer[]): Promise<MadeFronts>;
}
