import type { Front } from '../../domain/artwork.js';
import type { Pictures } from './artwork.js';

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
