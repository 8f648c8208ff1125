import canonicalize from 'canonicalize';
import { createHash } from 'node:crypto';
import { changeCard, type ChangeCardDeps } from '../../application/change-card.js';
import { newCommand } from '../../application/commands.js';
import type { CardDraft } from '../../application/place-order.js';
import { codeFrom, listCards, lookUpCard, type ReadCardsDeps } from '../../application/read-cards.js';
import { sendCard, type SendCardDeps, type SentCard } from '../../application/send-card.js';
import { parseReference, readCardFields } from '../../domain/card-fields.js';
import { cancel, cardStatuses, steps, stepStatuses, type CardStatus } from '../../domain/card.js';
import { DomainError, type Captured } from '../../domain/errors.js';
import { longestMessage } from '../../domain/message.js';
import type { CardDocument } from '../../projections/cards.js';
import { listBody, timestamp } from './lists.js';
import { readFields, type Json, type JsonObject } from './read.js';
import { route, type HttpRequest, type KeyCaller, type Route } from './route.js';
import {
  always,
  component,
  list,
  listOf,
  nullable,
  object,
  oneOf,
  optional,
  pageLimit,
  text,
  whole,
} from './schema.js';

export interface CardRoutes extends SendCardDeps, ChangeCardDeps, ReadCardsDeps {
  readonly baseUrl: () => string;
}

export const instant = (description: string) =>
  text({ format: 'date-time', description, examples: ['2026-03-02T15:04:05.678+00:00'] });
const cardCodeText = text({ description: 'The card code.', examples: ['HC-7K3M9QX'] });
const window = component(
  'ArrivalWindow',
  object(
    { earliest: text({ format: 'date' }), latest: text({ format: 'date' }) },
    {
      description:
        'When the card arrives: four to five days that end on the arrive-by date. A window, never a promised date.',
    },
  ),
);
const heldReason = nullable(
  text({ description: 'Why the card needs a person, in plain words; null unless it is held.' }),
);
const reference = nullable(text({ description: 'The reference sent on create, cut at 40 characters.' }));
const orderPage = text({ format: 'uri', description: "Address of the card's order page." });

const newRecipient = component(
  'NewRecipient',
  object(
    {
      name: text({
        description: 'The addressee, as on the envelope. Over 40 characters: the card is held.',
        examples: ['Ada Lovelace'],
      }),
      line1: text({
        description: 'Street line. Over 50 characters: the card is held.',
        examples: ['12 Analytical Way'],
      }),
      line2: optional(text({ description: 'Apartment, suite, floor, unit.' })),
      city: text({ examples: ['Springfield'] }),
      state: text({ description: 'Two-letter US state code, in any case.', examples: ['IL'] }),
      zip: text({
        hint: 'a string such as "62701" (a number loses its leading zeros)',
        description: 'Five digits, optionally with +4; a string, since leading zeros count.',
        examples: ['62701', '62701-1234'],
      }),
      country: optional(
        text({ default: 'US', description: 'Only the US is mailed: US, USA or United States in any case.' }),
      ),
    },
    { code: 'invalid_recipient', hint: 'one address as an object (one card a request)' },
  ),
);

const recipient = component(
  'Recipient',
  object({
    name: text(),
    line1: text(),
    line2: nullable(text()),
    city: text(),
    state: text(),
    zip: text(),
    country: text(),
  }),
);

export const exampleRecipient = {
  name: 'Ada Lovelace',
  line1: '12 Analytical Way',
  city: 'Springfield',
  state: 'IL',
  zip: '62701',
};
export const exampleMessage = 'Thank you for everything, Ada.';

/** The body of POST /api/v1/cards, in the order in which refusals are reported. (decision 2) */
const newCard = component(
  'NewCard',
  object(
    {
      recipient: newRecipient,
      message: text({
        code: 'missing_message',
        blank: 'refused',
        description: `Finished text, at most ${longestMessage} characters; line breaks are kept. Text that still holds a merge field is refused: \`broken_merge_field\`.`,
        examples: [exampleMessage],
      }),
      arrive_on: optional(
        text({
          code: 'invalid_date',
          blank: 'refused',
          description: 'Arrive-by date, YYYY-MM-DD. Omitted: the soonest date that can be honored.',
          examples: ['2030-06-14'],
        }),
      ),
      handwriting: optional(
        text({
          code: 'unknown_handwriting',
          blank: 'refused',
          description: "Name of a handwriting, case-insensitive. Omitted: the organization's house hand.",
          examples: ['Everyday'],
        }),
      ),
      design_id: optional(
        text({
          code: 'design_not_found',
          blank: 'refused',
          description:
            'Id of a saved design, or `card:<slug>` of a card in the public collection. Omitted: the most recently saved design.',
          examples: ['card:thank-you-botanical'],
        }),
      ),
      reference: optional(
        text({
          number: 'text',
          description: 'Free text, echoed back; cut at 40 characters. Does not deduplicate.',
          examples: ['order-1001'],
        }),
      ),
    },
    { examples: [{ recipient: exampleRecipient, message: exampleMessage, reference: 'order-1001' }] },
  ),
);

