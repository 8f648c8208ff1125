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
import { parseCardCode } from '../../../domain/card-code.js';
import type { Command } from '../../../domain/events.js';
import type { OrganizationId } from '../../../domain/ids.js';
import { publicEventTypes } from '../../../domain/public-events.js';
import { optionalChoice, optionalText, pageCursor, pageLimit, text } from '../schema/fields.js';
import { cardCode, examples, idOf, objectKind, shownNumber, shownText, nullText } from '../schema/shown.js';
import { ClientGone } from '../server/errors.js';
import { placeFrom } from './as-of.js';
import { eventExample } from '../schema/outbound.js';
import { byId, instant, listOf, pageOf, timestampAt } from './responses.js';
import type { ServerSentEvent, TextResponse } from '../server/route.js';

// Deliveries as operators and owners of endpoints see and change them.

export const testResult = z
  .object({
    http_status: shownNumber('The status of the response; null if there was none.', 204).nullable(),
    error: nullText('Why there was no response, in plain words; null if there was one.'),
    duration_ms: shownNumber('How long the attempt took, in milliseconds.', 87),
  })
  .meta({ id: 'WebhookTestResult', description: 'What a test event came to.' });
const attempt = z
  .object({
    at: instant('When the attempt began.'),
    ...testResult.shape,
    body: shownText('The first 1 KiB of the response.', '').nullable(),
  })
  .meta({ id: 'DeliveryAttempt', description: 'One attempt of a delivery.' });

/** One event on its way to one endpoint. */
export const delivery = z
  .object({
    id: shownText('The same for every attempt: the `service-delivery` header.', examples.delivery),
    object: objectKind('delivery'),
    event: shownText('The id of the event.', examples.event),
    type: shownText('The type of the event.', 'card.created'),
    endpoint: idOf('endpoint'),
    card: cardCode,
    status: z
      .enum(deliveryStatuses)
      .meta({ description: '`exhausted` is a dead letter.', examples: ['delivered'] }),
    attempts: z.array(attempt).describe('What was tried, oldest first.'),
    next_attempt_at: instant('When the next attempt is due; null once the delivery has ended.').nullable(),
    drop_reason: nullText('Why the delivery was dropped.'),
    created_at: instant('When the event occurred.'),
  })
  .meta({
    id: 'Delivery',
    description: 'An event on its way to an endpoint, with its attempts.',
  });

export const deliveryList = listOf(delivery, 'DeliveryList');

const attemptBody = ({ at: began, httpStatus, error, duration, body }: DeliveryAttempt) => ({
  at: timestampAt(began),
  http_status: httpStatus,
  error,
  duration_ms: Math.round(duration),
  body,
});

export const deliveryBody = (row: Delivery) => ({
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

export const deliveryQuery = z.object({
  limit: pageLimit,
  starting_after: pageCursor(examples.delivery),
  endpoint: optionalText({ description: 'Only deliveries to this endpoint.', examples: [examples.uuid] }),
  status: optionalChoice(deliveryStatuses, { description: 'Only deliveries with this status.' }),
  type: optionalChoice(publicEventTypes, { description: 'Only events of this type.' }),
  card: optionalText({ description: 'Only events of this card.', examples: [examples.card] }),
});

export const place = (description: string, example = '2026-03-02T00:00:00Z') =>
  ({
    number: 'text',
    hint: 'a position in the log or an ISO 8601 time',
    description,
    examples: [example],
  }) as const;
export const replay = z
  .object({ from: text(place('Events from this position or time on, inclusive.')) })
  .meta({ id: 'ReplayInput', description: 'Which events to replay.' });

/** Makes a card code canonical; a text that isn't a card code matches nothing. */
const cardFilter = (sent: string | null): string | null => {
  if (sent === null) return null;
  const parsed = parseCardCode(sent);
  return parsed.kind === 'code' ? parsed.code : sent;
};

/** A page of an organization's deliveries. Throws `invalid_cursor`. */
export const deliveryPage = async (
  deps: WebhookDeps,
  org: OrganizationId,
  query: z.output<typeof deliveryQuery>,
): Promise<TextResponse> => {
  const { limit, starting_after: startingAfter, endpoint, status, type, card } = query;
  const filter = { endpoint: endpoint?.toLowerCase() ?? null, status, type, card: cardFilter(card) };
  const rows = await listDeliveries(deps, org, filter, { startingAfter, limit });
  return pageOf(rows, limit, byId, deliveryBody);
};

/** Every change of an organization's deliveries as it happens, until the signal aborts. */
export const deliveryEvents = async function* (
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
        delivery: deliveryBody(row),
        attempt: kind === 'attempted' && last !== undefined ? attemptBody(last) : null,
        request,
      },
    };
  }
};

