import type { PictureSize } from '../../../application/ports/artwork.js';
import type { Front } from '../../../domain/artwork.js';
import type { Path } from './paths.js';

export const picturePath = '/pictures/:digest/:file';

export const pictureFiles: readonly (readonly [file: string, size: PictureSize, type: string])[] = [
  ['front.jpg', 'master', 'image/jpeg'],
  ['preview.webp', 'preview', 'image/webp'],
  ['thumbnail.webp', 'thumbnail', 'image/webp'],
];

/** The place of a picture of a front, below the base URL. Only those who have seen the front can guess it. */
export const pathOfPicture = ({ digest }: Pick<Front, 'digest'>, wanted: PictureSize): Path =>
  `/pictures/${digest}/${pictureFiles.find(([, size]) => size === wanted)?.[0] ?? ''}`;