/** The fields that every answer about an accepted card has. */
export const sentCardFields = {
  id: cardCodeText,
  object: always('card'),
  status: oneOf(['scheduled', 'held'], {
    description: '`scheduled` reads as `pending` later, `held` as `blocked`.',
  }),
  held_reason: heldReason,
  recipient: object({ name: text() }),
  arrives_between: window,
  reference,
  note: text({ description: 'What happens next, for people.' }),
  url: orderPage,
};
export const sentCard = component('SentCard', object(sentCardFields));

const cardRow = component(
  'CardRow',
  object({
    id: cardCodeText,
    object: always('card'),
    status: oneOf(cardStatuses),
    recipient: object({ name: text(), city: text(), state: text() }),
    arrives_between: window,
    mailed_at: nullable(instant('When the card was handed to the carrier.')),
    created_at: instant('When the card was accepted.'),
    reference,
  }),
);

/** The fields of a card on lookup; the operator's card has more. */
export const cardFields = {
  id: cardCodeText,
  object: always('card'),
  status: oneOf(cardStatuses),
  held_reason: heldReason,
  recipient,
  handwriting: text(),
  arrives_between: window,
  steps: list(
    object({
      step: oneOf(steps),
      status: oneOf(stepStatuses),
      completed_at: nullable(instant('When the step was completed.')),
    }),
    {
      description: 'Always six entries, in production order.',
      minItems: steps.length,
      maxItems: steps.length,
    },
  ),
  mailed_at: nullable(instant('When the card was handed to the carrier.')),
  created_at: instant('When the card was accepted.'),
  reference,
  url: orderPage,
};
const wholeCard = component('Card', object(cardFields));

export const cancelledCard = component(
  'CancelledCard',
  object({
    id: cardCodeText,
    object: always('card'),
    status: always('cancelled'),
    cancelled: always(true),
    credits_refunded: whole({
      minimum: 0,
      maximum: 1,
      description: '0 where nothing was charged, or where an earlier cancel refunded it.',
    }),
    note: text(),
  }),
);

/** The card code in a path; a blank one is `missing_id`. (decision 4) */
export const pathCode = text({
  codes: { required: 'missing_id', minLength: 'missing_id' },
  hint: 'the code of a card, in the path',
  description: 'The card code. Matched case-insensitively; O reads as 0, I and L as 1.',
  examples: ['HC-7K3M9QX'],
});
export const cardCodeParam = object({ card_code: pathCode });

/** The card on lookup. */
export const cardBody = (card: CardDocument, baseUrl: string) => ({
  id: card.code,
  object: 'card',
  status: card.status,
  held_reason: card.heldReason,
  recipient: card.recipient,
  handwriting: card.handwriting,
  arrives_between: card.window,
  steps: card.steps.map(({ status, completedAt }, index) => ({
    step: steps[index],
    status,
    completed_at: completedAt && timestamp(completedAt),
  })),
  mailed_at: card.mailedAt && timestamp(card.mailedAt),
  created_at: timestamp(card.createdAt),
  reference: card.reference,
  url: `${baseUrl}/cards/${card.code}`,
});

const rowBody = (card: CardDocument) => ({
  id: card.code,
  object: 'card',
  status: card.status,
  recipient: { name: card.recipient.name, city: card.recipient.city, state: card.recipient.state },
  arrives_between: card.window,
  mailed_at: card.mailedAt && timestamp(card.mailedAt),
  created_at: timestamp(card.createdAt),
  reference: card.reference,
});

