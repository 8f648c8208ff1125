import { z } from 'zod';
import { type ChangeCardDeps, changeCard } from '../../../application/cards/change-card.js';
import { hashedIdempotency } from '../../../application/cards/place-order.js';
import { newCommand } from '../../../application/writing/execute.js';
import { codeFrom, listCards, lookUpCard } from '../../../application/cards/read-cards.js';
import type { ReadDeps } from '../../../application/projecting/read-your-writes.js';
import type { KeyRing } from '../../../application/personal/key-ring.js';
import { sendCard, type SendCardDeps, type SentCard } from '../../../application/cards/send-card.js';
import {
  cardStatuses,
  cardStream,
  maxReferenceLength,
  readReference,
  steps,
  stepStatuses,
  type CardStatus,
  type FirstEvent,
  cancel,
} from '../../../domain/card.js';
import { DomainError } from '../../../domain/errors.js';
import { NumberText } from '../../../domain/plain-object.js';
import { countCharacters } from '../../../domain/text.js';
import type { CardDocument } from '../../../projections/cards.js';
import { newCard, readCardFields } from './card-fields.js';
import { noAddress } from './contact-fields.js';
import { optionalChoice, optionalText, pageCursor, pageLimit, text } from '../schema/fields.js';
import * as shown from '../schema/shown.js';
import type { Json } from '../schema/read.js';
import { instant, jsonOnce, listOf, pageOf, receiptFor, receiptHeader, timestamp } from './responses.js';
import { canonical } from '../server/json-body.js';
import { route, type HttpRequest, type Route } from '../server/route.js';
import type { KeyCaller } from '../server/access.js';

export interface CardRouteDeps extends SendCardDeps, ChangeCardDeps, ReadDeps {
  readonly personalKeys: Pick<KeyRing, 'hashed'>;
  readonly baseUrl: () => string;
}

const date = (description: string, example: string) =>
  shown.text(description, example).meta({ format: 'date' });
const window = shown.component(
  'ArrivalWindow',
  'When the card arrives: a window of four to five days that ends on the arrive-by date, never a promised day.',
  {
    earliest: date('The first day on which the card may arrive.', '2030-06-10'),
    latest: date('The last day on which the card should arrive.', '2030-06-14'),
  },
);
const heldReason = shown.nullText('Why the card needs a person, in plain words; null unless it is held.');
const reference = shown.textOrNull(
  `The reference that was sent, cut at ${maxReferenceLength} characters; null if there was none.`,
  'order-1001',
);
/** In place of `erased_at` where nothing was erased. */
export const unreadable = z
  .boolean()
  .optional()
  .describe(
    "True if the personal data can't be read although nothing erased it: its key is lost. Else absent.",
  );
const orderPage = shown.url(
  "The address of the card's order page.",
  `https://cards.example/cards/${shown.examples.card}`,
);
/** The course of a card, and its sender's name for it. */
const course = {
  mailed_at: instant('When the card was handed to the carrier.').nullable(),
  created_at: instant('When the card was accepted.'),
  erased_at: instant('When the personal data of the card was erased; absent if it was not.').optional(),
  unreadable,
  reference,
};
const status = z.enum(cardStatuses).describe('Where the card is.');

const recipient = shown.component(
  'Recipient',
  'Every field is null once the personal data of the card was erased, or if it is unreadable.',
  {
    name: shown.address.name.nullable(),
    line1: shown.address.line1.nullable(),
    line2: shown.address.line2.nullable(),
    city: shown.address.city.nullable(),
    state: shown.address.state.nullable(),
    zip: shown.address.zip.nullable(),
    country: shown.address.country.nullable(),
  },
);
const noRecipient = { name: null, ...noAddress, country: null };

const scheduledNote =
  'The card is scheduled and one credit was spent. It can be cancelled until a machine starts on it.';

