import { z } from 'zod';
import { organizationOf } from '../../../application/organizations/administer.js';
import { invalidCursor } from '../../../application/requests/invalid-cursor.js';
import { newCommand } from '../../../application/writing/execute.js';
import { unusedEndpoint } from '../../../application/ports/endpoint-gates.js';
import {
  listDeadLetters,
  listEndpoints,
  listEndpointsAt,
  redriveDeliveries,
  type WebhookDeps,
} from '../../../application/webhooks/webhooks.js';
import {
  counted,
  delivery,
  deliveryBody,
  deliveryList,
  deliveryEvents,
  deliveryPage,
  deliveryQuery,
  deliveryStream,
  dueNow,
  oneDelivery,
  place,
  replay,
  replayed,
  retried,
  rotated,
  tested,
  testQuery,
  testResult,
  withNewSecret,
} from '../api/deliveries.js';
import { optionalChoice, optionalText, pageCursor, text } from '../schema/fields.js';
import {
  examples,
  idOf,
  nullText,
  objectKind,
  organizationId,
  shownNumber,
  shownText,
} from '../schema/shown.js';
import { whole } from '../schema/read.js';
import { byOperator, operatorRoute, pageQuery } from './route.js';
import { asOfBody, asOfField, atQuery, momentFrom, placeFrom } from '../api/as-of.js';
import { byId, instant, listOf, pageOf, timestampAt, wholeList } from '../api/responses.js';
import type { Route } from '../server/route.js';
import { enabled, listedBody, listedEndpoint, maxStreams } from '../api/webhooks.js';
import type { Uuid } from '../../../domain/ids.js';
import type { Endpoint } from '../../../domain/webhook-endpoints.js';

const redrive = z.object({
  from: text(place('Dead letters of events from this position or time on, inclusive.')),
  to: optionalText(
    place('Up to this position or time, inclusive. Omit it for all until now.', '2026-03-03T00:00:00Z'),
  ),
  endpoint: optionalText({ description: 'Only dead letters of this endpoint.', examples: [examples.uuid] }),
});

const redriven = counted.extend({
  more: z.boolean().optional().describe('There if some of them become due in the background.'),
});

const deadLetter = delivery
  .extend({ organization_id: organizationId })
  .meta({ id: 'DeadLetter', description: 'A delivery that is out of attempts.' });

const watchedEndpoint = z
  .object({
    id: idOf('endpoint'),
    object: objectKind('webhook_endpoint'),
    organization_id: organizationId,
    url: shownText('Where events are sent.', 'https://example.com/hooks/cards'),
    active: z.boolean().meta({ description: 'Whether attempts are made.', examples: [true] }),
    failure_count: shownNumber('How many attempts have failed.', 3),
    consecutive_failures: shownNumber('How many have failed since the last success.', 3),
    last_success_at: instant('When an attempt last got a 2xx.').nullable(),
    last_failure: nullText('Why the last attempt that failed did, in plain words.'),
  })
  .meta({ id: 'WatchedWebhookEndpoint', description: 'An endpoint of any organization, and how it does.' });

/** Over all organizations: whose endpoints fail? */
const watchRoutes = (deps: WebhookDeps): readonly Route[] => [
  operatorRoute('GET /deliveries', {
    id: 'listDeadLetters',
    summary: 'List the dead letters of all organizations, newest first',
    query: pageQuery.extend({
      starting_after: pageCursor(examples.delivery),
      status: optionalChoice(['exhausted'], {
        description: 'Deliveries of other states are listed by organization.',
      }),
    }),
    answers: { 200: listOf(deadLetter, 'DeadLetterList') },
    handle: async ({ query: { limit, starting_after: startingAfter } }) => {
      const rows = await listDeadLetters(deps, { startingAfter, limit });
      return pageOf(rows, limit, byId, (row) => ({ organization_id: row.org, ...deliveryBody(row) }));
    },
  }),
  operatorRoute('GET /webhooks', {
    id: 'listWatchedWebhooks',
    summary: 'List the webhook endpoints of all organizations, and how they do',
    query: pageQuery.extend({
      active: optionalChoice(['false'], { description: 'Only endpoints that nothing is sent to.' }),
    }),
    answers: { 200: listOf(watchedEndpoint, 'WatchedWebhookEndpointList') },
    handle: async ({ query: { limit, starting_after: startingAfter, active } }) => {
      const after = startingAfter?.toLowerCase() as Uuid | undefined;
      if (after !== undefined && !(await deps.deliveries.gates.addresses([after])).has(after))
        throw invalidCursor('webhook endpoint');
      const rows = await deps.deliveries.gates.watched(active !== null, {
        startingAfter: after ?? null,
        limit,
      });
      return pageOf(
        rows,
        limit,
        ({ endpoint }) => endpoint,
        (row) => ({
          id: row.endpoint,
          object: 'webhook_endpoint',
          organization_id: row.org,
          url: row.url,
          active: row.active,
          failure_count: row.failureCount,
          consecutive_failures: row.consecutiveFailures,
          last_success_at: row.lastSuccessAt === null ? null : timestampAt(row.lastSuccessAt),
          last_failure: row.lastFailure,
        }),
      );
    },
  }),
];

