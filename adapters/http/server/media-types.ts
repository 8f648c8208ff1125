import accepts from 'accepts';
import { parse } from 'content-type';
import type { IncomingHttpHeaders, IncomingMessage } from 'node:http';

/** Negotiates over headers alone: it reads nothing else of a request. */
const accepted = (headers: IncomingHttpHeaders) => accepts({ headers } as IncomingMessage);

/** Says nothing here: all that is sent is UTF-8. */
const charset = /;\s*charset=(?:"[^"]*"|[^\s;,]*)/gi;

/** The type that a client likes best by its header Accept; the first one if it accepts none of them. */
export const preferredType = <Type extends string>(
  accept: readonly string[],
  types: readonly [Type, ...Type[]],
): Type => {
  const found =
    accept.length > 0 && accepted({ accept: accept.join(',').replaceAll(charset, '') }).types([...types]);
  return types.find((type) => type === found) ?? types[0];
};

/** Whether a client accepts a compressed response. (RFC 9110, Accept-Encoding) */
export const acceptsGzip = (sent: IncomingHttpHeaders): boolean =>
  sent['accept-encoding'] !== undefined && accepted(sent).encodings(['gzip']) === 'gzip';

/** The parser reads what comes before an open quotation mark. */
const quotesClosed = /^(?:[^"]|"(?:[^"\\]|\\.)*")*$/;

/**
 * Whether a content type is this one: in any case, with any parameters, and no charset but utf-8, said once.
 * (decision 5: which content types are JSON)
 */
export const isOfType = (contentType: string | undefined, wanted: string): boolean => {
  if (contentType === wanted) return true;
  if (contentType === undefined || !quotesClosed.test(contentType)) return false;
  if ((contentType.match(/charset/gi)?.length ?? 0) > 1) return false;
  const { type, parameters } = parse(contentType);
  return type === wanted && (parameters['charset'] ?? 'utf-8').toLowerCase() === 'utf-8';
};