export const sentCard = shown.component('SentCard', 'A card that was accepted.', {
  id: shown.cardCode,
  object: shown.objectKind('card'),
  status: z
    .enum(['scheduled', 'held'])
    .describe('When the card is read later, `scheduled` is `pending` and `held` is `blocked`.'),
  held_reason: heldReason,
  recipient: shown.nested('To whom the card is mailed.', {
    name: shown.address.name.nullable().describe('Null only in a replay after the personal data was erased.'),
  }),
  arrives_between: window,
  reference,
  note: shown.text('What happens next, for people.', scheduledNote),
  url: orderPage,
});

export const cardRow = shown.component('CardRow', 'A card in a list.', {
  id: shown.cardCode,
  object: shown.objectKind('card'),
  status,
  recipient: recipient
    .pick({ name: true, city: true, state: true })
    .describe('Every field is null once the personal data of the card was erased, or if it is unreadable.'),
  arrives_between: window,
  ...course,
});

/** Steps of production, of which at most the first has started. */
export const stepsExample = (first: 'pending' | 'in_progress') =>
  steps.map((step, at) => ({ step, status: at === 0 ? first : 'pending', completed_at: null }));

/** The fields of a card on lookup; the operator's card has more. */
export const wholeCard = shown.component('Card', 'A card.', {
  id: shown.cardCode,
  object: shown.objectKind('card'),
  status,
  held_reason: heldReason,
  recipient,
  handwriting: shown.text('The name of the handwriting.', 'Everyday'),
  arrives_between: window,
  steps: z
    .array(
      shown.component('CardStep', 'A step of production.', {
        step: z.enum(steps).describe('The step of production.'),
        status: z.enum(stepStatuses).describe('How far the step is.'),
        completed_at: instant('When the step was completed.').nullable(),
      }),
    )
    .length(steps.length)
    .meta(shown.words('Always six entries, in the order of production.', stepsExample('pending'))),
  ...course,
  url: orderPage,
});

export const cancelledCard = shown.component('CancelledCard', 'A card that was cancelled.', {
  id: shown.cardCode,
  object: shown.objectKind('card'),
  status: z.literal('cancelled').describe('Always `cancelled`.'),
  cancelled: shown.alwaysTrue,
  credits_refunded: shown
    .number('0 if nothing was charged, or if an earlier cancel refunded it.', 1)
    .min(0)
    .max(1),
  note: shown.text('What happened, for people.', 'The card is cancelled and its credit was returned.'),
});

/**
 * The card code in a path. A blank one is refused with `missing_id`. (decision 4: a path without a code, or
 * with broken encoding)
 */
export const pathCode = text('The card code, in any case. O is read as 0, I and L as 1.', 'HC-7K3M9QX', {
  code: 'missing_id',
  hint: 'the code of a card, in the path',
});
export const cardCodeParam = z.object({ card_code: pathCode });

const courseOf = ({ mailedAt, createdAt, erasedAt, recipient: to, reference }: CardDocument) => ({
  mailed_at: mailedAt && timestamp(mailedAt),
  created_at: timestamp(createdAt),
  ...(erasedAt ? { erased_at: timestamp(erasedAt) } : to === null && { unreadable: true }),
  reference,
});

export const cardBody = (card: CardDocument, baseUrl: string) => ({
  id: card.code,
  object: 'card',
  status: card.status,
  held_reason: card.heldReason,
  recipient: card.recipient ?? noRecipient,
  handwriting: card.handwriting,
  arrives_between: card.window,
  steps: card.steps.map(({ status, completedAt }, index) => ({
    step: steps[index],
    status,
    completed_at: completedAt && timestamp(completedAt),
  })),
  ...courseOf(card),
  url: `${baseUrl}/cards/${card.code}`,
});

export const cardRowBody = (card: CardDocument) => {
  const { name, city, state } = card.recipient ?? noRecipient;
  return {
    id: card.code,
    object: 'card',
    status: card.status,
    recipient: { name, city, state },
    arrives_between: card.window,
    ...courseOf(card),
  };
};

const cardRowJson = jsonOnce(cardRowBody);

/**
 * The body of a 201: a function of the card's first event, so that a replay is the same. (decision 41: what a
 * replay looks like)
 */
