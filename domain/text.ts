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

/**
 * A message as it is counted, stored and written: nothing invisible, LF as the only line break, NFC, no white
 * space at either end. Takes quadratic time on a run of marks: bound the text's length first. (decision 12)
 */
export const normaliseMessage = (text: string): string =>
  stripInvisible(text).replace(/\r\n?/g, '\n').normalize('NFC').trim();

/**
 * The name of a handwriting as it is compared: two names are one where these are equal. The way over upper
 * case makes `ß`, `ẞ` and `SS` one. (decision 36)
 */
export const foldName = (name: string): string => name.trim().toLowerCase().toUpperCase().toLowerCase();
