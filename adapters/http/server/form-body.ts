import { isUtf8 } from 'node:buffer';
import type { IncomingMessage } from 'node:http';
import { DomainError } from '../../../domain/errors.js';
import { assertSmall } from './json-body.js';
import { isOfType } from './media-types.js';

const maxFields = 200;
const formType = 'application/x-www-form-urlencoded';

/** Checks the headers of a form. Throws `unsupported_media_type`, then `body_too_large`. */
export const checkFormHeaders = (request: IncomingMessage): void => {
  if (!isOfType(request.headers['content-type'], formType))
    throw new DomainError('unsupported_media_type', `A form is sent as ${formType}, in utf-8.`);
  assertSmall(request);
};

/**
 * The fields of a form, trimmed. Throws `invalid_body` if there are more than 200, one comes twice, or it is
 * not UTF-8.
 */
export const parseForm = (bytes: Buffer): ReadonlyMap<string, string> => {
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
