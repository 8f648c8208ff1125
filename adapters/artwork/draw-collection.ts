import { readdirSync, readFileSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import sharp from 'sharp';
import { pictureSizes } from '../../application/ports/artwork.js';
import { master, printedAt } from '../../domain/artwork.js';
import { collectionFolder, pictureFile } from './collection.js';
import { picturesOf } from './pictures.js';

// A step of the build: makes pictures of the drawings that are newer than theirs.

const timeOf = (path: string): number => statSync(path, { throwIfNoEntry: false })?.mtimeMs ?? 0;

for (const name of readdirSync(collectionFolder).filter((each) => each.endsWith('.svg'))) {
  const drawing = join(collectionFolder, name);
  const slug = name.replace(/\.svg$/, '');
  const sources = [
    drawing,
    fileURLToPath(import.meta.url),
    fileURLToPath(new URL('pictures.js', import.meta.url)),
  ];
  // The thumbnail is written last.
  if (timeOf(pictureFile(slug, 'thumbnail')) > Math.max(...sources.map(timeOf))) continue;
  const raw = await sharp(readFileSync(drawing), { density: printedAt })
    .resize(master.width, master.height, { fit: 'fill' })
    .removeAlpha()
    .toColourspace('srgb')
    .raw()
    .toBuffer();
  const pictures = await picturesOf(raw);
  for (const size of pictureSizes) writeFileSync(pictureFile(slug, size), pictures[size]);
}
