import { z } from 'zod';
import { DomainError } from './errors.js';
import { unwritable } from './pen.js';
import { isPlainObject } from './plain-object.js';
import { clean, countCharacters } from './text.js';

/** Where a card goes. (spec: Card) */
export const Recipient = z.object({
  name: z.string(),
  line1: z.string(),
  line2: z.string().nullable(),
  city: z.string(),
  state: z.string(),
  zip: z.string(),
  country: z.literal('US'),
});
export type Recipient = z.infer<typeof Recipient>;

/** The address of a contact, as much of it as is known. (decision 43) */
export const AddressParts = z.object({
  line1: z.string().nullable(),
  line2: z.string().nullable(),
  city: z.string().nullable(),
  state: z.string().nullable(),
  zip: z.string().nullable(),
  country: z.literal('US'),
});
export type AddressParts = z.infer<typeof AddressParts>;

/**
 * The 50 states, the District of Columbia, the territories and freely associated states, and the military
 * post offices. (decision 16)
 */
export const states: ReadonlySet<string> = new Set([
  'AL', 'AK', 'AZ', 'AR', 'CA', 'CO', 'CT', 'DE', 'FL', 'GA', 'HI', 'ID', 'IL', 'IN', 'IA', 'KS', 'KY', 'LA', 'ME', 'MD', 'MA', 'MI', 'MN', 'MS', 'MO',
  'MT', 'NE', 'NV', 'NH', 'NJ', 'NM', 'NY', 'NC', 'ND', 'OH', 'OK', 'OR', 'PA', 'RI', 'SC', 'SD', 'TN', 'TX', 'UT', 'VT', 'VA', 'WA', 'WV', 'WI', 'WY',
  'DC', 'AS', 'GU', 'MH', 'FM', 'MP', 'PW', 'PR', 'VI', 'AA', 'AE', 'AP',
]); // prettier-ignore

/** In characters (code points), of a trimmed value. (decision 15) */
const longestField = 200;
const longestLine = 50;
const longestName = 40;

const invalid = (param: string, message: string): DomainError =>
  new DomainError('invalid_recipient', message, param);

/** Line breaks and control characters: an address field is one line. (decision 15) */
const breaksTheLine = /[\p{Cc}\u2028\u2029]/u;

/** Reads the fields of one address object. What it throws names the field: `recipient.zip`. */
interface Fields {
  /** The field's text, or null where it was left out, null or blank. */
  readonly optional: (field: string) => string | null;
  readonly required: (field: string, what: string) => string;
}

/**
 * A value that is longer than its field in any normal form is not normalised, which takes quadratic time on a
 * run of marks.
 */
const readText = (value: string, param: string): string => {
  const text = clean(value);
  const tooLong = countCharacters(text) > 4 * longestField;
  const normal = tooLong ? text : text.normalize('NFC');
  if (tooLong || countCharacters(normal) > longestField)
    throw invalid(param, `\`${param}\` is longer than ${longestField} characters.`);
  if (breaksTheLine.test(normal))
    throw invalid(param, `\`${param}\` must be one line without control characters.`);
  return normal;
};

const fieldsOf = (address: Readonly<Record<string, unknown>>, parent: string): Fields => {
  const optional = (field: string): string | null => {
    const param = `${parent}.${field}`;
    const value = Object.hasOwn(address, field) ? address[field] : null;
    if (value === undefined || value === null) return null;
    if (typeof value === 'string') return readText(value, param) || null;
    throw invalid(
      param,
      field === 'zip' && typeof value === 'number'
        ? `\`${param}\` must be a string: a number loses leading zeros.`
        : `\`${param}\` must be a string.`,
    );
  };
  const required = (field: string, what: string): string => {
    const text = optional(field);
    if (text === null) throw invalid(`${parent}.${field}`, `\`${parent}.${field}\` is missing: ${what}.`);
    return text;
  };
  return { optional, required };
};

const readState = (text: string, param: string): string => {
  const state = /^[A-Za-z]{2}$/.test(text) ? text.toUpperCase() : '';
  if (!states.has(state))
    throw invalid(param, `\`${param}\` must be the two-letter code of a US state or territory.`);
  return state;
};

const readZip = (text: string, param: string): string => {
  const [, five, four] = /^(\d{5})(?:-?(\d{4}))?$/.exec(text) ?? [];
  if (five === undefined) throw invalid(param, `\`${param}\` must be five digits, or nine as 12345-6789.`);
  return four === undefined ? five : `${five}-${four}`;
};

const readCountry = (text: string | null, param: string): 'US' => {
  if (text !== null && !/^(?:US|USA|United States)$/i.test(text))
    throw invalid(param, `\`${param}\` must be US: cards are mailed inside the US only.`);
  return 'US';
};

const readOptional = (
  text: string | null,
  read: (text: string, param: string) => string,
  param: string,
): string | null => (text === null ? null : read(text, param));

/**
 * The address that a client sends; fields that it does not know are ignored.
 * Throws `invalid_recipient` with the first field at fault, in the order of the specification's table. (spec:
 * POST cards; decisions 7, 15, 16)
 */
export const parseRecipient = (value: unknown): Recipient => {
  if (!isPlainObject(value))
    throw invalid(
      'recipient',
      '`recipient` must be one address as an object: one card a request, to one recipient.',
    );
  const { optional, required } = fieldsOf(value, 'recipient');
  return {
    name: required('name', 'who the envelope is addressed to'),
    line1: required('line1', 'the street line'),
    line2: optional('line2'),
    city: required('city', 'the city'),
    state: readState(required('state', 'a two-letter US state code'), 'recipient.state'),
    zip: readZip(required('zip', 'five digits, or nine as 12345-6789'), 'recipient.zip'),
    country: readCountry(optional('country'), 'recipient.country'),
  };
};

/**
 * The address of a contact; left out or null, nothing of it is known. Throws `invalid_recipient` with the
 * part at fault: `address.zip`. (decision 43)
 */
export const parseAddressParts = (value: unknown): AddressParts => {
  const address = value ?? {};
  if (!isPlainObject(address)) throw invalid('address', '`address` must be an object.');
  const { optional } = fieldsOf(address, 'address');
  return {
    line1: optional('line1'),
    line2: optional('line2'),
    city: optional('city'),
    state: readOptional(optional('state'), readState, 'address.state'),
    zip: readOptional(optional('zip'), readZip, 'address.zip'),
    country: readCountry(optional('country'), 'address.country'),
  };
};

/** Why a card with this address is held, or null: parts that are too long for the envelope. (decision 15) */
export const doesNotFit = ({ name, line1, line2 }: Recipient): string | null => {
  const limits = [
    ['name', name, longestName],
    ['line1', line1, longestLine],
    ['line2', line2 ?? '', longestLine],
  ] as const;
  const reasons = limits
    .filter(([, text, longest]) => countCharacters(text) > longest)
    .map(
      ([field, text, longest]) =>
        `${field} does not fit the envelope: it has ${countCharacters(text)} characters, and there is room for ${longest}`,
    );
  return reasons.length === 0 ? null : `The recipient's ${reasons.join('; ')}`;
};

/**
 * The distinct characters of name and address that the pen can't write, in the order of the envelope.
 * (decision 14)
 */
export const unwritableInAddress = ({ name, line1, line2, city }: Recipient): string[] =>
  unwritable([name, line1, line2 ?? '', city].join(' '), { lineFeed: false });
