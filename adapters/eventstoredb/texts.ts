import type { StoredTexts } from '../../application/log/hash-chain.js';

const field = '"personal":';
/** What a member of an object can begin or end with: strings, brackets and commas. */
const tokens = /"[^"\\]*(?:\\.[^"\\]*)*"|[[\]{},]/g;

/** From the field `personal` of the object itself to behind its value; null if it has none. */
const memberOf = (text: string): readonly [begin: number, end: number] | null => {
  if (!text.includes(field)) return null;
  let begin: number | null = null;
  let depth = 0;
  for (const { 0: token, index } of text.matchAll(tokens)) {
    const closes = token === '}' || token === ']';
    if (begin !== null && depth === 1 && (closes || token === ',')) return [begin, index];
    if (depth === 1 && text.startsWith(field, index)) begin = index;
    if (token === '{' || token === '[') depth += 1;
    if (closes) depth -= 1;
  }
  return begin === null ? null : [begin, text.length];
};

/**
 * Takes the field `personal` out of the stored text of an object, written as this service writes JSON: the
 * server keeps data and personal data in one text. Parses nothing.
 */
export const splitText = (text: string): { readonly data: string; readonly personal: string | null } => {
  const member = memberOf(text);
  if (member === null) return { data: text, personal: null };
  const [begin, end] = member;
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
