/**
 * The characters that the pen can't write: everything outside its Latin repertoire. A lone surrogate matches
 * by itself. (decision 14: characters beyond the pen)
 */
const beyondThePen = /[^\u0020-\u007e\u00a1-\u024f\u2013\u2014\u2018\u2019\u201c\u201d\u2022\u2026\u20ac]/gu;

/**
 * The distinct characters (code points) that the pen can't write, in the order in which they occur.
 * `lineFeed`: whether line breaks are allowed. (decision 14: characters beyond the pen)
 */
export const unwritable = (text: string, { lineFeed }: { readonly lineFeed: boolean }): string[] => {
  const characters = new Set(text.match(beyondThePen));
  if (lineFeed) characters.delete('\n');
  return [...characters];
};

/** Characters that can't be seen on their own, or that get lost in text: they are named by their number. */
const nameless =
  /[\p{Cc}\p{Cf}\p{Cs}\p{Co}\p{Z}\p{M}\p{Noncharacter_Code_Point}\p{Default_Ignorable_Code_Point}\u2800\ufffc]/u;

/**
 * How a character is named for people: by itself, or as `U+200D` if it can't be seen. Never a lone surrogate.
 */
export const characterName = (character: string): string =>
  nameless.test(character)
    ? `U+${(character.codePointAt(0) ?? 0).toString(16).toUpperCase().padStart(4, '0')}`
    : character;

/**
 * Why a card with such characters is held, in plain words that name them all: `The pen can't write these
 * characters of the message: 😀 U+0009`. (decision 14: characters beyond the pen)
 */
export const penReason = (characters: readonly string[], where: 'message' | 'address'): string => {
  const names = characters.map(characterName).join(' ');
  return characters.length === 1
    ? `The pen can't write this character of the ${where}: ${names}`
    : `The pen can't write these characters of the ${where}: ${names}`;
};