export const sentCardBody = (
  { code, event }: { readonly code: string; readonly event: FirstEvent },
  baseUrl: string,
) => {
  const { order, personal } = event.data;
  const held = event.type === 'CardHeld';
  return {
    id: code,
    object: 'card',
    status: held ? 'held' : 'scheduled',
    held_reason: held ? event.data.reason : null,
    recipient: { name: personal?.recipient.name ?? null },
    arrives_between: order?.window ?? null,
    reference: order?.reference ?? null,
    note: held
      ? 'The card needs a person before it can be made. Nothing was charged. Cancel it and send it again corrected, or wait for a person.'
      : scheduledNote,
    url: `${baseUrl}/cards/${code}`,
  };
};

/** A replay has the receipt of the first response, too: every card begins with the event that made it. */
export const cardReceipt = ({ code }: SentCard): Readonly<Record<string, string>> =>
  receiptFor(cardStream(code), 0);

/** The body of the response to a cancel. (docs/contract.md#cancelling-a-card) */
export const cancelledBody = (code: string, creditsReturned: number) => ({
  id: code,
  object: 'card',
  status: 'cancelled',
  cancelled: true,
  credits_refunded: creditsReturned,
  note:
    creditsReturned > 0
      ? 'The card is cancelled and its credit was returned.'
      : 'The card is cancelled. No credit was returned: none was charged, or it had been returned before.',
});

const maxKeyLength = 255;
const printableAscii = /^[ -~]+$/;

/**
 * The Idempotency-Key; null if none was sent. Throws `invalid_idempotency_key`. (decision 39: which bodies
 * and keys are the same)
 */
const idempotencyKey = (values: readonly string[]): string | null => {
  const [key] = values;
  if (key === undefined) return null;
  const refusal = (problem: string, next = 'Send a UUID for each card, or leave the header out.') =>
    new DomainError('invalid_idempotency_key', `The header Idempotency-Key ${problem}. ${next}`);
  if (values.length > 1) throw refusal(`came ${values.length} times`, 'Send it once.');
  if (key === '') throw refusal('is empty');
  if (key.length > maxKeyLength)
    throw refusal(`has ${key.length} characters; at most ${maxKeyLength} are allowed`);
  const utf8 = Buffer.from(key, 'latin1').toString();
  const stray = [...(utf8.includes('\ufffd') ? key : utf8)].find((each) => !printableAscii.test(each));
  if (stray !== undefined) throw refusal(`contains \`${stray}\`, which is not printable ASCII`);
  return key;
};

/** Whether a reference is longer than what is kept of it. */
const isCut = (sent: Json | undefined): boolean => {
  const text = sent instanceof NumberText ? sent.text : sent;
  return typeof text === 'string' && countCharacters(text.trim()) > maxReferenceLength;
};

/** The holder of a key, as events record it. */
export const byKey = (request: Pick<HttpRequest<KeyCaller>, 'caller' | 'id' | 'traceparent'>) => ({
  actor: { kind: 'key' as const, id: request.caller.keyId },
  requestId: request.id,
  traceparent: request.traceparent,
});

/** The statuses of the 201 are filters, too. (decision 26: `scheduled` and `held` on reading) */
const createWords = { scheduled: 'pending', held: 'blocked' } as const;
export const statusFrom = (filter: CardStatus | keyof typeof createWords): CardStatus =>
  filter === 'scheduled' || filter === 'held' ? createWords[filter] : filter;

export const cardListQuery = z.object({
  limit: pageLimit,
  status: optionalChoice(
    [...cardStatuses, 'scheduled', 'held'],
    'Only cards with this status. `scheduled` means `pending`, and `held` means `blocked`.',
  ),
  reference: optionalText('Only cards with exactly this reference.', 'order-1001', { rule: readReference }),
  starting_after: pageCursor(shown.examples.card, 'the code of its last card'),
});

const ofOne = { params: cardCodeParam, undecodable: 'card_not_found', blank: true, tags: ['cards'] } as const;

