import { z } from 'zod';
import type { Artwork, PictureSize } from '../../../application/ports/artwork.js';
import { ArtworkDigest, type Front } from '../../../domain/artwork.js';
import { DomainError } from '../../../domain/errors.js';
import { text } from '../schema/fields.js';
import { isKnown } from '../server/documents.js';
import { route, type Route } from '../server/route.js';

const picturePath = '/pictures/:digest/:file';
const files: readonly (readonly [file: string, size: PictureSize, type: string])[] = [
  ['front.jpg', 'master', 'image/jpeg'],
  ['preview.webp', 'preview', 'image/webp'],
  ['thumbnail.webp', 'thumbnail', 'image/webp'],
];

/** Where a picture of a front is, below the base URL. Nobody guesses it who has not seen the front. */
export const pathOfPicture = ({ digest }: Pick<Front, 'digest'>, wanted: PictureSize): string =>
  `/pictures/${digest}/${files.find(([, size]) => size === wanted)?.[0] ?? ''}`;

const noPicture = (): DomainError => new DomainError('not_found', 'There is no such picture.');

/** The pictures of fronts, for whoever was given their addresses. (decision 10: what may be cached) */
export const pictureRoutes = ({ artwork }: { readonly artwork: Artwork }): readonly Route[] => [
  route(`GET ${picturePath}`, {
    id: 'getPicture',
    summary: 'A picture of the front of a card',
    access: { kind: 'public' },
    params: z.object({ digest: text({ code: 'not_found' }), file: text({ code: 'not_found' }) }),
    hidden: true,
    tags: ['docs'],
    responses: { 200: { description: 'The picture.', schema: null, type: 'image/webp' } },
    errors: ['not_found'],
    handle: async (request) => {
      const { params } = request;
      const [, size, type] = files.find(([file]) => file === params.file) ?? [];
      const digest = ArtworkDigest.safeParse(params.digest).data;
      if (digest === undefined || size === undefined || type === undefined) throw noPicture();
      const bytes = await artwork.get(digest, size);
      if (bytes === null) throw noPicture();
      const etag = `"${digest}"`;
      const headers = { 'cache-control': 'private, max-age=31536000, immutable', etag };
      return isKnown(etag, request.header('if-none-match').join(','))
        ? { status: 304, type, bytes: Buffer.alloc(0), headers }
        : { status: 200, type, bytes, headers };
    },
  }),
];
