import type { ArtworkDigest, Fit, Size } from '../../domain/artwork.js';
import type { Pictures } from './artwork.js';

/** A front as it would be printed. */
export interface Front {
  readonly fit: Fit;
  readonly digest: ArtworkDigest;
  readonly pictures: Pictures;
}

/** A picture, upright, and the front for each way to fit it on a card. */
export interface MadeFronts extends Size {
  readonly fronts: readonly Front[];
}

/** Makes fronts of pictures that people upload. */
export interface PictureMaker {
  /**
   * Throws `invalid_body`, in words that say what to do, if it is no picture of the kinds that are taken, is
   * damaged, or takes too much time or memory.
   */
  make(file: Buffer): Promise<MadeFronts>;
}
