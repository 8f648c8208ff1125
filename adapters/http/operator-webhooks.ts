import { z } from 'zod';
import { organizationOf } from '../../application/administer.js';
import { newCommand } from '../../application/commands.js';
import {
  deliveryStatuses,
  type DeliveryAttempt,
  type Delivery,
  type Place,
} from '../../application/ports/delivery-log.js';
import { replayEvents } from '../../application/replay-events.js';
import {
  enableEndpoint,
  listDeliveries,
  listEndpoints,
  redriveDeliveries,
  retryDelivery,
  rotateSecret,
  sendTestEvent,
  watchDeliveries,
  type WebhookDeps,
} from '../../application/webhooks.js';
import { parseCardCode } from '../../domain/card-code.js';
import { DomainError } from '../../domain/errors.js';
import type { OrganizationId } from '../../domain/ids.js';
import { ClientGone } from './errors.js';
import { optionalChoice, optionalText, pageLimit, text } from './fields.js';
import {
  byOperator,
  idParam,
  operatorAccess,
  operatorOperation,
  orgOf,
  orgParam,
  orgPath,
} from './operator.js';
import { readAll } from './read.js';
import { instant, isoTime, listOf, pageOf, timestampAt, wholeList } from './responses.js';
import { route, type Route, type ServerSentEvent } from './route.js';
import { listedBody, listedEndpoint } from './webhooks.js';

const orgOnly = z.object({ org: orgParam });
const orgAndId = z.object({ org: orgParam, id: idParam });

const delivery = z
  .object({
    id: z.string().describe('The same for every attempt: the `service-delivery` header.'),
    object: z.literal('delivery'),
    event: z.string().describe('The id of the event.'),
    type: z.string(),
    endpoint: z.string(),
    card: z.string(),
    status: z.enum(deliveryStatuses).describe('`exhausted` is a dead letter.'),
    attempts: z.array(
      z.object({
        at: instant('When the attempt began.'),
        http_status: z.int().nullable(),
        error: z.string().nullable().describe('Why there was no response, in plain words.'),
        duration_ms: z.int(),
        body: z.string().nullable().describe('The first 1 KiB of the response.'),
      }),
    ),
    next_attempt_at: instant('When the next attempt is due; null once the delivery has ended.').nullable(),
    drop_reason: z.string().nullable().describe('Why the delivery was dropped.'),
    created_at: instant('When the event occurred.'),
  })
  .meta({ id: 'Delivery' });

const attemptBody = ({ at: began, httpStatus, error, duration, body }: DeliveryAttempt) => ({
  at: timestampAt(began),
  http_status: httpStatus,
  error,
  duration_ms: Math.round(duration),
  body,
});

const deliveryBody = (row: Delivery) => ({
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
  starting_after: optionalText({ description: 'The `next_cursor` of the page before.' }),
  endpoint: optionalText({ description: 'Only deliveries to this endpoint.' }),
  status: optionalChoice(deliveryStatuses),
  type: optionalText({ description: 'Only events of this type.' }),
  card: optionalText({ description: 'Only events of this card.' }),
});

const place = (description: string) =>
  ({ number: 'text', hint: 'a position in the log or an ISO 8601 time', description }) as const;
const replay = z.object({ from: text(place('Events from this position or time on, inclusive.')) });
const redrive = z.object({
  from: text(place('Dead letters of events from this position or time on, inclusive.')),
  to: optionalText(place('Up to this position or time, inclusive. Omit it for all until now.')),
  endpoint: optionalText({ description: 'Only dead letters of this endpoint.' }),
});

/** Reads a position or a time. Throws `invalid_parameter`. */
const placeOf = (sent: string, param: string): Place => {
  if (/^\d{1,18}$/.test(sent)) return { position: BigInt(sent) };
  const time = isoTime.test(sent) ? Date.parse(sent) : NaN;
  if (Number.isNaN(time))
    throw new DomainError(
      'invalid_parameter',
      `\`${param}\` must be a position in the log or an ISO 8601 time.`,
      param,
    );
  return { time };
};

/** Makes a card code canonical; a text that isn't a card code matches nothing. */
const cardFilter = (sent: string | null): string | null => {
  if (sent === null) return null;
  const parsed = parseCardCode(sent);
  return parsed.kind === 'code' ? parsed.code : sent;
};

