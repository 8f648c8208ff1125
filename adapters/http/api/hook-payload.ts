import { z } from 'zod';
import type { HookRequest } from '../../../application/hooks/fire-hook.js';
import { maxReferenceLength } from '../../../domain/card.js';
import { emailIn, hasNoEmail } from '../../../domain/email.js';
import { DomainError, type Captured } from '../../../domain/errors.js';
import { isPlainObject, ownProperty } from '../../../domain/plain-object.js';
import { scalarText, type Payload } from '../../../domain/template.js';
import { isBlank } from '../../../domain/text.js';
import { contactRecord } from './contact-fields.js';
import { exampleMessage, exampleRecipient, newCard, readCardFields } from './card-fields.js';
import { annotations } from '../schema/fields.js';
import { jsonSchemaOf, type JsonSchema } from '../schema/json-schema.js';
import { parseFields, type JsonObject } from '../schema/read.js';

const cardFields = Object.keys(newCard.shape).filter((name) => name !== 'recipient');
const recipientFields = Object.keys(newCard.shape.recipient.shape);
const contactReference = contactRecord.pick({ external_id: true });

/** Other names under which payloads have fields of a card. (docs/contract.md#sending-through-a-hook) */
const aliases: Readonly<Record<string, string>> = {
  line1: 'address1',
  line2: 'address2',
  zip: 'postal_code',
  reference: 'id',
};

const namesOf = (field: string): readonly string[] => {
  const alias = aliases[field];
  return alias === undefined ? [field] : [field, alias];
};

/** The document's descriptions of payload fields, where they differ from POST /api/v1/cards. */
const otherwise: Readonly<Record<string, string>> = {
  name: 'The addressee. Required; or `first_name` and `last_name`, which are joined.',
  message: 'Finished text. Required if the hook has no template; wins over the template.',
  design_id: "Overrides the hook's design: the id of a saved design, or `card:<slug>`.",
  reference: `Free text, returned with the card; cut at ${maxReferenceLength} characters. Also read from \`id\`.`,
};

const field = (description: string, facts: object) =>
  z
    .unknown()
    .meta({ ...facts, description })
    .optional();

/**
 * The fields of a card as a payload has them: a blank counts as left out. (decision 8: an empty choice is no
 * default)
 */
const inPayload = ({ properties = {}, required = [] }: JsonSchema, names: readonly string[]) => {
  const shape: Record<string, ReturnType<typeof field>> = {};
  for (const name of names) {
    const { 'x-blank': _, minLength: _minLength, ...facts } = properties[name] ?? {};
    const alias = aliases[name];
    const rules = [
      required.includes(name) ? 'Required.' : '',
      alias === undefined ? '' : `Alias \`${alias}\`.`,
    ];
    shape[name] = field(otherwise[name] ?? [facts.description, ...rules].filter(Boolean).join(' '), facts);
    const { type, examples, 'x-number': number } = facts;
    if (alias !== undefined)
      shape[alias] = field(`The same as \`${name}\`.`, {
        type,
        examples,
        ...(number && { 'x-number': number }),
      });
  }
  return shape;
};

const cardSchema = jsonSchemaOf(newCard);

const ofRecipient = {
  ...inPayload(cardSchema.properties?.['recipient'] ?? {}, recipientFields),
  first_name: field('With `last_name`, in place of `name`.', { type: 'string', examples: ['Ada'] }),
  last_name: field('With `first_name`, in place of `name`.', { type: 'string', examples: ['Lovelace'] }),
  email: field('Never used for mail. If it is on the do-not-mail list, the card is held.', {
    type: 'string',
    examples: ['ada@example.com'],
  }),
};

/** The body of POST /api/v1/hooks/{token}, for the document; `readHookPayload` reads it. */
export const hookPayload = z
  .looseObject({
    recipient: z
      .looseObject(ofRecipient)
      .meta(
        annotations({
          code: 'invalid_recipient',
          description:
            'May contain any of the fields of the recipient; they win over those at the top level.',
        }),
      )
      .optional(),
    ...ofRecipient,
    ...inPayload(cardSchema, cardFields),
    external_id: field('The contact whose company, job title and years the template can use.', {
      type: 'string',
      examples: ['crm-1001'],
      'x-number': 'text',
    }),
  })
  .meta({
    id: 'HookPayloadInput',
    description:
      'Any other field can be used as a variable in the template: {{field_name}}, with dots for nested fields.',
    examples: [{ ...exampleRecipient, message: exampleMessage }],
  });

const isOmitted = (value: unknown): boolean =>
  value === undefined || value === null || (typeof value === 'string' && isBlank(value));

/** An object in which fields are looked for, and what its names are told with. */
interface Source {
  readonly fields: Payload;
  readonly prefix: '' | 'recipient.';
}

