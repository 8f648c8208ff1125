import { DomainError } from './errors.js';
import { countCharacters, limitedText, truncate, withMaxLength } from './text.js';

/** The longest message, in characters (code points). (docs/contract.md#limits) */
export const maxMessageLength = 500;

/**
 * The brackets of templates around the name of a field. Single braces are plain text. (decision 13: what
 * looks like a merge field)
 */
const brackets: readonly (readonly [open: string, close: string])[] = [
  ['{{', '}}'],
  ['[[', ']]'],
  ['*|', '|*'],
  ['<<', '>>'],
  ['«', '»'],
  ['${', '}'],
];

/**
 * The first text that looks like a merge field: a pair of such brackets with anything or nothing between
 * them, line breaks included. Null if there is none. Takes linear time. (decision 13: what looks like a merge
 * field)
 */
export const mergeFieldIn = (text: string): string | null => {
  const fields = brackets.flatMap(([open, close]) => {
    const from = text.indexOf(open);
    const to = from < 0 ? -1 : text.indexOf(close, from + open.length);
    return to < 0 ? [] : [{ from, field: text.slice(from, to + close.length) }];
  });
  return fields.toSorted((a, b) => a.from - b.from)[0]?.field ?? null;
};

const tooLong = (length: number): DomainError =>
  new DomainError(
    'message_too_long',
    `The message has ${length} characters, and a card has room for at most ${maxMessageLength}. Shorten it by ${length - maxMessageLength}.`,
  );

/** How much of a merge field is quoted, in characters. */
const maxQuoteLength = 40;

/** A merge field, or the beginning of a long one. */
export const quoteOf = (field: string): string =>
  countCharacters(field) > maxQuoteLength ? `${truncate(field, maxQuoteLength)}…` : field;

const broken = (field: string): DomainError =>
  new DomainError(
    'broken_merge_field',
    `The message still contains a merge field: ${quoteOf(field)}. Send the finished text.`,
  );

const limited = limitedText(maxMessageLength, tooLong);

/**
 * The message of a card as it is stored and written; a filled-in template is read in the same way. Throws
 * `missing_message`, `message_too_long` or `broken_merge_field`, in this order. (decision 2: of several wrong
 * fields, one is reported; decision 12: how a message is counted)
 */
export const readMessage = withMaxLength(maxMessageLength, (text): string => {
  const message = limited(text);
  if (message === '') throw new DomainError('missing_message', 'A card needs a message: the finished text.');
  const field = mergeFieldIn(message);
  if (field !== null) throw broken(field);
  return message;
});