const deliveryChange = z
  .object({
    change: z
      .enum(['made', 'attempted', 'changed'])
      .meta({ description: 'What has happened to the delivery.', examples: ['attempted'] }),
    delivery,
    attempt: attempt.nullable().describe('The attempt, if one was made.'),
    request: z
      .object({
        headers: z.record(z.string(), z.string()).meta({
          description: 'The headers of a webhook, signed now.',
          examples: [{ 'service-delivery': examples.delivery }],
        }),
        body: shownText('The body of a webhook.', JSON.stringify(eventExample)),
      })
      .nullable()
      .describe('What to pass on; null if the endpoint is deleted.'),
  })
  .meta({ id: 'DeliveryChange', description: 'What has become of a delivery.' });

/** The document's description of the stream of deliveries. */
export const deliveryStream = {
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

export const retried = z
  .object({ id: idOf('delivery') })
  .meta({ id: 'RetriedDelivery', description: 'A delivery that is due now.' });
export const rotated = z
  .object({
    signing_secret: shownText(
      'The new signing secret. Keep it: it is shown only this once.',
      examples.secret,
    ),
  })
  .meta({ id: 'RotatedSecret', description: 'The signing secret from now on.' });

/** How many deliveries an operation has made due. */
export const counted = z
  .object({ deliveries: shownNumber('How many deliveries are due now.', 3).min(0) })
  .meta({ id: 'DueDeliveries', description: 'What a replay or a redrive made due.' });

/** Replays the events from the place that the request names; a client that goes away ends that. */
export const replayed = async (
  deps: WebhookDeps,
  org: OrganizationId,
  id: string,
  { from }: z.output<typeof replay>,
  signal: AbortSignal,
) => {
  const since = await placeFrom(deps.store, from, 'from');
  const deliveries = await replayEvents(deps, org, id, since, signal);
  if (deliveries === null) throw new ClientGone();
  return { body: { deliveries } };
};

/** Which event a test pretends to be. */
export const testQuery = z.object({
  type: optionalChoice(publicEventTypes, {
    description: 'The type of the test event; `card.created` if it is left out.',
  }),
});

/** Sends a test event, and returns its result. */
export const tested = async (
  deps: WebhookDeps,
  org: OrganizationId,
  id: string,
  { type }: z.output<typeof testQuery>,
) => {
  const { httpStatus, error, duration } = await sendTestEvent(deps, org, id, type ?? undefined);
  return { body: { http_status: httpStatus, error, duration_ms: Math.round(duration) } };
};

export const withNewSecret = async (
  deps: WebhookDeps,
  org: OrganizationId,
  endpoint: string,
  command: Command,
) => ({ body: { signing_secret: await rotateSecret(deps, org, endpoint, command) } });

export const dueNow = async (deps: WebhookDeps, org: OrganizationId, id: string) => {
  await retryDelivery(deps, org, id);
  return { body: { id } };
};

export const oneDelivery = async (deps: WebhookDeps, org: OrganizationId, id: string) => ({
  body: deliveryBody(await readDelivery(deps, org, id)),
});
