import { createHash } from 'node:crypto';
import { buffer } from 'node:stream/consumers';
import sharp, { type SharpOptions } from 'sharp';
import { pictureSizes } from '../../application/ports/artwork.js';
import { count, fits, master, roomFor, type Fit } from '../../domain/artwork.js';
import { picturesOf } from './pictures.js';

// Reads a picture from standard input; writes a line of JSON and then, if it was taken, the pictures of each
// front. It opens nothing, and knows nothing of the service.

/** Larger pictures would take more memory than is given. */
const maxDots = 100_000_000;
/** Only the first picture of an animation. */
const reading: SharpOptions = { limitInputPixels: maxDots, failOn: 'error', pages: 1 };
const white = '#ffffff';

sharp.cache(false);
sharp.concurrency(1);
sharp.block({ operation: ['VipsForeignLoad'] });
sharp.unblock({
  operation: ['VipsForeignLoadJpegBuffer', 'VipsForeignLoadPngBuffer', 'VipsForeignLoadWebpBuffer'],
});

const size = `${count(master.width)} × ${count(master.height)}`;
const drawing = `is a drawing, which has no dots. Export it as PNG, with ${size} dots, and upload that.`;
/** The beginnings of files that are no pictures of ours, and the advice for each. */
const strangers: readonly (readonly [RegExp, string])[] = [
  [/^%PDF-/, `This PDF ${drawing}`],
  [/^(\xef\xbb\xbf)?\s*(<\?xml|<!--|<!DOCTYPE svg|<svg)/i, `This SVG ${drawing}`],
  [/^....ftyp(heic|heix|mif1|msf1)/s, 'This is a HEIC picture. Export it as JPEG, and upload that.'],
];

const refusalOf = (file: Buffer, error: unknown): string => {
  const message = error instanceof Error ? error.message : '';
  const start = file.toString('latin1', 0, 200);
  const stranger = strangers.find(([pattern]) => pattern.test(start))?.[1];
  if (stranger !== undefined) return stranger;
  if (/pixel limit/.test(message))
    return `The picture has more than ${count(maxDots)} dots. Make it smaller: a card is printed with ${size}.`;
  if (/coordinates out of range/.test(message))
    return `The picture has too many dots in one direction for those in the other. Cut it to the card's shape: a card is printed with ${size}.`;
  if (/unsupported image format|is empty/.test(message))
    return 'The file is no PNG, JPEG or WebP picture, whatever its name says. Save it as one of these, and upload that.';
  return 'The picture is damaged or incomplete. Open it, save it again as PNG or JPEG, and upload that.';
};

/** The print master, uncompressed, and without the file's facts about itself, such as where it was taken. */
const drawn = (file: Buffer, fit: Fit, depth: string | undefined): Promise<Buffer> => {
  const { width, height } = roomFor(fit);
  const [across, down] = [master.width - width, master.height - height];
  const picture = sharp(file, reading);
  // Otherwise the profile of a picture of 16 bits a colour is dropped.
  if (depth === 'ushort') picture.pipelineColourspace('srgb');
  return picture
    .autoOrient()
    .flatten({ background: white })
    .resize(width, height, { fit: fit === 'fill' ? 'cover' : 'contain', background: white })
    .extend({
      left: Math.floor(across / 2),
      right: Math.ceil(across / 2),
      top: Math.floor(down / 2),
      bottom: Math.ceil(down / 2),
      background: white,
    })
    .toColourspace('srgb')
    .raw()
    .toBuffer();
};

const made = async (file: Buffer): Promise<readonly [head: object, ...bytes: Buffer[]]> => {
  try {
    const { autoOrient, depth } = await sharp(file, reading).metadata();
    const { width, height } = autoOrient;
    const fronts = [];
    for (const fit of fits) fronts.push({ fit, ...(await picturesOf(await drawn(file, fit, depth))) });
    const told = fronts.map(({ fit, master: bytes, preview, thumbnail }) => {
      const digest = createHash('sha256').update(bytes).digest('hex');
      const front = { digest, bytes: bytes.length, width, height, fit };
      return { front, screen: [preview.length, thumbnail.length] };
    });
    return [{ fronts: told }, ...fronts.flatMap((each) => pictureSizes.map((size) => each[size]))];
  } catch (error) {
    return [{ refused: refusalOf(file, error) }];
  }
};

const [head, ...bytes] = await made(await buffer(process.stdin));
process.stdout.write(Buffer.concat([Buffer.from(`${JSON.stringify(head)}\n`), ...bytes]));
