import { z } from 'zod';
import { organizationOf } from '../../../application/organizations/administer.js';
import { invalidCursor } from '../../../application/requests/invalid-cursor.js';
import { unusedEndpoint, type WatchedEndpoint } from '../../../application/ports/endpoint-gates.js';
import {
  listDeadLetters,
  listEndpoints,
  listEndpointsAt,
  redriveDeliveries,
  type WebhookDeps,
} from '../../../application/webhooks/webhooks.js';
import * as deliveries from '../api/deliveries.js';
import { optionalChoice, optionalText, pageCursor, text } from '../schema/fields.js';
import * as shown from '../schema/shown.js';
import { whole } from '../schema/read.js';
import { byOperator, operatorRoute, pageQuery, type OperatorRequest } from './route.js';
import { asOfBody, asOfField, atQuery, momentFrom, placeFrom } from '../api/as-of.js';
import { byId, instant, listOf, pageOf, timestampAt, wholeList } from '../api/responses.js';
import type { Route } from '../server/route.js';
import { enabling, listedBody, listedEndpoint, maxStreams } from '../api/webhooks.js';
import type { OrganizationId, Uuid } from '../../../domain/ids.js';
import type { Endpoint } from '../../../domain/webhook-endpoints.js';

const redrive = z.object({
  from: text(
    'Dead letters of events from this position or time on, inclusive.',
    '2026-03-02T00:00:00Z',
    deliveries.placeFacts,
  ),
  to: optionalText(
    'Up to this position or time, inclusive. Omit it for all until now.',
    '2026-03-03T00:00:00Z',
    deliveries.placeFacts,
  ),
  endpoint: optionalText('Only dead letters of this endpoint.', shown.examples.uuid),
});

const redriven = deliveries.counted.extend({
  more: z.boolean().optional().describe('There if some of them become due in the background.'),
});

const deadLetter = shown.component('DeadLetter', 'A delivery that is out of attempts.', {
  ...deliveries.delivery.shape,
  organization_id: shown.organizationId,
});

const watchedEndpoint = shown.component(
  'WatchedWebhookEndpoint',
  'An endpoint of any organization, and how it does.',
  {
    id: shown.idOf('endpoint'),
    object: shown.objectKind('webhook_endpoint'),
    organization_id: shown.organizationId,
    url: shown.text('Where events are sent.', 'https://example.com/hooks/cards'),
    active: shown.boolean('Whether attempts are made.', true),
    failure_count: shown.number('How many attempts have failed.', 3),
    consecutive_failures: shown.number('How many have failed since the last success.', 3),
    last_success_at: instant('When an attempt last got a 2xx.').nullable(),
    last_failure: shown.nullText('Why the last attempt that failed did, in plain words.'),
  },
);

const watchedBody = (row: WatchedEndpoint) => ({
  id: row.endpoint,
  object: 'webhook_endpoint',
  organization_id: row.org,
  url: row.url,
  active: row.active,
  failure_count: row.failureCount,
  consecutive_failures: row.consecutiveFailures,
  last_success_at: row.lastSuccessAt === null ? null : timestampAt(row.lastSuccessAt),
  last_failure: row.lastFailure,
});

const notKnownThen = shown.number('Null if `at` was sent.', 0).min(0).nullable();
/** How often an endpoint had failed at a moment in the past is not known. */
const endpointThen = shown.component('WebhookEndpointThen', 'A webhook endpoint as it was.', {
  ...listedEndpoint.shape,
  failure_count: notKnownThen,
  consecutive_failures: notKnownThen,
});

const bodyThen = (endpoint: Endpoint) => ({
  ...listedBody({ ...unusedEndpoint, endpoint }),
  failure_count: null,
  consecutive_failures: null,
});

/** Asked by an operator, about the organization in the path. */
const asked = (request: OperatorRequest & { readonly params: { readonly org: OrganizationId } }) => ({
  org: request.params.org,
  by: byOperator(request),
});

