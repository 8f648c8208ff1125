import { z } from 'zod';
import { organizationOf } from '../../application/organizations/administer.js';
import { newCommand } from '../../application/commands.js';
import { unusedEndpoint } from '../../application/ports/endpoint-gates.js';
import {
  enableEndpoint,
  listEndpoints,
  listEndpointsAt,
  redriveDeliveries,
  retryDelivery,
  rotateSecret,
  type WebhookDeps,
} from '../../application/webhooks/webhooks.js';
import {
  counted,
  delivery,
  deliveryList,
  deliveryEvents,
  deliveryPage,
  deliveryQuery,
  deliveryStream,
  oneDelivery,
  place,
  replay,
  replayed,
  tested,
  testQuery,
  testResult,
} from './deliveries.js';
import { optionalText, text } from './fields.js';
import {
  byOperator,
  idParam,
  officeAccess,
  operatorOperation,
  orgOf,
  orgParam,
  orgPath,
} from './operator.js';
import { asOfBody, asOfField, atErrors, atQuery, momentFrom, placeFrom } from './moments.js';
import { readAll } from './read.js';
import { listOf, wholeList } from './responses.js';
import { route, type Route } from './route.js';
import { listedBody, listedEndpoint } from './webhooks.js';
import type { Endpoint } from '../../domain/webhook-endpoints.js';

const orgOnly = z.object({ org: orgParam });
const orgAndId = z.object({ org: orgParam, id: idParam });

const redrive = z.object({
  from: text(place('Dead letters of events from this position or time on, inclusive.')),
  to: optionalText(place('Up to this position or time, inclusive. Omit it for all until now.')),
  endpoint: optionalText({ description: 'Only dead letters of this endpoint.' }),
});

const failure = 'internal_error';
const redriven = z.object({
  deliveries: z.int().min(0),
  more: z.literal(true).optional().describe('There if more of them follow in the background.'),
});

const deliveryRoutes = (deps: WebhookDeps): readonly Route[] => [
  route({
    method: 'GET',
    path: `${orgPath}/deliveries`,
    access: officeAccess,
    params: orgOnly,
    query: deliveryQuery,
    failure: 'read_failed',
    operation: operatorOperation('listDeliveries', 'List deliveries, newest first', { 200: deliveryList }, [
      'not_found',
      'invalid_cursor',
      'invalid_parameter',
    ]),
    handle: async ({ params, query }) => {
      const org = orgOf(params);
      await organizationOf(deps, org);
      return deliveryPage(deps, org, query);
    },
  }),
  route({
    method: 'GET',
    path: `${orgPath}/deliveries/stream`,
    access: officeAccess,
    params: orgOnly,
    failure: 'read_failed',
    operation: {
      ...operatorOperation(
        'followDeliveries',
        'Follow deliveries and attempts as they happen, as server-sent events',
        {},
        ['not_found'],
      ),
      ...deliveryStream,
    },
    handle: async ({ params, signal }) => {
      const org = orgOf(params);
      await organizationOf(deps, org);
      return { status: 200, events: deliveryEvents(deps, org, signal) };
    },
  }),
  route({
    method: 'POST',
    path: `${orgPath}/deliveries/redrive`,
    access: officeAccess,
    params: orgOnly,
    body: redrive,
    failure,
    operation: operatorOperation('redriveDeliveries', 'Redrive dead letters', { 202: redriven }, [
      'not_found',
      'invalid_parameter',
    ]),
    handle: async (request) => {
      const org = orgOf(request.params);
      const { from, to, endpoint } = readAll(redrive, request.body);
      const which = {
        from: await placeFrom(deps.store, from, 'from'),
        to: to === null ? null : await placeFrom(deps.store, to, 'to'),
        endpoint: endpoint?.toLowerCase() ?? null,
      };
      await organizationOf(deps, org);
      const { deliveries, more } = await redriveDeliveries(deps, org, which);
      return { status: 202, body: { deliveries, ...(more && { more }) } };
    },
  }),
  route({
    method: 'GET',
    path: `${orgPath}/deliveries/:id`,
    access: officeAccess,
    params: orgAndId,
    failure: 'read_failed',
    operation: operatorOperation('getDelivery', 'Look up a delivery and its attempts', { 200: delivery }),
    handle: ({ params }) => oneDelivery(deps, orgOf(params), params.id),
  }),
  route({
    method: 'POST',
    path: `${orgPath}/deliveries/:id/retry`,
    access: officeAccess,
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

/** Nobody knows how often an endpoint had failed at a moment. */
const endpointThen = listedEndpoint
  .extend({
    failure_count: z.int().min(0).nullable().describe('Null if `at` was sent.'),
    consecutive_failures: z.int().min(0).nullable().describe('Null if `at` was sent.'),
  })
  .meta({ id: 'WebhookEndpointThen' });

const bodyThen = (endpoint: Endpoint) => ({
  ...listedBody({ ...unusedEndpoint, endpoint }),
  failure_count: null,
  consecutive_failures: null,
});

const endpointRoutes = (deps: WebhookDeps): readonly Route[] => [
  route({
    method: 'GET',
    path: `${orgPath}/webhooks`,
    access: officeAccess,
    params: orgOnly,
    query: atQuery,
    failure: 'read_failed',
    operation: operatorOperation(
      'listOrganizationWebhooks',
      'List webhook endpoints, newest first, as they are or as they were',
      { 200: listOf(endpointThen, 'WebhookEndpointListThen', asOfField) },
      ['not_found', ...atErrors],
    ),
    handle: async ({ params, query }) => {
      const org = orgOf(params);
      const moment = await momentFrom(deps.store, query.at, 'at');
      if (moment !== null) {
        const { was, asOf } = await listEndpointsAt(deps, org, moment);
        return { status: 200, body: { ...wholeList(was.map(bodyThen)), ...asOfBody(asOf) } };
      }
      await organizationOf(deps, org);
      return { status: 200, body: wholeList((await listEndpoints(deps, org)).map(listedBody)) };
    },
  }),
  route({
    method: 'POST',
    path: `${orgPath}/webhooks/:id/test`,
    access: officeAccess,
    params: orgAndId,
    query: testQuery,
    failure,
    operation: operatorOperation('testWebhookEndpoint', 'Send a test event', { 200: testResult }, [
      'not_found',
      'invalid_parameter',
    ]),
    handle: ({ params, query }) => tested(deps, orgOf(params), params.id, query),
  }),
  route({
    method: 'POST',
    path: `${orgPath}/webhooks/:id/enable`,
    access: officeAccess,
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
    access: officeAccess,
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
    access: officeAccess,
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
      const org = orgOf(request.params);
      return replayed(deps, org, request.params.id, request);
    },
  }),
];

/** For the operator: deliveries and webhook endpoints. */
export const operatorWebhookRoutes = (deps: WebhookDeps): readonly Route[] => [
  ...deliveryRoutes(deps),
  ...endpointRoutes(deps),
];
