import { z } from 'zod';
import {
  deliveryStatuses,
  type DeliveryAttempt,
  type Delivery,
} from '../../../application/ports/delivery-log.js';
import {
  replayEvents,
  listDeliveries,
  readDelivery,
  retryDelivery,
  rotateSecret,
  sendTestEvent,
  watchDeliveries,
  type WebhookDeps,
} from '../../../application/webhooks/webhooks.js';
import { newCommand, type Initiator } from '../../../application/writing/execute.js';
import { parseCardCode } from '../../../domain/card-code.js';
import type { OrganizationId } from '../../../domain/ids.js';
import { publicEventTypes } from '../../../domain/public-events.js';
import { optionalChoice, optionalText, pageCursor, pageLimit, text } from '../schema/fields.js';
import { whole } from '../schema/read.js';
import * as shown from '../schema/shown.js';
import { ClientGone } from '../server/errors.js';
import { placeFrom } from './as-of.js';
import { eventExample } from '../schema/outbound.js';
import { byId, instant, listOf, pageOf, timestampAt } from './responses.js';
import type { HttpRequest, ServerSentEvent, TextResponse } from '../server/route.js';

const testResult = shown.component('WebhookTestResult', 'What a test event came to.', {
  http_status: shown.number('The status of the response; null if there was none.', 204).nullable(),
  error: shown.nullText('Why there was no response, in plain words; null if there was one.'),
  duration_ms: shown.number('How long the attempt took, in milliseconds.', 87),
});
const attempt = shown.component('DeliveryAttempt', 'One attempt of a delivery.', {
  at: instant('When the attempt began.'),
  ...testResult.shape,
  body: shown.textOrNull('The first 1 KiB of the response.', ''),
});

export const delivery = shown.component(
  'Delivery',
  'An event on its way to an endpoint, with its attempts.',
  {
    id: shown.text('The same for every attempt: the `service-delivery` header.', shown.examples.delivery),
    object: shown.objectKind('delivery'),
    event: shown.text('The id of the event.', shown.examples.event),
    type: shown.text('The type of the event.', 'card.created'),
    endpoint: shown.idOf('endpoint'),
    card: shown.cardCode,
    status: z.enum(deliveryStatuses).meta(shown.words('`exhausted` is a dead letter.', 'delivered')),
    attempts: z.array(attempt).describe('What was tried, oldest first.'),
    next_attempt_at: instant('When the next attempt is due; null once the delivery has ended.').nullable(),
    drop_reason: shown.nullText('Why the delivery was dropped.'),
    created_at: instant('When the event occurred.'),
  },
);

const attemptBody = ({ at: began, httpStatus, error, duration, body }: DeliveryAttempt) => ({
  at: timestampAt(began),
  http_status: httpStatus,
  error,
  duration_ms: Math.round(duration),
  body,
});

export const bodyOf = (row: Delivery) => ({
  id: row.id,
  object: 'delivery',
  event: row.event,
  type: row.type,
  endpoint: row.endpoint,
  card: row.card,
  status: row.status,
  attempts: row.attempts.map(attemptBody),
  next_attempt_at: row.due === null ? null : timestampAt(row.due),
  drop_reason: row.dropReason,
  created_at: timestampAt(row.occurredAt),
});

const deliveryQuery = z.object({
  limit: pageLimit,
  starting_after: pageCursor(shown.examples.delivery),
  endpoint: optionalText('Only deliveries to this endpoint.', shown.examples.uuid),
  status: optionalChoice(deliveryStatuses, 'Only deliveries with this status.'),
  type: optionalChoice(publicEventTypes, 'Only events of this type.'),
  card: optionalText('Only events of this card.', shown.examples.card),
});

export const placeFacts = { number: 'text', hint: 'a position in the log or an ISO 8601 time' } as const;
const replay = shown.component('ReplayInput', 'Which events to replay.', {
  from: text('Events from this position or time on, inclusive.', '2026-03-02T00:00:00Z', placeFacts),
});

/** Makes a card code canonical; a text that isn't a card code matches nothing. */
const cardFilter = (sent: string | null): string | null => {
  if (sent === null) return null;
  const parsed = parseCardCode(sent);
  return parsed.kind === 'code' ? parsed.code : sent;
};

const testQuery = z.object({
  type: optionalChoice(publicEventTypes, 'The type of the test event; `card.created` if it is left out.'),
});

/** The document's description of the list of deliveries. */
export const list = {
  summary: 'List deliveries, newest first',
  query: deliveryQuery,
  answers: { 200: listOf(delivery, 'DeliveryList') },
};

/** A page of an organization's deliveries. Throws `invalid_cursor`. */
export const page = async (
  deps: WebhookDeps,
  org: OrganizationId,
  query: z.output<typeof deliveryQuery>,
): Promise<TextResponse> => {
  const { limit, starting_after: startingAfter, endpoint, status, type, card } = query;
  const filter = { endpoint: endpoint?.toLowerCase() ?? null, status, type, card: cardFilter(card) };
  const rows = await listDeliveries(deps, org, filter, { startingAfter, limit });
  return pageOf(rows, limit, byId, bodyOf);
};

