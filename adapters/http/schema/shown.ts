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

/** The meaning of a field, and an example of it. */
export const words = <const Facts extends object = object>(
  description: string,
  example: unknown,
  facts?: Facts,
) => ({ description, examples: [example], ...(facts as Facts) });

/** An object that the document describes under a name of its own. */
export const component = <Shape extends z.ZodRawShape>(
  id: string,
  description: string,
  shape: Shape,
  facts: object = {},
) => z.object(shape).meta({ id, description, ...facts });

/** An object inside another one. */
export const nested = <Shape extends z.ZodRawShape>(description: string, shape: Shape) =>
  z.object(shape).describe(description);

/** A text in a response: its meaning, and examples. */
export const text = (description: string, ...shown: readonly string[]) =>
  z.string().meta({ description, examples: shown });

/** The same, which may also be null. */
export const textOrNull = (description: string, ...shown: readonly string[]) =>
  text(description, ...shown).nullable();

/** An address in a response. */
export const url = (description: string, example: string) =>
  text(description, example).meta({ format: 'uri' });

/** A text in a response that is null in examples. */
export const nullText = (description: string) => z.string().nullable().meta(words(description, null));

/** A boolean in a response: its meaning, and an example. */
export const boolean = (description: string, ...shown: readonly boolean[]) =>
  z.boolean().meta({ description, ...(shown.length > 0 && { examples: shown }) });

/** Texts in a response: their meaning, and an example. */
export const texts = (description: string, ...shown: readonly string[]) =>
  z.array(z.string()).meta(words(description, shown));

/** Objects in a response. */
export const list = <Shape extends z.ZodRawShape>(description: string, shape: Shape) =>
  z.array(z.object(shape)).describe(description);

/** A whole number in a response: its meaning, and examples. */
export const number = (description: string, ...shown: readonly number[]) =>
  z.int().meta({ description, examples: shown });

export const idMeaning = (thing: string): string => `The id of the ${thing}.`;
export const idExample = (thing: string): string =>
  thing === 'delivery' || thing === 'event' ? examples[thing] : examples.uuid;
export const idOf = (thing: string) => text(idMeaning(thing), idExample(thing));
export const cardCode = text('The code of the card.', examples.card);
export const organizationId = text('The id of the organization.', examples.organization);

/** A key, in the response that makes it. `kind`: how it begins. */
export const newSecret = (kind: 'hck' | 'hco') =>
  text('The key itself. It is shown only this once and stored nowhere.', `${kind}_${examples.token}`).meta({
    pattern: `^${kind}_[A-Za-z0-9_-]{43}$`,
  });

export const objectKind = <const Kind extends string>(kind: Kind) =>
  z.literal(kind).describe('The kind of this object.');

/** No constant: generators make enumerations of these, which few languages have of booleans. */
export const alwaysTrue = boolean('Always true.');

/** The fields of a recipient or an address. */
export const address = {
  name: text('The name.', 'Ada Lovelace'),
  line1: text('The first line of the street address.', '12 Analytical Way'),
  line2: text('The second line of the street address.', 'Apt 4'),
  city: text('The city.', 'Springfield'),
  state: text('The state, as two letters.', 'IL'),
  zip: text('The postal code: five digits, or nine with a hyphen.', '62701'),
  country: text('The country: cards are mailed inside the US only.', 'US'),
};

/** The actor of an event or a request. */
export const actor = nested('Who did it.', {
  kind: text('The kind of actor.', 'key'),
  id: text(
    'The key, the hook, the account or the operator; null if it is not told.',
    examples.uuid,
  ).nullable(),
});

/** A position in the log, for events that were read from a single stream. */
export const position = text(
  'Position in the log. Null if the event store does not give it for a single stream.',
  '1042',
).nullable();

export const eventType = text('The type of the event.', 'CardScheduled');
export const revision = text('Its place in its stream, from 0.', '3');
