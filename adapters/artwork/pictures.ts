import sharp, { type Sharp } from 'sharp';
import type { Pictures } from '../../application/ports/artwork.js';
import { bleed, card, master, printedAt } from '../../domain/artwork.js';

const screenWidths = { preview: 800, thumbnail: 240 } as const;
const insideBleed = { left: bleed, top: bleed, ...card };

/**
 * Of a front without compression: the print master, and what is left when its bleed is cut off, for screens.
 */
export const picturesOf = async (raw: Buffer): Promise<Pictures> => {
  const open = (): Sharp => sharp(raw, { raw: { ...master, channels: 3 } });
  const onScreen = (width: number): Promise<Buffer> =>
    open().extract(insideBleed).resize(width).webp({ quality: 82 }).toBuffer();
  return {
    master: await open().withDensity(printedAt).jpeg({ quality: 92, chromaSubsampling: '4:4:4' }).toBuffer(),
    preview: await onScreen(screenWidths.preview),
    thumbnail: await onScreen(screenWidths.thumbnail),
  };
};
