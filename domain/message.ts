import { DomainError } from './errors.js';
import { countCharacters, limitedText, truncate } from './text.js';

/** The longest message, in characters (code points). (spec: POST /api/v1/cards) */
export const longestMessage = 500;

/** What templates put around a field's name. Single braces are plain text. (decision 13) */
const brackets: readonly (readonly [open: string, close: string])[] = [
  ['{{', '}}'],
  ['[[', ']]'],
  ['*|', '|*'],
  ['<<', '>>'],
  ['«', '»'],
  ['${', '}'],
];

/**
 * The first thing in a text that is shaped like a merge field, or null: a pair of such brackets with anything
 * or nothing between them, line breaks included. Takes linear time. (decision 13)
 */
export const mergeFieldIn = (text: string): string | null => {
  const fields = brackets.flatMap(([open, close]) => {
    const from = text.indexOf(open);
    const to = from < 0 ? -1 : text.indexOf(close, from + open.length);
    return to < 0 ? [] : [{ from, field: text.slice(from, to + close.length) }];
  });
  return fields.toSorted((a, b) => a.from - b.from)[0]?.field ?? null;
};

const missing = (): DomainError =>
  new DomainError('missing_message', 'A card needs a message: the finished text.');

const tooLong = (length: number): DomainError =>
  new DomainError(
    'message_too_long',
    `The message has ${length} characters. At most ${longestMessage} fit inside a card: shorten it by ${length - longestMessage}.`,
  );

/** How much of a merge field is quoted, in characters. */
const longestQuote = 40;

const broken = (field: string): DomainError => {
  const quote = countCharacters(field) > longestQuote ? `${truncate(field, longestQuote)}…` : field;
  return new DomainError(
    'broken_merge_field',
    `The message still has a merge field in it: ${quote}. Send the finished text.`,
  );
};

const limited = limitedText(longestMessage, tooLong);

/**
 * The message of a card as it is stored and written; a template is read in the same way once it is filled in.
 * Throws `missing_message`, `message_too_long` or `broken_merge_field`, in this order. (decisions 2, 7, 12,
 * 13, 48)
 */
export const readMessage = Object.assign(
  (text: string): string => {
    const message = limited(text);
    if (message === '') throw missing();
    const field = mergeFieldIn(message);
    if (field !== null) throw broken(field);
    return message;
  },
  { longest: longestMessage },
);
