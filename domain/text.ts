/**
 * The soft hyphen, zero-width characters (U+200B–200D, U+2060–2064, U+FEFF) and the bidi controls (U+061C,
 * U+200E, U+200F, U+202A–202E, U+2066–2069): none of them shows on paper. Variation selectors and marks stay,
 * because they change what is written. (decision 12: how a message is counted; decision 15: how long an
 * address may be)
 */
const invisible = /[\u00ad\u061c\u200b-\u200f\u202a-\u202e\u2060-\u2064\u2066-\u2069\ufeff]/g;

/** The text without zero-width characters and bidi controls. */
export const stripInvisible = (text: string): string => text.replace(invisible, '');

/** Strips invisible characters, then white space at both ends. (decision 15: how long an address may be) */
export const clean = (text: string): string => stripInvisible(text).trim();

const visible = new RegExp(`[^\\s${invisible.source.slice(1)}`);

/** Whether nothing of a text shows. */
export const isBlank = (text: string): boolean => !visible.test(text);

/** How many characters (code points) a text has. A lone surrogate counts as one. */
export const countCharacters = (text: string): number => {
  let count = 0;
  for (const _ of text) count += 1;
  return count;
};

/**
 * The first `length` characters (code points) of a text: no surrogate pair is split. (decision 25: where a
 * reference is cut)
 */
export const truncate = (text: string, length: number): string =>
  // A character has at most two units of UTF-16.
  Array.from(text.slice(0, 2 * length))
    .slice(0, length)
    .join('');

/** Spaces of any width: on paper each is a space. (decision 14: characters beyond the pen) */
const wideSpaces = /[\u00a0\u2000-\u200a\u202f\u205f\u3000]/g;

/** Text that is in normal form already, as most is. */
const plain = /^[\n -~]*$/;

/**
 * A text as it is counted, stored and written: nothing invisible, LF as the only line break, one kind of
 * space, NFC, no white space at either end. Takes quadratic time for a long run of combining marks: limit the
 * length first. (decision 12: how a message is counted)
 */
export const normaliseText = (text: string): string =>
  plain.test(text)
    ? text.trim()
    : stripInvisible(text).replace(/\r\n?/g, '\n').replace(wideSpaces, ' ').normalize('NFC').trim();

/**
 * Reads a text: returns its value, or null if nothing of the text shows, which counts as blank. Throws a
 * DomainError. `maxLength`, in characters (code points), is stated by the OpenAPI document.
 */
export interface TextRule<T = string> {
  (text: string): T | null;
  readonly maxLength?: number;
}

/** Control characters, line breaks and halves of surrogate pairs. */
const unwritable = /[\p{Cc}\p{Cs}\u2028\u2029]+/gu;

/** The rule of a name or a reason that a person gives: one line, with a space for what can't be written. */
export const readLine: TextRule = (text) => {
  const line = text.replace(unwritable, ' ').trim();
  return isBlank(line) ? null : line;
};

/** A rule that states its longest text. */
export const withMaxLength = <T>(maxLength: number, read: (text: string) => T) =>
  Object.assign(read, { maxLength });

/** NFC makes at most four characters one: a text more than four times too long stays too long. */
const shrinks = 4;

/**
 * The rule of a text of at most `maxLength` characters, counted in the form that `keep` gives it. `tooLong`
 * makes the refusal from the number of characters.
 */
export const limitedText = (
  maxLength: number,
  tooLong: (length: number) => Error,
  keep: (text: string) => string = normaliseText,
) => {
  const refuseOver = (limit: number, text: string): void => {
    const length = text.length > limit ? countCharacters(text) : 0;
    if (length > limit) throw tooLong(length);
  };
  return withMaxLength(maxLength, (text): string => {
    if (text.length > shrinks * maxLength) refuseOver(shrinks * maxLength, clean(text));
    const kept = keep(text);
    refuseOver(maxLength, kept);
    return kept;
  });
};

/** No name is as long, and normalising takes long. */
const maxFolded = 1_000;

/**
 * The name of a handwriting as it is compared. Upper case in between makes `ß`, `ẞ` and `SS` the same.
 * (decision 36: how handwritings are compared)
 */
export const foldName = (name: string): string => {
  const folded = name.trim().toLowerCase().toUpperCase().toLowerCase();
  return folded.length > maxFolded ? folded : folded.normalize('NFC');
};