/** The body of a 201: a function of the card's first event, so that a replay is the same. (decision 41) */
export const sentCardBody = ({ code, event }: Pick<SentCard, 'code' | 'event'>, baseUrl: string) => {
  const { order, personal } = event.data;
  const held = event.type === 'CardHeld';
  return {
    id: code,
    object: 'card',
    status: held ? 'held' : 'scheduled',
    held_reason: held ? event.data.reason : null,
    recipient: { name: personal?.recipient.name ?? '' },
    arrives_between: order?.window ?? null,
    reference: order?.reference ?? null,
    note: held
      ? 'The card needs a person before it can be made. Nothing was charged.'
      : 'The card is scheduled and one credit was spent. It can be cancelled until a machine starts on it.',
    url: `${baseUrl}/cards/${code}`,
  };
};

/** What a cancel answers. (spec: DELETE /api/v1/cards/{card_code}) */
export const cancelledBody = (code: string, creditsReturned: number) => ({
  id: code,
  object: 'card',
  status: 'cancelled',
  cancelled: true,
  credits_refunded: creditsReturned,
  note:
    creditsReturned > 0
      ? 'The card is cancelled and its credit was returned.'
      : 'The card is cancelled. No credit was returned: none was charged, or it was returned before.',
});

const longestKey = 255;
const printableAscii = /^[\x20-\x7e]+$/;

/** The Idempotency-Key, or null where none is sent. Throws `invalid_idempotency_key`. (decision 39) */
const idempotencyKey = (values: readonly string[]): string | null => {
  const [value, another] = values;
  if (value === undefined) return null;
  const key = value.trim();
  if (another !== undefined || key === '' || key.length > longestKey || !printableAscii.test(key)) {
    throw new DomainError(
      'invalid_idempotency_key',
      `Send one Idempotency-Key of 1 to ${longestKey} printable ASCII characters.`,
    );
  }
  return key;
};

/** Two bodies are the same where their canonical JSON is. (decision 39) */
const bodyDigest = (body: JsonObject): string =>
  createHash('sha256').update(canonicalJson(body)).digest('hex');

const canonicalJson = (body: JsonObject): string => {
  try {
    return canonicalize(body) ?? '';
  } catch {
    return canonicalize(withoutInfinity(body)) ?? '';
  }
};

/**
 * JSON has numbers that are too large for a double; they were read as infinite, which canonical JSON does not
 * know.
 */
const withoutInfinity = (value: Json): Json => {
  if (typeof value === 'number') return Number.isFinite(value) ? value : { infinite: value > 0 };
  if (typeof value !== 'object' || value === null) return value;
  if (isList(value)) return value.map(withoutInfinity);
  return Object.fromEntries(Object.entries(value).map(([name, item]) => [name, withoutInfinity(item)]));
};

const isList = (value: Json): value is readonly Json[] => Array.isArray(value);

/** What the documented schema refuses stands before what the domain does. */
const first = <T>(documented: Captured<unknown>, read: Captured<T>): Captured<T> =>
  'refusal' in documented ? documented : read;

const draftFrom = (body: JsonObject): CardDraft => {
  const documented = readFields(newCard, body);
  const fields = readCardFields(body);
  return {
    recipient: first(documented.recipient, fields.recipient),
    message: first(documented.message, fields.message),
    arriveOn: first(documented.arrive_on, fields.arriveOn),
    handwriting: first(documented.handwriting, fields.handwriting),
    designId: first(documented.design_id, fields.designId),
    reference: first(documented.reference, fields.reference),
    email: null,
    contact: null,
  };
};

/** The holder of a key, as events name it. */
export const byKey = ({ caller, id }: Pick<HttpRequest<KeyCaller>, 'caller' | 'id'>) => ({
  actor: { kind: 'key' as const, id: caller.keyId },
  requestId: id,
});

/** The words of a create are filters too. (decision 26) */
const createWords = { scheduled: 'pending', held: 'blocked' } as const;
const statusFrom = (filter: CardStatus | keyof typeof createWords): CardStatus =>
  filter === 'scheduled' || filter === 'held' ? createWords[filter] : filter;

const listQuery = object({
  limit: pageLimit,
  status: optional(
    oneOf([...cardStatuses, 'scheduled', 'held'], {
      description: 'Only cards with this status. `scheduled` means `pending`, `held` means `blocked`.',
    }),
  ),
  reference: optional(text({ description: 'Only cards with exactly this reference.' })),
  starting_after: optional(
    text({ description: 'The next_cursor of the page before: the code of its last card.' }),
  ),
});

