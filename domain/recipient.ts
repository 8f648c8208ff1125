import { z } from 'zod';
import { DomainError } from './errors.js';
import { mergeFieldIn, quoteOf } from './message.js';
import { nearestOf } from './nearest.js';
import { unwritable } from './pen.js';
import { countCharacters, limitedText, truncate, withMaxLength, type TextRule } from './text.js';

/** Where a card goes. (docs/contract.md#card-fields) */
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

const lastLine = ({ city, state, zip }: Recipient): string => `${city} ${state} ${zip}`;

/** An address as it is written on an envelope. */
export const addressLines = (recipient: Recipient): readonly string[] =>
  [recipient.name, recipient.line1, recipient.line2, lastLine(recipient)].filter((line) => line !== null);

/** The address of a contact, as far as it is known. (decision 43: the address and email of a contact) */
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
 * post offices, by their names. (decision 16: states, ZIP codes, country)
 */
const stateCodes: ReadonlyMap<string, string> = new Map(Object.entries({
  alabama: 'AL', alaska: 'AK', arizona: 'AZ', arkansas: 'AR', california: 'CA', colorado: 'CO', connecticut: 'CT', delaware: 'DE', florida: 'FL',
  georgia: 'GA', hawaii: 'HI', idaho: 'ID', illinois: 'IL', indiana: 'IN', iowa: 'IA', kansas: 'KS', kentucky: 'KY', louisiana: 'LA', maine: 'ME',
  maryland: 'MD', massachusetts: 'MA', michigan: 'MI', minnesota: 'MN', mississippi: 'MS', missouri: 'MO', montana: 'MT', nebraska: 'NE',
  nevada: 'NV', 'new hampshire': 'NH', 'new jersey': 'NJ', 'new mexico': 'NM', 'new york': 'NY', 'north carolina': 'NC', 'north dakota': 'ND',
  ohio: 'OH', oklahoma: 'OK', oregon: 'OR', pennsylvania: 'PA', 'rhode island': 'RI', 'south carolina': 'SC', 'south dakota': 'SD', tennessee: 'TN',
  texas: 'TX', utah: 'UT', vermont: 'VT', virginia: 'VA', washington: 'WA', 'west virginia': 'WV', wisconsin: 'WI', wyoming: 'WY',
  'district of columbia': 'DC', 'washington dc': 'DC', 'american samoa': 'AS', guam: 'GU', 'marshall islands': 'MH', 'federated states of micronesia': 'FM', micronesia: 'FM',
  'northern mariana islands': 'MP', palau: 'PW', 'puerto rico': 'PR', 'virgin islands': 'VI', 'us virgin islands': 'VI', 'u.s. virgin islands': 'VI',
  'armed forces americas': 'AA', 'armed forces africa': 'AE', 'armed forces canada': 'AE', 'armed forces europe': 'AE', 'armed forces middle east': 'AE',
  'armed forces pacific': 'AP', 'armed forces (aa)': 'AA', 'armed forces (ae)': 'AE', 'armed forces (ap)': 'AP',
})); // prettier-ignore
export const states: ReadonlySet<string> = new Set(stateCodes.values());

/** The two letters of the state with this name; null if there is none. */
export const stateNamed = (name: string): string | null => stateCodes.get(name.toLowerCase()) ?? null;

let countries: ReadonlySet<string | undefined> | null = null;
/** Whether this is the name of a country in English. Making all of them takes long: not before the first. */
const isCountry = (name: string): boolean => {
  if (countries === null) {
    const letters = [...'ABCDEFGHIJKLMNOPQRSTUVWXYZ'];
    const regions = new Intl.DisplayNames('en', { type: 'region' });
    countries = new Set(letters.flatMap((a) => letters.map((b) => regions.of(a + b)?.toLowerCase())));
  }
  return countries.has(name);
};

/** The state that was probably meant. A country is no mistyped state, and Africa no mistyped Americas. */
const proposed = (part: string): string | null => {
  const [, name = '', code = ''] = /^(.*?) *(?:\((..)\).*)?$/.exec(part.toLowerCase()) ?? [];
  const exact = stateNamed(part) ?? stateNamed(name);
  if (exact !== null || isCountry(name)) return exact;
  if (states.has(code.toUpperCase())) return code.toUpperCase();
  const isName = part.replaceAll(/[^a-z]/gi, '').length > 2;
  const known = [...stateCodes].filter(([each]) => !isName || !each.startsWith('armed forces'));
  return nearestOf(known, (state) => [part, state[isName ? 0 : 1]])?.[1] ?? null;
};

/** The longest part of an address, in characters (code points). (decision 15: how long an address may be) */
const maxPartLength = 200;
/**
 * How much fits on the envelope, in characters: a card with more is held. (decision 15: how long an address
 * may be)
 */
export const maxLineLength = 50;
export const maxNameLength = 40;

const invalid = (message: string): DomainError => new DomainError('invalid_recipient', message);

/**
 * Line breaks and control characters: a part of an address is one line. (decision 15: how long an address may
 * be)
 */
