/**
 * Zero-width characters (U+200B–200D, U+2060–2064, U+FEFF) and the bidi controls (U+061C, U+200E, U+200F,
 * U+202A–202E, U+2066–2069): nothing of them shows on paper. The soft hyphen stays: the pen's repertoire has
 * it. Variation selectors and marks stay: they change what is written. (decisions 12, 14, 15)
 */
const invisible = /[\u061c\u200b-\u200f\u202a-\u202e\u2060-\u2064\u2066-\u2069\ufeff]/g;

/** The text without zero-width characters and bidi controls. (decisions 12, 15) */
export const stripInvisible = (text: string): string => text.replace(invisible, '');

/** Text as it is kept: what doesn't show is taken out first, then white space at both ends. (decision 15) */
export const clean = (text: string): string => stripInvisible(text).trim();

const blank = /^[\s\u061c\u200b-\u200f\u202a-\u202e\u2060-\u2064\u2066-\u2069\ufeff]*$/;

/** Whether a text shows nothing: what `clean` leaves of it is empty. */
export const isBlank = (text: string): boolean => blank.test(text);

/** How many characters (code points) a text has. A lone surrogate counts as one. */
export const countCharacters = (text: string): number => {
  let count = 0;
  for (const _ of text) count += 1;
  return count;
};

/** The first `length` characters (code points) of a text: no surrogate pair is torn. (decision 25) */
export const truncate = (text: string, length: number): string => {
  let end = 0;
  let count = 0;
  for (const character of text) {
    if (count === length) break;
    count += 1;
    end += character.length;
  }
  return text.slice(0, end);
};

/** Text that is in normal form already: most is. */
const plain = /^[\n -~]*$/;

/**
 * A text as it is counted, stored and written: nothing invisible, LF as the only line break, NFC, no white
 * space at either end. Takes quadratic time on a run of marks: bound the text's length first. (decision 12)
 */
export const normaliseText = (text: string): string =>
  plain.test(text) ? text.trim() : stripInvisible(text).replace(/\r\n?/g, '\n').normalize('NFC').trim();

/**
 * Reads a text: returns its value or throws a DomainError; null if the text shows nothing, which counts as
 * blank. `longest`: the most characters (code points) that it accepts, if there is a limit; the OpenAPI
 * document states it.
 */
export interface TextRule<T = string> {
  (text: string): T | null;
  readonly longest?: number;
}

/** Normal form C makes at most four characters one: a text that is longer than this stays too long. */
const shrinks = 4;

/**
 * The rule of a text of at most `longest` characters, counted in the form in which it is kept; `tooLong`
 * makes the refusal of so many. A text that is certainly too long is not normalised.
 */
export const limitedText = (
  longest: number,
  tooLong: (length: number) => Error,
  keep: (text: string) => string = normaliseText,
) => {
  const refuseOver = (limit: number, text: string): void => {
    const length = text.length > limit ? countCharacters(text) : 0;
    if (length > limit) throw tooLong(length);
  };
  const read = (text: string): string => {
    if (text.length > shrinks * longest) refuseOver(shrinks * longest, clean(text));
    const kept = keep(text);
    refuseOver(longest, kept);
    return kept;
  };
  return Object.assign(read, { longest });
};

/**
 * The name of a handwriting as it is compared: two names are one where these are equal. The way over upper
 * case makes `ß`, `ẞ` and `SS` one. (decision 36)
 */
export const foldName = (name: string): string => name.trim().toLowerCase().toUpperCase().toLowerCase();