/** Routes about the endpoints of one organization, and of all: which of them fail? */
export const operatorWebhookRoutes = (deps: WebhookDeps): readonly Route[] => {
  const alike = deliveries.sharedOperations(deps, asked);
  return [
    operatorRoute('GET /deliveries', {
      id: 'listDeadLetters',
      summary: 'List the dead letters of all organizations, newest first',
      query: pageQuery.extend({
        starting_after: pageCursor(shown.examples.delivery),
        status: optionalChoice(['exhausted'], 'Deliveries of other states are listed by organization.'),
      }),
      answers: { 200: listOf(deadLetter, 'DeadLetterList') },
      handle: async ({ query: { limit, starting_after: startingAfter } }) => {
        const rows = await listDeadLetters(deps, { startingAfter, limit });
        return pageOf(rows, limit, byId, (row) => ({ organization_id: row.org, ...deliveries.bodyOf(row) }));
      },
    }),
    operatorRoute('GET /webhooks', {
      id: 'listWatchedWebhooks',
      summary: 'List the webhook endpoints of all organizations, and how they do',
      query: pageQuery.extend({
        active: optionalChoice(['false'], 'Only endpoints that nothing is sent to.'),
      }),
      answers: { 200: listOf(watchedEndpoint, 'WatchedWebhookEndpointList') },
      handle: async ({ query: { limit, starting_after: startingAfter, active } }) => {
        const after = startingAfter?.toLowerCase() as Uuid | undefined;
        if (after !== undefined && !(await deps.deliveries.gates.addresses([after])).has(after))
          throw invalidCursor('webhook endpoint');
        const page = { startingAfter: after ?? null, limit };
        const rows = await deps.deliveries.gates.watched(active !== null, page);
        return pageOf(rows, limit, ({ endpoint }) => endpoint, watchedBody);
      },
    }),
    operatorRoute(`GET /organizations/:org/deliveries`, {
      id: 'listOrganizationDeliveries',
      ...deliveries.list,
      handle: async ({ params: { org }, query }) => {
        await organizationOf(deps, org);
        return deliveries.page(deps, org, query);
      },
    }),
    operatorRoute(`GET /organizations/:org/deliveries/stream`, {
      id: 'followOrganizationDeliveries',
      ...deliveries.stream,
      handle: async (request) => {
        const { org } = request.params;
        request.takePlace(org, maxStreams);
        await organizationOf(deps, org);
        return { events: deliveries.changes(deps, org, request.signal) };
      },
    }),
    operatorRoute(`POST /organizations/:org/deliveries/redrive`, {
      id: 'redriveDeliveries',
      summary: 'Redrive dead letters',
      body: whole(redrive),
      answers: { 202: redriven },
      handle: async (request, { from, to, endpoint }) => {
        const { org } = request.params;
        const which = {
          from: await placeFrom(deps.store, from, 'from'),
          to: to === null ? null : await placeFrom(deps.store, to, 'to'),
          endpoint: endpoint?.toLowerCase() ?? null,
        };
        await organizationOf(deps, org);
        const { deliveries, more } = await redriveDeliveries(deps, org, which);
        return { body: { deliveries, ...(more && { more }) } };
      },
    }),
    operatorRoute(`GET /organizations/:org/deliveries/:id`, {
      id: 'getOrganizationDelivery',
      ...alike.lookUp,
    }),
    operatorRoute(`POST /organizations/:org/deliveries/:id/retry`, {
      id: 'retryOrganizationDelivery',
      ...alike.retry,
    }),
    operatorRoute(`GET /organizations/:org/webhooks`, {
      id: 'listOrganizationWebhooks',
      summary: 'List webhook endpoints, newest first, as they are or as they were',
      query: atQuery,
      answers: { 200: listOf(endpointThen, 'WebhookEndpointListThen', asOfField) },
      handle: async ({ params: { org }, query }) => {
        const moment = await momentFrom(deps.store, query.at, 'at');
        if (moment !== null) {
          const { was, asOf } = await listEndpointsAt(deps, org, moment);
          return { body: { ...wholeList(was.map(bodyThen)), ...asOfBody(asOf) } };
        }
        await organizationOf(deps, org);
        return { body: wholeList((await listEndpoints(deps, org)).map(listedBody)) };
      },
    }),
    operatorRoute(`POST /organizations/:org/webhooks/:id/test`, {
      id: 'testOrganizationWebhook',
      ...alike.test,
    }),
    operatorRoute(`POST /organizations/:org/webhooks/:id/enable`, {
      id: 'enableOrganizationWebhook',
      ...enabling(deps, asked),
    }),
    operatorRoute(`POST /organizations/:org/webhooks/:id/rotate`, {
      id: 'rotateOrganizationWebhookSecret',
      ...alike.rotate,
    }),
    operatorRoute('POST /organizations/:org/webhooks/:id/replay', {
      id: 'replayOrganizationEvents',
      ...alike.replay,
    }),
  ];
};