const serverSent = async function* (
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

const failure = 'internal_error';
const counted = z.object({ deliveries: z.int().min(0) });

const deliveryRoutes = (deps: WebhookDeps): readonly Route[] => [
  route({
    method: 'GET',
    path: `${orgPath}/deliveries`,
    access: operatorAccess,
    params: orgOnly,
    query: deliveryQuery,
    failure: 'read_failed',
    operation: operatorOperation(
      'listDeliveries',
      'List deliveries, newest first',
      { 200: listOf(delivery) },
      ['not_found', 'invalid_cursor', 'invalid_parameter'],
    ),
    handle: async ({ params, query }) => {
      const org = orgOf(params);
      await organizationOf(deps, org);
      const filter = {
        endpoint: query.endpoint?.toLowerCase() ?? null,
        status: query.status,
        type: query.type,
        card: cardFilter(query.card),
      };
      const rows = await listDeliveries(deps, org, filter, {
        startingAfter: query.starting_after,
        limit: query.limit,
      });
      return pageOf(rows, query.limit, ({ id }) => id, deliveryBody);
    },
  }),
  route({
    method: 'GET',
    path: `${orgPath}/deliveries/stream`,
    access: operatorAccess,
    params: orgOnly,
    failure: 'read_failed',
    operation: {
      ...operatorOperation(
        'followDeliveries',
        'Follow deliveries and attempts as they happen, as server-sent events',
        {},
        ['not_found'],
      ),
      description:
        'Each event has `request`: the body and the headers, signed at that moment, to pass on to a program of your own.',
      responses: {
        200: {
          description: '`delivery` when a delivery is made or changes, `attempt` after each attempt.',
          schema: null,
          type: 'text/event-stream',
        },
      },
    },
    handle: async ({ params, signal }) => {
      const org = orgOf(params);
      await organizationOf(deps, org);
      return { status: 200, events: serverSent(deps, org, signal) };
    },
  }),
  route({
    method: 'POST',
    path: `${orgPath}/deliveries/redrive`,
    access: operatorAccess,
    params: orgOnly,
    body: redrive,
    failure,
    operation: operatorOperation('redriveDeliveries', 'Redrive dead letters', { 202: counted }, [
      'not_found',
      'invalid_parameter',
    ]),
    handle: async (request) => {
      const org = orgOf(request.params);
      const { from, to, endpoint } = readAll(redrive, request.body);
      const which = {
        from: placeOf(from, 'from'),
        to: to === null ? null : placeOf(to, 'to'),
        endpoint: endpoint?.toLowerCase() ?? null,
      };
      await organizationOf(deps, org);
      return { status: 202, body: { deliveries: await redriveDeliveries(deps, org, which) } };
    },
  }),
  route({
    method: 'POST',
    path: `${orgPath}/deliveries/:id/retry`,
    access: operatorAccess,
    params: orgAndId,
    failure,
    operation: operatorOperation('retryDelivery', 'Retry a delivery', { 202: z.object({ id: z.string() }) }, [
      'not_found',
      'invalid_transition',
    ]),
    handle: async ({ params }) => {
      await retryDelivery(deps, orgOf(params), params.id);
      return { status: 202, body: { id: params.id } };
    },
  }),
];

const endpointRoutes = (deps: WebhookDeps): readonly Route[] => [
  route({
    method: 'GET',
    path: `${orgPath}/webhooks`,
    access: operatorAccess,
    params: orgOnly,
    failure: 'read_failed',
    operation: operatorOperation('listOrganizationWebhooks', 'List webhook endpoints, newest first', {
      200: listOf(listedEndpoint),
    }),
    handle: async ({ params }) => {
      const org = orgOf(params);
      await organizationOf(deps, org);
      return { status: 200, body: wholeList((await listEndpoints(deps, org)).map(listedBody)) };
    },
  }),
  route({
    method: 'POST',
    path: `${orgPath}/webhooks/:id/test`,
    access: operatorAccess,
    params: orgAndId,
    failure,
    operation: operatorOperation('testWebhookEndpoint', 'Send a test event', {
      200: z.object({
        http_status: z.int().nullable(),
        error: z.string().nullable(),
        duration_ms: z.int(),
      }),
    }),
    handle: async ({ params }) => {
      const { httpStatus, error, duration } = await sendTestEvent(deps, orgOf(params), params.id);
      return { status: 200, body: { http_status: httpStatus, error, duration_ms: Math.round(duration) } };
    },
  }),
  route({
    method: 'POST',
    path: `${orgPath}/webhooks/:id/enable`,
    access: operatorAccess,
    params: orgAndId,
    failure,
    operation: operatorOperation('enableWebhookEndpoint', 'Enable a webhook endpoint', {
      200: listedEndpoint,
    }),
    handle: async (request) => {
      const org = orgOf(request.params);
      const listed = await enableEndpoint(
        deps,
        org,
        request.params.id,
        newCommand(deps, byOperator(request), org),
      );
      return { status: 200, body: listedBody(listed) };
    },
  }),
  route({
    method: 'POST',
    path: `${orgPath}/webhooks/:id/rotate`,
    access: operatorAccess,
    params: orgAndId,
    failure,
    operation: operatorOperation(
      'rotateWebhookSecret',
      'Rotate a signing secret; the old one also signs for 24 hours',
      {
        200: z.object({ signing_secret: z.string() }),
      },
    ),
    handle: async (request) => {
      const org = orgOf(request.params);
      return {
        status: 200,
        body: {
          signing_secret: await rotateSecret(
            deps,
            org,
            request.params.id,
            newCommand(deps, byOperator(request), org),
          ),
        },
      };
    },
  }),
  route({
    method: 'POST',
    path: `${orgPath}/webhooks/:id/replay`,
    access: operatorAccess,
    params: orgAndId,
    body: replay,
    failure,
    operation: operatorOperation(
      'replayEvents',
      'Replay the events that an endpoint has not accepted',
      { 202: counted },
      ['not_found', 'invalid_parameter'],
    ),
    handle: async (request) => {
      const { from } = readAll(replay, request.body);
      const since = placeOf(from, 'from');
      const org = orgOf(request.params);
      const deliveries = await replayEvents(deps, org, request.params.id, since, request.signal);
      if (deliveries === null) throw new ClientGone();
      return { status: 202, body: { deliveries } };
    },
  }),
];

/** For the operator: deliveries and webhook endpoints. */
export const operatorWebhookRoutes = (deps: WebhookDeps): readonly Route[] => [
  ...deliveryRoutes(deps),
  ...endpointRoutes(deps),
];
