import { createHash } from 'node:crypto';
import type { IncomingHttpHeaders } from 'node:http';
import { gzipSync } from 'node:zlib';
import { acceptsGzip } from './media-types.js';

type Headers = Readonly<Record<string, string>>;

/**
 * A document that is the same for all readers as long as the process runs. (decision 10: what may be cached)
 */
export interface SharedDocument {
  readonly type: string;
  readonly headers: Headers;
  readonly etag: string;
  readonly plain: Buffer;
  readonly gzip: Buffer;
}

/** Compresses a document. Takes some milliseconds: do it once. */
export const sharedDocument = (
  type: string,
  content: string | Buffer,
  headers: Headers = {},
): SharedDocument => {
  const plain = Buffer.from(content);
  const digest = createHash('sha256').update(plain).digest('base64url');
  // Weak, because one tag identifies the plain and the compressed form.
  return { type, headers, etag: `W/"${digest.slice(0, 22)}"`, plain, gzip: gzipSync(plain) };
};

/** Whether a client has what bears the tag, by its header `If-None-Match`. */
export const isKnown = (etag: string, ifNoneMatch: string | undefined): boolean => {
  const strong = (tag: string): string => tag.trim().replace(/^W\//, '');
  return ifNoneMatch?.split(',').some((tag) => tag.trim() === '*' || strong(tag) === strong(etag)) === true;
};

/** The response for a document: all of it, or null if the client has it already. */
export const documentFor = (
  { type, headers, etag, plain, gzip }: SharedDocument,
  sent: IncomingHttpHeaders,
): { readonly bytes: Buffer | null; readonly headers: Headers } => {
  const cached = { 'cache-control': 'public, max-age=60', ...headers, etag, vary: 'accept-encoding' };
  if (isKnown(etag, sent['if-none-match'])) return { bytes: null, headers: cached };
  const typed = { ...cached, 'content-type': type };
  return acceptsGzip(sent)
    ? { bytes: gzip, headers: { ...typed, 'content-encoding': 'gzip' } }
    : { bytes: plain, headers: typed };
};
