import type { StoredTexts } from '../../application/log/hash-chain.js';

const field = '"personal":';

/**
 * Takes the field `personal` out of the stored text of an object, written as this service writes JSON: the
 * server keeps data and personal data in one text. Looks at each character once and parses nothing.
 */
export const splitText = (text: string): { readonly data: string; readonly personal: string | null } => {
  const begin = memberAt(text);
  if (begin === null) return { data: text, personal: null };
  const end = endOfValue(text, begin + field.length);
  const personal = text.slice(begin + field.length, end);
  const isFirst = text[begin - 1] === '{';
  // With the field goes one comma: the one before it, or the one after it if it is the first of several.
  const before = text.slice(0, isFirst ? begin : begin - 1);
  const after = text.slice(isFirst && text[end] === ',' ? end + 1 : end);
  return { data: `${before}${after}`, personal };
};

/** The text of an object with the field `personal` at its end; `splitText` is the inverse. */
export const joinTexts = ({ data, personal }: Pick<StoredTexts, 'data' | 'personal'>): string =>
  personal === null ? data : `${data.slice(0, -1)}${data === '{}' ? '' : ','}${field}${personal}}`;

/** Where the field `personal` of the object itself begins; null if it has none. */
const memberAt = (text: string): number | null => {
  if (!text.includes(field)) return null;
  for (let at = 1; at < text.length - 1;) {
    if (text.startsWith(field, at)) return at;
    const end = endOfValue(text, endOfString(text, at) + 1);
    at = end + 1;
  }
  return null;
};

/** Behind the closing quotation mark of the string that begins here. */
const endOfString = (text: string, begin: number): number => {
  let at = begin + 1;
  while (at < text.length && text[at] !== '"') at += text[at] === '\\' ? 2 : 1;
  return at + 1;
};

/** Behind the value that begins here: at the comma or bracket that follows it. */
const endOfValue = (text: string, begin: number): number => {
  let depth = 0;
  for (let at = begin; at < text.length;) {
    const character = text[at];
    if (character === '"') {
      at = endOfString(text, at);
      continue;
    }
    if (depth === 0 && (character === ',' || character === '}' || character === ']')) return at;
    if (character === '{' || character === '[') depth += 1;
    if (character === '}' || character === ']') depth -= 1;
    at += 1;
  }
  return text.length;
};
