import { createHash } from 'node:crypto';
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import type { PictureSize, MadeFronts } from '../../application/ports/artwork.js';
import { Front, master } from '../../domain/artwork.js';

export const collectionFolder = fileURLToPath(new URL('./collection', import.meta.url));

export const pictureFile = (slug: string, size: PictureSize): string =>
  join(collectionFolder, `${slug}.${size}`);

/** The front of a card of the first collection, as the build has drawn it. */
export const collectionFront = async (slug: string): Promise<MadeFronts[number]> => {
  const of = (size: PictureSize): Promise<Buffer> => readFile(pictureFile(slug, size));
  const pictures = {
    master: await of('master'),
    preview: await of('preview'),
    thumbnail: await of('thumbnail'),
  };
  const digest = createHash('sha256').update(pictures.master).digest('hex');
  return { ...Front.parse({ digest, bytes: pictures.master.length, ...master, fit: 'fill' }), pictures };
};
