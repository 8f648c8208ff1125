import { isUtf8 } from 'node:buffer';
import type { IncomingMessage } from 'node:http';
import { nextTurn } from '../../../application/timing/next-turn.js';
import { DomainError } from '../../../domain/errors.js';
import { truncate } from '../../../domain/text.js';
import type { JsonObject } from '../schema/read.js';
import { ClientGone } from './errors.js';
import { contentTypeOf, type Exchange } from './exchange.js';
import { parseObject } from './json-body.js';
import { isOfType } from './media-types.js';
import type { FileLimit, Upload } from './upload.js';

/** The size of the largest body, in bytes. (decision 6: what counts as valid JSON) */
export const maxBodyBytes = 100 * 1024;
const maxFields = 200;
/** In bytes: a usual card has 400. */
const longBody = 20_000;
const formType = 'application/x-www-form-urlencoded';

const unsupported = (message: string): DomainError => new DomainError('unsupported_media_type', message);

const tooLarge = (): DomainError =>
  new DomainError(
    'body_too_large',
    `The body is larger than ${maxBodyBytes / 1024} KiB. Send one card or one contact per request.`,
  );

const isIdentity = (encoding: string | undefined): boolean =>
  encoding === undefined ||
  encoding.split(',').every((coding) => ['', 'identity'].includes(coding.trim().toLowerCase()));

/** Checks encoding and length of a body. Throws `unsupported_media_type`, then `body_too_large`. */
const assertSmall = ({ headers }: IncomingMessage): void => {
  if (!isIdentity(headers['content-encoding']))
    throw unsupported('Send the body without a Content-Encoding.');
  if (Number(headers['content-length'] ?? 0) > maxBodyBytes) throw tooLarge();
};

/**
 * The fields of a form, trimmed. Throws `invalid_body` if there are more than 200, one comes twice, or it is
 * not UTF-8.
 */
const parseForm = (bytes: Buffer): ReadonlyMap<string, string> => {
  if (!isUtf8(bytes)) throw new DomainError('invalid_body', 'The form is not UTF-8.');
  const fields = new Map<string, string>();
  for (const [name, value] of new URLSearchParams(bytes.toString('utf8'))) {
    if (fields.has(name))
      throw new DomainError('invalid_body', `The form has the field ${name} twice.`, name);
    fields.set(name, value.trim());
    if (fields.size > maxFields) throw new DomainError('invalid_body', 'The form has too many fields.');
  }
  return fields;
};

/** Lets the client send its body, if that is still to be had. */
const begin = (exchange: Exchange): void => {
  if (exchange.broken !== null) throw exchange.broken;
  if (!exchange.awaitsContinue) return;
  exchange.awaitsContinue = false;
  exchange.response.writeContinue();
};

/** Reads the whole body. Throws `unsupported_media_type`, `body_too_large` and ClientGone. */
const bytesOf = async (exchange: Exchange): Promise<Buffer> => {
  const { request } = exchange;
  assertSmall(request);
  begin(exchange);
  return new Promise((resolve, reject) => {
    const chunks: Buffer[] = [];
    let size = 0;
    const settle = () => {
      exchange.stop = null;
      request.off('data', take).off('end', finish).off('error', gone).off('close', gone);
    };
    const stop = (error: Error) => {
      settle();
      request.resume();
      reject(error);
    };
    const take = (chunk: Buffer) => {
      size += chunk.length;
      if (size > maxBodyBytes) stop(tooLarge());
      else chunks.push(chunk);
    };
    const finish = () => {
      settle();
      resolve(chunks.length === 1 && chunks[0] !== undefined ? chunks[0] : Buffer.concat(chunks));
    };
    const gone = () => stop(new ClientGone('the client went away before the body was complete'));
    exchange.stop = stop;
    request.on('data', take).on('end', finish).on('error', gone).on('close', gone);
  });
};

/** The checks go in the order of decision 1. */
export const readBody = async (exchange: Exchange): Promise<JsonObject> => {
  const type = contentTypeOf(exchange.request);
  if (!isOfType(type, 'application/json'))
    throw unsupported(
      `Send JSON with the header \`Content-Type: application/json\`${type === undefined ? '' : `, not \`${truncate(type, 100)}\``}. The only charset is utf-8.`,
    );
  const bytes = await bytesOf(exchange);
  const body = parseObject(bytes);
  // What is done with so much, too, takes a turn of its own.
  if (bytes.length > longBody) await nextTurn();
  return body;
};

export const readForm = async (exchange: Exchange): Promise<ReadonlyMap<string, string>> => {
  if (!isOfType(contentTypeOf(exchange.request), formType))
    throw unsupported(`A form is sent as ${formType}, in utf-8.`);
  return parseForm(await bytesOf(exchange));
};

/** Loads the code for uploads when the first one comes: most processes never get one. */
export const readFile = async (exchange: Exchange, limit?: FileLimit): Promise<Upload> => {
  const { request } = exchange;
  if (!isOfType(contentTypeOf(request), 'multipart/form-data'))
    throw unsupported('A file is sent as multipart/form-data.');
  const { readUpload } = await import('./upload.js');
  begin(exchange);
  return readUpload(request, (stop) => (exchange.stop = stop), limit);
};

/** Discards the rest of an upload before the response. */
export const giveUpUpload = (exchange: Exchange): void => {
  const { stop } = exchange;
  exchange.stop = null;
  stop?.(new ClientGone('the request is over'));
};