/** Every change of an organization's deliveries as it happens, until the signal aborts. */
export const changes = async function* (
  deps: WebhookDeps,
  org: OrganizationId,
  signal: AbortSignal,
): AsyncGenerator<ServerSentEvent> {
  for await (const { kind, delivery: row, request } of watchDeliveries(deps, org, signal)) {
    const last = row.attempts.at(-1);
    const event = kind === 'attempted' ? 'attempt' : 'delivery';
    yield {
      event,
      data: {
        change: kind,
        delivery: bodyOf(row),
        attempt: kind === 'attempted' && last !== undefined ? attemptBody(last) : null,
        request,
      },
    };
  }
};

export const deliveryChange = shown.component('DeliveryChange', 'What has become of a delivery.', {
  change: z
    .enum(['made', 'attempted', 'changed'])
    .meta(shown.words('What has happened to the delivery.', 'attempted')),
  delivery,
  attempt: attempt.nullable().describe('The attempt, if one was made.'),
  request: z
    .object({
      headers: z.record(z.string(), z.string()).meta(
        shown.words('The headers of a webhook, signed now.', {
          'service-delivery': shown.examples.delivery,
        }),
      ),
      body: shown.text('The body of a webhook.', JSON.stringify(eventExample)),
    })
    .nullable()
    .describe('What to pass on; null if the endpoint is deleted.'),
});

/** The document's description of the stream of deliveries. */
export const stream = {
  summary: 'Follow deliveries and attempts as they happen, as server-sent events',
  description:
    'Each event has `request`: the body and the headers, signed at that moment, to pass on to a program of your own.',
  responses: {
    200: {
      description: '`delivery` when a delivery is made or changes, `attempt` after each attempt.',
      schema: null,
      type: 'text/event-stream',
      eventData: deliveryChange,
    },
  },
} as const;

const retried = shown.component('RetriedDelivery', 'A delivery that is due now.', {
  id: shown.idOf('delivery'),
});
const rotated = shown.component('RotatedSecret', 'The signing secret from now on.', {
  signing_secret: shown.text(
    'The new signing secret. Keep it: it is shown only this once.',
    shown.examples.secret,
  ),
});
export const counted = shown.component('DueDeliveries', 'What a replay or a redrive made due.', {
  deliveries: shown.number('How many deliveries are due now.', 3).min(0),
});

/** Finds out whose endpoints and deliveries a request is about, and who sent it. */
export type Asked<Sent> = (request: Sent) => { readonly org: OrganizationId; readonly by: Initiator };
export interface AboutOne {
  readonly params: { readonly id: string };
}

export const sharedOperations = <Sent>(deps: WebhookDeps, asked: Asked<Sent>) => ({
  lookUp: {
    summary: 'Look up a delivery and its attempts',
    answers: { 200: delivery },
    handle: async (request: Sent & AboutOne) => ({
      body: bodyOf(await readDelivery(deps, asked(request).org, request.params.id)),
    }),
  },
  retry: {
    summary: 'Retry a delivery',
    answers: { 202: retried },
    errors: ['invalid_transition'] as const,
    handle: async (request: Sent & AboutOne) => {
      const { id } = request.params;
      await retryDelivery(deps, asked(request).org, id);
      return { body: { id } };
    },
  },
  test: {
    summary: 'Send a test event',
    query: testQuery,
    answers: { 200: testResult },
    handle: async (request: Sent & AboutOne & { readonly query: z.output<typeof testQuery> }) => {
      const { id } = request.params;
      const type = request.query.type ?? undefined;
      const { httpStatus, error, duration } = await sendTestEvent(deps, asked(request).org, id, type);
      return { body: { http_status: httpStatus, error, duration_ms: Math.round(duration) } };
    },
  },
  rotate: {
    summary: 'Rotate a signing secret; the old one also signs for 24 hours',
    answers: { 200: rotated },
    handle: async (request: Sent & AboutOne) => {
      const { org, by } = asked(request);
      const secret = await rotateSecret(deps, org, request.params.id, newCommand(deps, by, org));
      return { body: { signing_secret: secret } };
    },
  },
  replay: {
    summary: 'Replay the events that an endpoint has not accepted',
    body: whole(replay),
    answers: { 202: counted },
    /** A client that goes away ends it. */
    handle: async (request: Sent & AboutOne & Pick<HttpRequest, 'signal'>, { from }: { from: string }) => {
      const since = await placeFrom(deps.store, from, 'from');
      const { params, signal } = request;
      const deliveries = await replayEvents(deps, asked(request).org, params.id, since, signal);
      if (deliveries === null) throw new ClientGone();
      return { body: { deliveries } };
    },
  },
});