const deliveryRoutes = (deps: WebhookDeps): readonly Route[] => [
  operatorRoute(`GET /organizations/:org/deliveries`, {
    id: 'listOrganizationDeliveries',
    summary: 'List deliveries, newest first',
    query: deliveryQuery,
    answers: { 200: deliveryList },
    handle: async ({ params: { org }, query }) => {
      await organizationOf(deps, org);
      return deliveryPage(deps, org, query);
    },
  }),
  operatorRoute(`GET /organizations/:org/deliveries/stream`, {
    id: 'followOrganizationDeliveries',
    summary: 'Follow deliveries and attempts as they happen, as server-sent events',
    ...deliveryStream,
    handle: async (request) => {
      const { org } = request.params;
      request.takePlace(org, maxStreams);
      await organizationOf(deps, org);
      return { events: deliveryEvents(deps, org, request.signal) };
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
    summary: 'Look up a delivery and its attempts',
    answers: { 200: delivery },
    handle: ({ params }) => oneDelivery(deps, params.org, params.id),
  }),
  operatorRoute(`POST /organizations/:org/deliveries/:id/retry`, {
    id: 'retryOrganizationDelivery',
    summary: 'Retry a delivery',
    answers: { 202: retried },
    errors: ['invalid_transition'],
    handle: ({ params }) => dueNow(deps, params.org, params.id),
  }),
];

const notKnownThen = shownNumber('Null if `at` was sent.', 0).min(0).nullable();
/** How often an endpoint had failed at a moment in the past is not known. */
const endpointThen = listedEndpoint
  .extend({
    failure_count: notKnownThen,
    consecutive_failures: notKnownThen,
  })
  .meta({ id: 'WebhookEndpointThen', description: 'A webhook endpoint as it was.' });

const bodyThen = (endpoint: Endpoint) => ({
  ...listedBody({ ...unusedEndpoint, endpoint }),
  failure_count: null,
  consecutive_failures: null,
});

const endpointRoutes = (deps: WebhookDeps): readonly Route[] => [
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
    summary: 'Send a test event',
    query: testQuery,
    answers: { 200: testResult },
    handle: ({ params, query }) => tested(deps, params.org, params.id, query),
  }),
  operatorRoute(`POST /organizations/:org/webhooks/:id/enable`, {
    id: 'enableOrganizationWebhook',
    summary: 'Enable a webhook endpoint',
    answers: { 200: listedEndpoint },
    handle: (request) => {
      const { org, id } = request.params;
      return enabled(deps, org, id, newCommand(deps, byOperator(request), org));
    },
  }),
  operatorRoute(`POST /organizations/:org/webhooks/:id/rotate`, {
    id: 'rotateOrganizationWebhookSecret',
    summary: 'Rotate a signing secret; the old one also signs for 24 hours',
    answers: { 200: rotated },
    handle: (request) => {
      const { org, id } = request.params;
      return withNewSecret(deps, org, id, newCommand(deps, byOperator(request), org));
    },
  }),
  operatorRoute('POST /organizations/:org/webhooks/:id/replay', {
    id: 'replayOrganizationEvents',
    summary: 'Replay the events that an endpoint has not accepted',
    body: whole(replay),
    answers: { 202: counted },
    handle: ({ params, signal }, { from }) => replayed(deps, params.org, params.id, { from }, signal),
  }),
];

export const operatorWebhookRoutes = (deps: WebhookDeps): readonly Route[] => [
  ...watchRoutes(deps),
  ...deliveryRoutes(deps),
  ...endpointRoutes(deps),
];
