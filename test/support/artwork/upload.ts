import sharp from 'sharp';
import type { Visitor } from '../http/visitor.js';

/** A picture that prints well: red on its left, blue on its right. */
export const redAndBlue = async (width = 1575, height = 2175): Promise<Blob> => {
  const right = {
    create: { width: width - (width >> 1), height, channels: 3, background: '#0000ff' },
  } as const;
  const picture = sharp({ create: { width, height, channels: 3, background: '#ff0000' } });
  return new Blob([
    await picture
      .composite([{ input: right, left: width >> 1, top: 0 }])
      .png()
      .toBuffer(),
  ]);
};

/** A picture of one grey: another one for each number up to 255. */
export const plainPicture = async (number: number): Promise<Blob> => {
  const background = { r: number, g: number, b: number };
  return new Blob([
    await sharp({ create: { width: 800, height: 1100, channels: 3, background } })
      .png()
      .toBuffer(),
  ]);
};

/** Uploads a picture for a design, and returns the address of the page that shows it on the card. */
export const uploadPicture = (visitor: Visitor, org: string, name = 'Ours', file?: Blob) =>
  upload(visitor, `/console/${org}/designs/new`, { name }, file);

/** As `uploadPicture`, for a card of the collection. */
export const uploadCollectionPicture = (visitor: Visitor, slug = 'moving-day', title = 'Moving Day') =>
  upload(visitor, '/console/house/catalogue/new', { slug, title });

const upload = async (visitor: Visitor, page: string, typed: Record<string, string>, file?: Blob) => {
  const fields = { ...(await visitor.form(page, 'upload')), ...typed };
  const { status, location, text } = await visitor.upload(page, fields, file ?? (await redAndBlue()));
  if (status !== 303 || location === null) throw new Error(`the picture was not taken: ${status} ${text}`);
  return location;
};
