import { z } from 'zod';
import type { Artwork } from '../../../application/ports/artwork.js';
import { ArtworkDigest } from '../../../domain/artwork.js';
import { DomainError } from '../../../domain/errors.js';
import { text } from '../schema/fields.js';
import { isKnown } from '../server/documents.js';
import { route, type Route } from '../server/route.js';
import { pictureFiles, picturePath } from '../web/pictures.js';

const noPicture = (): DomainError => new DomainError('not_found', 'There is no such picture.');

/** The pictures of fronts, for all that have their addresses. (decision 10: what may be cached) */
export const pictureRoutes = ({ artwork }: { readonly artwork: Artwork }): readonly Route[] => [
  route(`GET ${picturePath}`, {
    id: 'getPicture',
    summary: 'A picture of the front of a card',
    access: { kind: 'public' },
    params: z.object({ digest: text({ code: 'not_found' }), file: text({ code: 'not_found' }) }),
    hidden: true,
    handle: async (request) => {
      const { params } = request;
      const [, size, type] = pictureFiles.find(([file]) => file === params.file) ?? [];
      const digest = ArtworkDigest.safeParse(params.digest).data;
      if (digest === undefined || size === undefined || type === undefined) throw noPicture();
      const bytes = await artwork.get(digest, size);
      if (bytes === null) throw noPicture();
      const etag = `"${digest}"`;
      const headers = { 'cache-control': 'private, max-age=31536000, immutable', etag };
      const isKept = isKnown(etag, request.header('if-none-match').join(','));
      return { type, bytes: isKept ? null : bytes, headers };
    },
  }),
];
