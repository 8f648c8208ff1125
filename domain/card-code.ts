import { z } from 'zod';
import type { Brand } from './ids.js';

/**
 * The name of a card on paper and in the API: `HC-`, six payload characters, one check character. (decision
 * 23: the check character of a card code)
 */
export type CardCode = Brand<string, 'CardCode'>;
export const CardCode = z.string().transform((code) => code as CardCode);

/**
 * The 32 characters of a code: digits and letters without I, L, O and U. A character's value is its place in
 * this text. (docs/contract.md#card-fields)
 */
export const codeAlphabet = '0123456789ABCDEFGHJKMNPQRSTVWXYZ';

export const payloadLength = 6;

const prefix = 'HC';

/** Multiplies in GF(32), whose elements are the polynomials over GF(2) modulo the primitive x⁵ + x² + 1. */
const times = (a: number, b: number): number => {
  let product = 0;
  for (let bit = 4; bit >= 0; bit -= 1) {
    product <<= 1;
    if (product & 32) product ^= 0b100101;
    if ((b >> bit) & 1) product ^= a;
  }
  return product;
};

/**
 * The check value that makes the weighted sum of all seven characters zero. The weights are x¹ to x⁶ for the
 * payload and 1 for the check character: none is zero, so a single error shows; all differ, so a swap of any
 * two unlike characters shows.
 */
const checkOf = (payload: readonly number[]): number => {
  let check = 0;
  let weight = 1;
  for (const value of payload) {
    weight = times(weight, 2);
    check ^= times(weight, value);
  }
  return check;
};

/** The code with this payload: six whole numbers from 0 to 31. */
export const cardCode = (payload: readonly number[]): CardCode => {
  const characters = [...payload, checkOf(payload)].map((value) => codeAlphabet.charAt(value));
  return `${prefix}-${characters.join('')}` as CardCode;
};

/** `mistyped`: looks like a code, but its check character is wrong. `unknown`: doesn't look like a code. */
export type ParsedCardCode =
  | { readonly kind: 'code'; readonly code: CardCode }
  | { readonly kind: 'mistyped' }
  | { readonly kind: 'blank' }
  | { readonly kind: 'unknown' };

const shape = /^HC[0-9A-Z]{7}$/;

/**
 * Reads a code as people type it: any case, O for 0, I and L for 1, hyphens and spaces missing or doubled.
 * (decision 23: the check character of a card code)
 */
export const parseCardCode = (text: string): ParsedCardCode => {
  if (text.trim() === '') return { kind: 'blank' };
  const typed = text.replace(/[\s-]+/g, '').replace(/[a-z]+/g, (letters) => letters.toUpperCase());
  if (!shape.test(typed)) return { kind: 'unknown' };
  const characters = typed.slice(prefix.length).replace(/O/g, '0').replace(/[IL]/g, '1');
  const values = [...characters].map((character) => codeAlphabet.indexOf(character));
  if (values.includes(-1)) return { kind: 'unknown' };
  const code = cardCode(values.slice(0, payloadLength));
  return code.endsWith(characters) ? { kind: 'code', code } : { kind: 'mistyped' };
};