export const cardRoutes = (deps: CardRouteDeps): readonly Route[] => [
  route('POST /api/v1/cards', {
    id: 'sendCard',
    summary: 'Send one card',
    access: { kind: 'key', scope: 'cards:send' },
    body: { schema: newCard, read: readCardFields },
    failure: 'order_failed',
    description:
      'Sends one handwritten card and spends one credit. With an Idempotency-Key, a retry never sends a second card.',
    tags: ['cards'],
    headers: {
      'Idempotency-Key': {
        description: 'Makes retries safe. It is remembered for 24 hours, per organization.',
        schema: {
          type: 'string',
          maxLength: maxKeyLength,
          pattern: printableAscii.source,
          examples: ['thank-you-for-order-1001'],
        },
      },
    },
    responses: {
      201: {
        description: 'The card was accepted: scheduled, or held for a person.',
        schema: sentCard,
        headers: {
          'Idempotent-Replay': {
            description: '`true` if this response repeats the one to an earlier request with the same key.',
            schema: { type: 'string' },
          },
          'x-truncated-fields': {
            description: `\`reference\` if it was cut at ${maxReferenceLength} characters; otherwise absent.`,
            schema: { type: 'string', examples: ['reference'] },
          },
          ...receiptHeader,
        },
      },
    },
    errors: [
      'invalid_idempotency_key',
      'request_in_progress',
      'idempotency_key_reused',
      'no_credits',
      'production_failed',
    ],
    handle: async (request, fields) => {
      const key = idempotencyKey(request.header('idempotency-key'));
      const { org, keyId } = request.caller;
      const sent = await sendCard(deps, {
        org,
        command: newCommand(deps, byKey(request), org),
        source: { kind: 'api', id: keyId },
        idempotency:
          key === null
            ? null
            : await hashedIdempotency(deps.personalKeys, org, {
                key,
                body: canonical(request.sent),
                came: request.came,
              }),
        draft: () => ({ email: { value: null }, contact: null, ...fields }),
      });
      return {
        body: sentCardBody(sent, deps.baseUrl()),
        headers: {
          ...cardReceipt(sent),
          ...(sent.replay && { 'idempotent-replay': 'true' }),
          ...(isCut(request.sent['reference']) && { 'x-truncated-fields': 'reference' }),
        },
      };
    },
  }),
  route('GET /api/v1/cards', {
    id: 'listCards',
    summary: 'List cards, newest first',
    access: { kind: 'key', scope: 'cards:read' },
    query: cardListQuery,
    tags: ['cards'],
    answers: { 200: ['A page of cards.', listOf(cardRow, 'CardList')] },
    handle: async ({ caller, query }) => {
      const page = await listCards(deps, caller.org, {
        limit: query.limit,
        status: query.status === null ? null : statusFrom(query.status),
        reference: query.reference,
        startingAfter: query.starting_after,
      });
      return pageOf(page, query.limit, ({ code }) => code, cardRowJson);
    },
  }),
  route('GET /api/v1/cards/:card_code', {
    id: 'getCard',
    summary: 'Look up one card',
    access: { kind: 'key', scope: 'cards:read' },
    ...ofOne,
    answers: { 200: ['The card with its six production steps.', wholeCard] },
    handle: async ({ caller, params }) => ({
      body: cardBody(await lookUpCard(deps, codeFrom(params.card_code), caller.org), deps.baseUrl()),
    }),
  }),
  route('DELETE /api/v1/cards/:card_code', {
    id: 'cancelCard',
    summary: 'Cancel a card before it is made',
    access: { kind: 'key', scope: 'cards:send' },
    ...ofOne,
    description:
      'Allowed while the card is pending, queued or held. A repeat is a 200, too, and refunds nothing.',
    answers: { 200: ['The card is cancelled.', cancelledCard] },
    errors: ['too_late_to_cancel'],
    handle: async (request) => {
      const { org } = request.caller;
      const code = codeFrom(request.params.card_code);
      const { creditsReturned } = await changeCard(
        deps,
        { code, org },
        newCommand(deps, byKey(request), org),
        cancel,
      );
      return { body: cancelledBody(code, creditsReturned) };
    },
  }),
];
