import { nextTurn } from '../../../application/timing/next-turn.js';
import { DomainError } from '../../../domain/errors.js';
import type { JsonObject } from '../schema/read.js';
import { ClientGone } from './errors.js';
import { contentTypeOf, type Exchange } from './exchange.js';
import { assertSmall, checkHeaders, parseObject, readBytes } from './json-body.js';
import type { FileLimit, Upload } from './upload.js';
import { isUtf8 } from 'node:buffer';
import type { IncomingMessage } from 'node:http';
import { isOfType } from './media-types.js';

const maxFields = 200;
/** In bytes: a usual card has 400. */
const longBody = 20_000;
const formType = 'application/x-www-form-urlencoded';

/** Checks the headers of a form. Throws `unsupported_media_type`, then `body_too_large`. */
const checkFormHeaders = (request: IncomingMessage): void => {
  if (!isOfType(contentTypeOf(request), formType))
    throw new DomainError('unsupported_media_type', `A form is sent as ${formType}, in utf-8.`);
  assertSmall(request);
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

const bytesOf = async (exchange: Exchange): Promise<Buffer> => {
  begin(exchange);
  try {
    return await readBytes(exchange.request, (stop) => (exchange.stop = stop));
  } finally {
    exchange.stop = null;
  }
};

export const readBody = async (exchange: Exchange): Promise<JsonObject> => {
  checkHeaders(exchange.request);
  const bytes = await bytesOf(exchange);
  const body = parseObject(bytes);
  // What is done with so much, too, takes a turn of its own.
  if (bytes.length > longBody) await nextTurn();
  return body;
};

export const readForm = async (exchange: Exchange): Promise<ReadonlyMap<string, string>> => {
  checkFormHeaders(exchange.request);
  return parseForm(await bytesOf(exchange));
};

/** Loads the code for uploads when the first one comes: most processes never get one. */
export const readFile = async (exchange: Exchange, limit?: FileLimit): Promise<Upload> => {
  const { request } = exchange;
  if (!isOfType(contentTypeOf(request), 'multipart/form-data'))
    throw new DomainError('unsupported_media_type', 'A file is sent as multipart/form-data.');
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
