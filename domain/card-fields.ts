import { capture, DomainError, type Captured, type ErrorCode } from './errors.js';
import { parseMessage } from './message.js';
import { parseRecipient, type Recipient } from './recipient.js';
import { ownProperty, type Payload } from './template.js';
import { truncate } from './text.js';

/**
 * The fields of a card as they were asked for, each read by itself: the first refusal in order is the one to
 * report. (decision 2)
 */
export interface CardFields {
  readonly recipient: Captured<Recipient>;
  readonly message: Captured<string>;
  /** Text still: whether it is a date, and one that can be honored, depends on today. */
  readonly arriveOn: Captured<string | null>;
  readonly handwriting: Captured<string | null>;
  readonly designId: Captured<string | null>;
  readonly reference: Captured<string | null>;
}

/**
 * A trimmed text, or null where the field was left out. An empty text is a value: these fields never guess on
 * paper. (decisions 7, 8)
 */
const readText = (fields: Payload, field: string, code: ErrorCode): Captured<string | null> => {
  const value = ownProperty(fields, field) ?? null;
  if (value === null) return { value: null };
  return typeof value === 'string'
    ? { value: value.trim() }
    : { refusal: new DomainError(code, `\`${field}\` must be a string.`, field) };
};

const longestReference = 40;

/**
 * A reference as it is kept, and as the list's filter compares it: cut at 40 characters; a number is one too,
 * blank is none. (decisions 7, 25)
 */
export const parseReference = (value: unknown): string | null => {
  if (value === undefined || value === null) return null;
  if (typeof value !== 'string' && (typeof value !== 'number' || !Number.isFinite(value)))
    throw new DomainError('invalid_parameter', '`reference` must be a string or a number.', 'reference');
  const text = truncate(String(value).trim(), longestReference);
  return text === '' ? null : text;
};

/** Reads the body of POST /api/v1/cards, or what a hook's payload asks for in the same fields. */
export const readCardFields = (fields: Payload): CardFields => ({
  recipient: capture(() => parseRecipient(ownProperty(fields, 'recipient'))),
  message: capture(() => parseMessage(ownProperty(fields, 'message'))),
  arriveOn: readText(fields, 'arrive_on', 'invalid_date'),
  handwriting: readText(fields, 'handwriting', 'unknown_handwriting'),
  designId: readText(fields, 'design_id', 'design_not_found'),
  reference: capture(() => parseReference(ownProperty(fields, 'reference'))),
});
