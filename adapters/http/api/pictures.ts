import { z } from 'zod';
import type { Artwork } from '../../../application/ports/artwork.js';
import type { Clock } from '../../../application/ports/system.js';
import { ArtworkDigest } from '../../../domain/artwork.js';
import { DomainError } from '../../../domain/errors.js';
import type { Milliseconds } from '../../../domain/ids.js';
import { unlistedParam } from '../schema/fields.js';
import { isKnown } from '../server/documents.js';
import { route, type Route } from '../server/route.js';
import { pictureFiles, picturePath } from '../web/paths.js';

const noPicture = (): DomainError => new DomainError('not_found', 'There is no such picture.');

interface PictureDeps {
  readonly artwork: Pick<Artwork, 'get'>;
  readonly clock: Clock;
}

/** A picture that was removed is not shown for longer than that. */
const sharedFor: Milliseconds = 60_000;

/** Reads a picture once for all responses with it that are under way: many of them take no more memory. */
const sharedReads = ({ artwork, clock }: PictureDeps): Artwork['get'] => {
  const known = new Map<string, WeakRef<Buffer> | Promise<Buffer | null>>();
  let since = clock.monotonic();
  return async (digest, size) => {
    if (clock.monotonic() - since > sharedFor) {
      known.clear();
      since = clock.monotonic();
    }
    const name = `${digest} ${size}`;
    const found = known.get(name);
    const bytes = found instanceof WeakRef ? found.deref() : found;
    if (bytes !== undefined) return bytes;
    const reading = artwork.get(digest, size);
    known.set(name, reading);
    const keep = (read: Buffer | null): unknown =>
      read === null ? known.delete(name) : known.set(name, new WeakRef(read));
    void reading.then(keep, () => keep(null));
    return reading;
  };
};

/** The pictures of fronts, for all that have their addresses. (decision 10: what may be cached) */
export const pictureRoutes = (deps: PictureDeps): readonly Route[] => {
  const get = sharedReads(deps);
  return [
    route(`GET ${picturePath}`, {
      id: 'getPicture',
      summary: 'A picture of the front of a card',
      access: { kind: 'public' },
      params: z.object({
        digest: unlistedParam,
        file: unlistedParam,
      }),
      hidden: true,
      handle: async (request) => {
        const { params } = request;
        const [, size, type] = pictureFiles.find(([file]) => file === params.file) ?? [];
        const digest = ArtworkDigest.safeParse(params.digest).data;
        if (digest === undefined || size === undefined || type === undefined) throw noPicture();
        const etag = `"${digest}"`;
        const headers = { 'cache-control': 'private, max-age=31536000, immutable', etag };
        if (isKnown(etag, request.header('if-none-match').join(','))) return { type, bytes: null, headers };
        const bytes = await get(digest, size);
        if (bytes === null) throw noPicture();
        return { type, bytes, headers };
      },
    }),
  ];
};