export const cardRoutes = (deps: CardRoutes): readonly Route[] => [
  route({
    method: 'POST',
    path: '/api/v1/cards',
    access: { kind: 'key', scope: 'cards:send' },
    body: newCard,
    failure: 'order_failed',
    operation: {
      operationId: 'sendCard',
      summary: 'Send one card',
      description:
        'Sends one handwritten card and spends one credit. With an Idempotency-Key a retry never makes a second card.',
      tags: ['cards'],
      headers: {
        'Idempotency-Key': {
          description: 'Makes retries safe: remembered 24 hours per organization.',
          schema: text({ maxLength: longestKey }),
        },
      },
      responses: {
        201: {
          description: 'The card was accepted: scheduled, or held for a person.',
          schema: sentCard,
          headers: {
            'Idempotent-Replay': {
              description: 'true where this answer repeats that of an earlier request with the same key.',
              schema: text(),
            },
          },
        },
      },
      errors: [
        'invalid_idempotency_key', 'request_in_progress', 'idempotency_key_reused', 'invalid_recipient', 'missing_message', 'message_too_long', 'broken_merge_field',
        'invalid_date', 'unknown_handwriting', 'design_not_found', 'no_design_available', 'invalid_parameter', 'no_credits', 'production_failed',
      ], // prettier-ignore
    },
    handle: async (request) => {
      const key = idempotencyKey(request.header('idempotency-key'));
      const { org, keyId } = request.caller;
      const sent = await sendCard(deps, {
        org,
        command: newCommand(deps, byKey(request), org),
        source: { kind: 'api', id: keyId },
        idempotency: key === null ? null : { key, body: bodyDigest(request.body) },
        draft: () => draftFrom(request.body),
      });
      return {
        status: 201,
        body: sentCardBody(sent, deps.baseUrl()),
        ...(sent.replay && { headers: { 'idempotent-replay': 'true' } }),
      };
    },
  }),
  route({
    method: 'GET',
    path: '/api/v1/cards',
    access: { kind: 'key', scope: 'cards:read' },
    query: listQuery,
    failure: 'read_failed',
    operation: {
      operationId: 'listCards',
      summary: 'List cards, newest first',
      tags: ['cards'],
      responses: { 200: { description: 'A page of cards.', schema: listOf(cardRow) } },
      errors: ['invalid_parameter', 'invalid_cursor'],
    },
    handle: async ({ caller, query }) => {
      const page = await listCards(deps, caller.org, {
        limit: query.limit,
        status: query.status === null ? null : statusFrom(query.status),
        reference: parseReference(query.reference),
        startingAfter: query.starting_after,
      });
      return { status: 200, body: listBody(page, query.limit, ({ code }) => code, rowBody) };
    },
  }),
  route({
    method: 'GET',
    path: '/api/v1/cards/:card_code',
    access: { kind: 'key', scope: 'cards:read' },
    params: cardCodeParam,
    blank: true,
    undecodable: 'card_not_found',
    failure: 'read_failed',
    operation: {
      operationId: 'getCard',
      summary: 'Look up one card',
      tags: ['cards'],
      responses: { 200: { description: 'The card with its six production steps.', schema: wholeCard } },
      errors: ['missing_id', 'card_not_found'],
    },
    handle: async ({ caller, params }) => ({
      status: 200,
      body: cardBody(await lookUpCard(deps, codeFrom(params.card_code), caller.org), deps.baseUrl()),
    }),
  }),
  route({
    method: 'DELETE',
    path: '/api/v1/cards/:card_code',
    access: { kind: 'key', scope: 'cards:send' },
    params: cardCodeParam,
    blank: true,
    undecodable: 'card_not_found',
    failure: 'internal_error',
    operation: {
      operationId: 'cancelCard',
      summary: 'Cancel a card before it is made',
      description:
        'Allowed while the card is pending, queued or held. A repeat is a 200 and refunds nothing again.',
      tags: ['cards'],
      responses: { 200: { description: 'The card is cancelled.', schema: cancelledCard } },
      errors: ['missing_id', 'card_not_found', 'too_late_to_cancel'],
    },
    handle: async (request) => {
      const { org } = request.caller;
      const code = codeFrom(request.params.card_code);
      const { creditsReturned } = await changeCard(
        deps,
        { code, org },
        newCommand(deps, byKey(request), org),
        cancel,
      );
      return { status: 200, body: cancelledBody(code, creditsReturned) };
    },
  }),
];
