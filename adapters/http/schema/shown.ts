import { z } from 'zod';

/** The things that examples in the documents name: each has one id everywhere. */
export const examples = {
  organization: '9b2d6c3a-51f4-4f0e-8c8a-2f7d3e1b0a64',
  uuid: '4f9d1c1e-7f0b-4f0a-9a53-0d2f6b7c8e91',
  card: 'HC-7K3M9QX',
  delivery: 'dlv_8e1c7a52b0d94f6c9a3b5d7f1e2c4a60',
  event: 'evt_2c5d4f6a8b1e4d0f9a7c3b5e6d8f0a12',
  request: 'req_01JNBSW5A4Q7M2',
  token: '0pR7sT2uVx5yZa8bCd1eFg4hIj7kLm0nOp3qRs6tUvA',
  secret: 'whsec_5dH2qk0v8mQ4xW7sYt1oRz3uLb6nEc9jFa2gKi5pTd0=',
  hash: '9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08',
} as const;

/** A text in a response: its meaning, and examples. */
export const shownText = (description: string, ...shown: readonly string[]) =>
  z.string().meta({ description, examples: shown });

/** A text in a response that is null in examples. */
export const nullText = (description: string) =>
  z
    .string()
    .nullable()
    .meta({ description, examples: [null] });

/** A whole number in a response: its meaning, and examples. */
export const shownNumber = (description: string, ...shown: readonly number[]) =>
  z.int().meta({ description, examples: shown });

/** The words for the id of a thing. */
export const idWords = (thing: string) => ({
  description: `The id of the ${thing}.`,
  examples: [thing === 'delivery' || thing === 'event' ? examples[thing] : examples.uuid],
});
export const idOf = (thing: string) => z.string().meta(idWords(thing));
export const cardCode = shownText('The code of the card.', examples.card);
export const organizationId = shownText('The id of the organization.', examples.organization);

/** A key, in the response that makes it. `kind`: how it begins. */
export const newSecret = (kind: 'hck' | 'hco') =>
  shownText(
    'The key itself. It is shown only this once and stored nowhere.',
    `${kind}_${examples.token}`,
  ).meta({
    pattern: `^${kind}_[A-Za-z0-9_-]{43}$`,
  });

export const objectKind = <const Kind extends string>(kind: Kind) =>
  z.literal(kind).describe('The kind of this object.');

/** No constant: generators make enumerations of these, which few languages have of booleans. */
export const alwaysTrue = z.boolean().describe('Always true.');

/** The fields of a recipient or an address. */
export const shownAddress = {
  name: shownText('The name.', 'Ada Lovelace'),
  line1: shownText('The first line of the street address.', '12 Analytical Way'),
  line2: shownText('The second line of the street address.', 'Apt 4'),
  city: shownText('The city.', 'Springfield'),
  state: shownText('The state, as two letters.', 'IL'),
  zip: shownText('The postal code: five digits, or nine with a hyphen.', '62701'),
  country: shownText('The country: cards are mailed inside the US only.', 'US'),
};

/** The actor of an event or a request. */
export const shownActor = z
  .object({
    kind: shownText('The kind of actor.', 'key'),
    id: shownText(
      'The key, the hook, the account or the operator; null if it is not told.',
      examples.uuid,
    ).nullable(),
  })
  .describe('Who did it.');

/** A position in the log, for events that were read from a single stream. */
export const shownPosition = shownText(
  'Position in the log. Null if the event store does not give it for a single stream.',
  '1042',
).nullable();

export const eventType = shownText('The type of the event.', 'CardScheduled');
export const shownRevision = shownText('Its place in its stream, from 0.', '3');