/** A value of the payload, and the name under which it was sent. */
interface Found {
  readonly value?: unknown;
  readonly name?: string;
}

/**
 * The first value under one of the names that is not blank. A value of the wrong type is not blank: it is
 * refused later, not passed over.
 */
const find = (sources: readonly Source[], ...names: readonly string[]): Found => {
  for (const { fields, prefix } of sources)
    for (const name of names) {
      const value = ownProperty(fields, name);
      if (!isOmitted(value)) return { value, name: `\`${prefix}${name}\`` };
    }
  return {};
};

/** A first or last name of the wrong type takes the place of the name, so that the name is refused. */
const isWrongType = ({ value }: Found): boolean => value !== undefined && typeof value !== 'string';

/** Whether it can be a person's name: beside the parts of one may stand an order's `#1001`. */
const isName = (value: unknown): boolean =>
  typeof value === 'string' && /^[^\d#@]*\p{L}[^\d#@]*$/u.test(value);

/** Whether it has no letter, or is one word with a digit or an `@`, such as an order's number. */
const isOrder = (value: unknown): boolean =>
  typeof value === 'string' && (!/\p{L}/u.test(value) || /^\s*\S*[\d#@]\S*\s*$/.test(value));

/** The names under which a field may be sent, in words. */
const namesFor = (field: string): string =>
  field === 'name' ? '`name`, or both `first_name` and `last_name`' : `\`${namesOf(field).join('` or `')}\``;

/** A refusal that says, too, under which name its field was sent or may be sent. */
const explained = <T>(read: Captured<T>, found: Readonly<Record<string, Found>>): Captured<T> => {
  if ('value' in read) return read;
  const { code, message, param } = read.refusal;
  const field = param?.replace('recipient.', '') ?? '';
  const { name } = found[field] ?? { name: `\`${param}\`` };
  if (name === `\`${param}\``) return read;
  const told =
    name === undefined
      ? `Send ${namesFor(field)}, at the top level or in \`recipient\`, not in another object.`
      : `It was sent as ${name}.`;
  return { refusal: new DomainError(code, `${message} ${told}`, param) };
};

/**
 * Reads a payload that a form tool or a shop posts to a hook. It looks for every field of a card, under its
 * name and its alias; for the recipient's fields inside `recipient`, too. It refuses nothing itself: the
 * rules of the card's fields do, in their order. (decision 47: which of two values wins in a payload)
 */
export const readHookPayload = (payload: JsonObject): HookRequest => {
  const sent = ownProperty(payload, 'recipient');
  const top: Source = { fields: payload, prefix: '' };
  const object: readonly Source[] = isPlainObject(sent) ? [{ fields: sent, prefix: 'recipient.' }] : [];
  const both = [...object, top];
  const [first, last] = [find(both, 'first_name'), find(both, 'last_name')];
  const hasPart = find(object, 'first_name', 'last_name').value !== undefined;
  const isComplete = first.value !== undefined && last.value !== undefined;
  const beside = ownProperty(payload, 'name');
  const isPassedOver = hasPart ? isComplete || !isName(beside) : isComplete && isOrder(beside);
  const whole = find(isPassedOver ? object : both, 'name');
  const joined =
    whole.value === undefined && typeof first.value === 'string' && typeof last.value === 'string'
      ? { first: first.value.trim(), last: last.value.trim() }
      : null;
  const found: Record<string, Found> = {};
  for (const name of recipientFields) found[name] = find(both, ...namesOf(name));
  for (const name of cardFields) found[name] = find([top], ...namesOf(name));
  if (joined !== null)
    found['name'] = { value: `${joined.first} ${joined.last}`, name: `${first.name} and ${last.name}` };
  else found['name'] = whole.value === undefined ? ([first, last].find(isWrongType) ?? {}) : whole;
  const valuesOf = (names: readonly string[]) =>
    Object.fromEntries(names.map((name) => [name, found[name]?.value]));
  const isOneAddress = sent === undefined || sent === null || isPlainObject(sent);
  const card = readCardFields({
    ...valuesOf(cardFields),
    recipient: isOneAddress ? valuesOf(recipientFields) : sent,
  });
  const { external_id: externalId } = parseFields(contactReference, payload);
  const emails = both.map(({ fields }) => emailIn(ownProperty(fields, 'email')));
  const email = emails.find((read) => !hasNoEmail(read));
  return {
    card: {
      ...card,
      recipient: explained(card.recipient, found),
      reference: explained(card.reference, found),
    },
    hasMessage: found['message']?.value !== undefined,
    email: email ?? { value: null },
    // What a contact's own is refused for refers to none.
    externalId: 'value' in externalId ? externalId.value : null,
    firstName: joined?.first ?? null,
    lastName: scalarText(last.value),
    payload,
  };
};