const breaksTheLine = /[\p{Cc}\u2028\u2029]/u;

const limited = limitedText(maxPartLength, (length) =>
  invalid(`A part of an address may have at most ${maxPartLength} characters, not ${length}.`),
);

/** The rule of a part of an address: the common checks, then `read`. */
const partRule =
  <T>(read: (text: string) => T): TextRule<T> =>
  (text) => {
    const part = limited(text);
    if (part === '') return null;
    if (breaksTheLine.test(part))
      throw invalid('A part of an address must be one line without control characters.');
    return read(part);
  };

/** A name, a street line or a city. Throws `invalid_recipient`. (decision 15: how long an address may be) */
export const addressPart: TextRule<string> = withMaxLength(
  maxPartLength,
  partRule((part) => part),
);

/**
 * A state as its two letters, in upper case. Throws `invalid_recipient`. (decision 16: states, ZIP codes,
 * country)
 */
export const readState = partRule((part) => {
  const state = /^[A-Za-z]{2}$/.test(part) ? part.toUpperCase() : '';
  if (states.has(state)) return state;
  const meant = proposed(part);
  throw invalid(
    `The state must be the two-letter code of a US state or territory, not \`${truncate(part, 40)}\`.${meant === null ? '' : ` Did you mean \`${meant}\`?`}`,
  );
});

/**
 * A ZIP code as it is stored: five digits, or nine with a hyphen. Throws `invalid_recipient`. (decision 16:
 * states, ZIP codes, country)
 */
export const readZip = partRule((part) => {
  const [, five, four] = /^(\d{5})(?:-?(\d{4}))?$/.exec(part) ?? [];
  if (five === undefined) throw invalid('The ZIP code must be five digits, or nine as 12345-6789.');
  return four === undefined ? five : `${five}-${four}`;
});

/** Territories that shops send as countries. */
const territories = ['PR', 'GU', 'VI', 'AS', 'MP'] as const;
export type SentCountry = 'US' | (typeof territories)[number];

/**
 * The country, by any of its usual names, or a territory as `withinUs` takes it. Throws `invalid_recipient`.
 * (decision 16: states, ZIP codes, country)
 */
export const readCountry = partRule((part): SentCountry => {
  if (/^(?:US|USA|United States)$/i.test(part)) return 'US';
  const territory = territories.find((code) => code === part.toUpperCase());
  if (territory === undefined)
    throw invalid(
      `The country must be US, not \`${truncate(part, 40)}\`: cards are mailed inside the US only.`,
    );
  return territory;
});

/**
 * An address in the US, where a territory that was sent as the country is its state. Throws
 * `invalid_recipient` for another state. (decision 16: states, ZIP codes, country)
 */
export const withinUs = <Address extends { readonly state: string | null; readonly country: SentCountry }>(
  address: Address,
  param: string,
) => {
  const { country } = address;
  const state: Address['state'] | SentCountry = country === 'US' ? address.state : country;
  if (address.state !== null && state !== address.state)
    throw new DomainError(
      'invalid_recipient',
      `The state ${address.state} is not in ${country}: send the state ${country}, or the country US.`,
      `${param}.state`,
    );
  return { ...address, state, country: 'US' as const };
};

/**
 * Why a card with this address is held: the parts that are too long for the envelope. Null if there are none.
 * (decision 15: how long an address may be)
 */
export const doesNotFit = (recipient: Recipient): string | null => {
  const limits = [
    ['name', recipient.name, maxNameLength],
    ['line1', recipient.line1, maxLineLength],
    ['line2', recipient.line2 ?? '', maxLineLength],
    ['last line (city, state and ZIP code)', lastLine(recipient), maxLineLength],
  ] as const;
  const reasons = limits
    .filter(([, text, longest]) => countCharacters(text) > longest)
    .map(
      ([field, text, longest]) =>
        `${field} does not fit the envelope: it has ${countCharacters(text)} characters, and there is room for ${longest}`,
    );
  return reasons.length === 0 ? null : `The recipient's ${reasons.join('; ')}`;
};

/** Matches what programs write for no text. Only a whole part counts: Null is a surname, and Nan a name. */
const noText = /^(?:(?:undefined|null|\[object \w+\])(?: |$))+$/i;

/** Why a card with this address is held: the parts that a program left open. Null if there are none. */
export const notFilledIn = ({ name, line1, line2, city }: Recipient): string | null => {
  const reasons = Object.entries({ name, line1, line2: line2 ?? '', city }).flatMap(([part, text]) => {
    const found = text === 'NaN' || noText.test(text) ? text : mergeFieldIn(text);
    return found === null ? [] : [`${part} was not filled in: ${quoteOf(found)}`];
  });
  return reasons.length === 0 ? null : `The recipient's ${reasons.join('; ')}`;
};

/**
 * The distinct characters in the name and the address that the pen can't write, in the order of the envelope.
 * (decision 14: characters beyond the pen)
 */
export const unwritableInAddress = ({ name, line1, line2, city }: Recipient): string[] =>
  unwritable([name, line1, line2 ?? '', city].join(' '), { lineFeed: false });
