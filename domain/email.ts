import { capture, DomainError, type Captured } from './errors.js';
import { countCharacters, isBlank, normaliseText, withMaxLength, type TextRule } from './text.js';

export const maxEmailLength = 320;

const longest = 4 * maxEmailLength;
const named = /<([^<>@]*@[^<>]*)>/;
/** No letter has as many, and normalising takes quadratic time for them. */
const tooManyMarks = /(?<!\p{M})(\p{M}{30})\p{M}+/gu;

/** Nothing invisible, no space beside the `@`, NFC, lower case. */
const folded = (text: string): string =>
  normaliseText(text.replace(/\p{Default_Ignorable_Code_Point}/gu, '').replace(tooManyMarks, '$1'))
    .replace(/\p{Cc}/gu, ' ')
    .replace(/(?<!\s)\s+(?=@)|(?<=@)\s+/g, '')
    .toLowerCase()
    .normalize('NFC');

/**
 * Normalises an e-mail address from any source: nothing invisible, NFC, lower case, and only the address of
 * `Name <address>`, `address (Name)`, `"address"` or `mailto:address`. (decision 75: one reading of an e-mail
 * address)
 */
export const foldEmail = (text: string): string => {
  // No address is as long, and normalising takes long.
  if (text.length > longest) return text.trim().toLowerCase();
  const shown = folded(text);
  return (named.exec(shown)?.[1] ?? shown)
    .replace(/\([^()@]*\)/g, '')
    .trim()
    .replace(/^mailto:([^?]*)(\?[^@]*)?$/, '$1')
    .replace(/(?<![;,.\s])[;,.\s]+$/, '')
    .replace(/^(["'])(.*)\1$/s, '$2');
};

const refusal = (message: string): DomainError => new DomainError('invalid_parameter', message);

/** The rule of an e-mail address. Throws `invalid_parameter` if it is too long. */
export const readEmail: TextRule = withMaxLength(maxEmailLength, (text) => {
  const email = foldEmail(text);
  const length = countCharacters(email);
  if (length > maxEmailLength)
    throw refusal(`An e-mail address has at most ${maxEmailLength} characters, not ${length}.`);
  return email === '' ? null : email;
});

const sign = /[^\s<>()[\]"“”„‘’‚«»`,;:@]/.source;
/** Whatever might be an address. */
const addresses = new RegExp(`(?<!${sign})${sign}+@${sign}+`, 'g');
/** Begins as names do: a sign before it may be left over from a list or a quotation. */
const local = /_*[\p{Ll}\p{Lo}\p{Nd}][\p{L}\p{M}\p{Nd}.!#$%&'*+/?^_{}~-]*/u.source;
const host = /(?:[\p{L}\p{M}\p{Nd}-]+\.)*[\p{L}\p{M}\p{Nd}-]*[\p{Ll}\p{Lo}\p{Nd}]\p{M}*/u.source;
/** Exactly one, with nothing around it. No mark that only decorates: none beside ASCII is left in NFC. */
const address = new RegExp(String.raw`^(?!.*[\0-\x7f]\p{M})${local}@${host}$`, 'u');
/** Disguises an `@`, or is left over from another way of writing: no part of an address. */
const disguise = /%[0-9a-f]{2}|&(?:#0*64|#x0*40|commat);|\\|[[({]\s?at\s?[\])}]|\sat\s/;

/** Whether it has no other spelling. One by one: a few letters stand for many. */
const isPlain = (text: string): boolean =>
  Array.from(text).every((letter) => letter.normalize('NFKC') === letter);

/** Whether a folded text has no `@`, not even in disguise, or is exactly one address. */
const isClear = (email: string): boolean => {
  if (disguise.test(email)) return false;
  return /[@＠﹫]/.test(email) ? address.test(email) && isPlain(email) : true;
};

/**
 * An address as the do-not-mail list compares it: `bücher.example` is `xn--bcher-kva.example`. (decision 75:
 * one reading of an e-mail address)
 */
export const comparedEmail = (text: string): string => {
  const email = foldEmail(text);
  const [name, sent] = email.split('@');
  const url = `http://${sent}`;
  return address.test(email) && !/^[\0-\x7f]*$/.test(url) && URL.canParse(url)
    ? `${name}@${new URL(url).hostname}`
    : email;
};

/** The same, where it must look like an address. Throws `invalid_parameter`. */
export const readMailbox: TextRule = withMaxLength(maxEmailLength, (text) => {
  const email = readEmail(text);
  if (email !== null && !(email.includes('@') && isClear(email)))
    throw refusal('This must be an e-mail address, such as ada@example.com.');
  return email;
});

/** A list of one is that one. */
export const onlyItem = (value: unknown): unknown =>
  Array.isArray(value) && value.length === 1 ? (value[0] as unknown) : value;

/**
 * The address in a payload; null if it has none. A refusal if it has one that can't be identified. (decision
 * 75: one reading of an e-mail address)
 */
export const emailIn = (sent: unknown): Captured<string | null> =>
  capture(() => {
    const value = onlyItem(sent) ?? null;
    if (value === null || (typeof value === 'string' && isBlank(value))) return null;
    if (typeof value !== 'string') throw refusal('An e-mail address is a text.');
    const email = readEmail(value);
    const shown = folded(value);
    const found = shown.match(addresses)?.map((each) => each.replace(/^'|'$/g, ''));
    if (new Set(found).size > 1) throw refusal('These are several e-mail addresses.');
    if (!isClear(email?.includes('@') === true ? email : shown)) throw refusal('This is no e-mail address.');
    return email;
  });

/** Whether there is no address in what was read, and none may hide there: `n/a` has none. */
export const hasNoEmail = (email: Captured<string | null>): boolean =>
  'value' in email && email.value?.includes('@') !== true;
