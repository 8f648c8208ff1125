import { z } from 'zod';
import { newCommand } from '../../../application/writing/execute.js';
import {
  changeEndpoint,
  deleteEndpoint,
  enableEndpoint,
  listEndpoints,
  readEndpoint,
  registerEndpoint,
  type Registration,
  type WebhookDeps,
  type ListedEndpoint,
} from '../../../application/webhooks/webhooks.js';
import { capture, unwrap } from '../../../domain/errors.js';
import type { Command } from '../../../domain/events.js';
import type { OrganizationId } from '../../../domain/ids.js';
import { publicEventTypes } from '../../../domain/public-events.js';
import { isActive, type Endpoint, type EndpointChange } from '../../../domain/webhook-endpoints.js';
import { countCharacters, readLine } from '../../../domain/text.js';
import { readWebhookUrl } from '../../../domain/webhook-url.js';
import {
  counted,
  delivery,
  dueNow,
  deliveryList,
  deliveryEvents,
  deliveryPage,
  deliveryQuery,
  deliveryStream,
  oneDelivery,
  replay,
  replayed,
  retried,
  rotated,
  tested,
  testQuery,
  testResult,
  withNewSecret,
} from './deliveries.js';
import { byKey } from './cards.js';
import {
  idParam,
  maxDescriptionLength,
  optional,
  optionalText,
  annotations,
  text,
} from '../schema/fields.js';
import { alwaysTrue, idOf, objectKind, shownNumber, shownText, nullText } from '../schema/shown.js';
import { parseValues, parseFields, whole, type JsonObject } from '../schema/read.js';
import { instant, listOf, timestampAt, wholeList } from './responses.js';
import { route, type HttpRequest, type Route } from '../server/route.js';
import type { KeyCaller } from '../server/access.js';

const shared = { access: { kind: 'key', scope: 'webhooks:manage' }, tags: ['webhooks'] } as const;

/** How many streams of an organization may be open at a time: each reads every change for itself. */
export const maxStreams = 10;

const eventTypes = (description: string) =>
  z
    .array(
      z.enum(publicEventTypes).meta(
        annotations({
          hint: `one of ${publicEventTypes.join(', ')} (leave \`events\` out for all of them)`,
        }),
      ),
    )
    .meta(annotations({ code: 'invalid_events', description, examples: [['card.created', 'card.mailed']] }));

const endpointChange = z
  .object({
    events: optional(
      eventTypes(
        'The event types to receive from now on; an empty list for all of them. Omit it to keep them.',
      ),
    ),
    description: z
      .string()
      .refine((sent) => countCharacters(sent) <= maxDescriptionLength)
      .meta({
        description: 'A label of your own choice; empty for none. Omit it to keep it.',
        examples: ['CRM'],
        maxLength: maxDescriptionLength,
      })
      .transform((sent) => readLine(sent) ?? '')
      .optional(),
  })
  .meta({
    id: 'WebhookEndpointChangeInput',
    description: 'What changes of an endpoint; what is left out stays.',
  });

const one = z.object({ id: idParam('endpoint') });
const onlyDelivery = z.object({ id: idParam('delivery') });

const newEndpoint = z
  .object({
    url: text(
      {
        code: 'invalid_url',
        format: 'uri',
        hint: 'an https URL of your own receiver',
        description:
          'Must be https and reachable on the public internet. A URL has at most one endpoint: if it has one already, that one is returned, unchanged.',
        examples: ['https://shop.example/webhooks/cards'],
      },
      readWebhookUrl,
    ),
    events: optional(
      eventTypes(
        'The event types to receive. Omitted or empty means all of them, including those that are added later.',
      ),
    ),
    description: optionalText(
      {
        maxLength: maxDescriptionLength,
        description: 'A label of your own choice.',
        examples: ['CRM'],
      },
      readLine,
    ),
  })
  .meta({ id: 'WebhookEndpointInput', description: 'An endpoint to be registered.' });

/** Reads the registration of an endpoint. Throws `invalid_url`. */
export const readRegistration = (body: JsonObject): Registration => {
  const { url, events, description } = parseFields(newEndpoint, body);
  return { url: unwrap(url), events: capture(() => unwrap(events) ?? []), description };
};

/** Reads a change of an endpoint; undefined keeps a value. Throws `invalid_events`, `invalid_parameter`. */
export const readEndpointChange = (body: JsonObject): EndpointChange => {
  const { events, description } = parseValues(endpointChange, body);
  return {
    ...(events !== null && { events }),
    ...(description !== undefined && { description: description || null }),
  };
};

const webhookEndpoint = z
  .object({
    id: idOf('endpoint').meta({ format: 'uuid' }),
    object: objectKind('webhook_endpoint'),
    url: shownText('In normalised form.', 'https://shop.example/webhooks/cards').meta({ format: 'uri' }),
    events: z.array(z.string()).meta({
      description: 'Subscribed event types; empty for all.',
      examples: [['card.created', 'card.mailed']],
    }),
    active: z.boolean().describe('False if the endpoint was disabled after too many failures in a row.'),
    signing_secret: nullText(
      'Shown only in the response that creates the endpoint; otherwise null. Deliveries are signed with it.',
    ),
    description: shownText(
      'What the owner calls the endpoint; null if it has no description.',
      'CRM',
    ).nullable(),
  })
  .meta({ id: 'WebhookEndpoint', description: 'A webhook endpoint.' });

export const listedEndpoint = webhookEndpoint
  .extend({
    failure_count: shownNumber('How many attempts have failed.', 0).min(0),
    consecutive_failures: shownNumber(
      'How many attempts have failed since the last success, or since the endpoint was enabled.',
      0,
    ).min(0),
    last_success_at: instant('When an attempt last got a 2xx.').nullable(),
    disabled_reason: nullText('Why the endpoint was disabled; null while it is active.'),
  })
  .meta({
    id: 'ListedWebhookEndpoint',
    description: 'A webhook endpoint, with how its deliveries fare.',
  });

const endpointBody = (endpoint: Endpoint, secret: string | null) => ({
  id: endpoint.id,
  object: 'webhook_endpoint',
  url: endpoint.url,
  events: endpoint.events,
  active: isActive(endpoint),
  signing_secret: secret,
  description: endpoint.description,
});

export const listedBody = ({ endpoint, ...health }: ListedEndpoint) => ({
  ...endpointBody(endpoint, null),
  failure_count: health.failureCount,
  consecutive_failures: health.consecutiveFailures,
  last_success_at: health.lastSuccessAt === null ? null : timestampAt(health.lastSuccessAt),
  disabled_reason: endpoint.disabledReason,
});

export const enabled = async (deps: WebhookDeps, org: OrganizationId, id: string, command: Command) => ({
  body: listedBody(await enableEndpoint(deps, org, id, command)),
});

/**
 * Any text is accepted as an id, even a blank: an unknown endpoint counts as deleted. (decision 57: deleting
 * and listing endpoints)
 */
const anyId = idOf('endpoint').meta({ 'x-blank': 'refused' });

const commandOf = (deps: WebhookDeps, request: HttpRequest<KeyCaller>) =>
  newCommand(deps, byKey(request), request.caller.org);

/** The webhook endpoints of the key's organization. (docs/contract.md#webhooks) */
export const webhookRoutes = (deps: WebhookDeps): readonly Route[] => [
  route('POST /api/v1/webhooks', {
    id: 'registerWebhookEndpoint',
    summary: 'Register a webhook endpoint',
    ...shared,
    body: { schema: newEndpoint, read: readRegistration },
    description:
      'The events of the organization to which the endpoint subscribes are posted to it, signed with its secret. The secret is shown only this once: store it immediately.',
    responses: {
      201: {
        description: 'The endpoint was registered. `signing_secret` is shown only this once.',
        schema: webhookEndpoint,
      },
      200: {
        description: 'The URL has an endpoint already. It is returned unchanged, without its secret.',
        schema: webhookEndpoint,
      },
    },
    errors: ['too_many_endpoints'],
    handle: async (request, { url, events, description }) => {
      const { org } = request.caller;
      const wanted = { url, events, description };
      const { endpoint, secret } = await registerEndpoint(deps, org, wanted, commandOf(deps, request));
      return { status: secret === null ? 200 : 201, body: endpointBody(endpoint, secret) };
    },
  }),
  route('GET /api/v1/webhooks', {
    id: 'listWebhookEndpoints',
    summary: 'List webhook endpoints, newest first',
    ...shared,
    responses: {
      200: {
        description: 'All endpoints: this list has no pages.',
        schema: listOf(listedEndpoint, 'WebhookEndpointList'),
      },
    },
    handle: async ({ caller }) => ({
      body: wholeList((await listEndpoints(deps, caller.org)).map(listedBody)),
    }),
  }),
  route('DELETE /api/v1/webhooks/:id', {
    id: 'deleteWebhookEndpoint',
    summary: 'Delete a webhook endpoint',
    ...shared,
    params: z.object({ id: anyId }),
    undecodable: 'as-is',
    description:
      'Once this returns, nothing more is sent to the endpoint, and what was queued for it is dropped. An unknown or deleted id gets a 200, too.',
    responses: {
      200: {
        description: 'The endpoint is deleted.',
        schema: z
          .object({ id: anyId, object: objectKind('webhook_endpoint'), deleted: alwaysTrue })
          .meta({ id: 'DeletedWebhookEndpoint', description: 'An endpoint that is deleted.' }),
      },
    },
    handle: async (request) => {
      const { id } = request.params;
      await deleteEndpoint(deps, request.caller.org, id, commandOf(deps, request));
      return { body: { id, object: 'webhook_endpoint', deleted: true } };
    },
  }),
  route('GET /api/v1/webhooks/:id', {
    id: 'getWebhookEndpoint',
    summary: 'Look up a webhook endpoint',
    ...shared,
    params: one,
    answers: { 200: listedEndpoint },
    handle: async ({ caller, params }) => ({
      body: listedBody(await readEndpoint(deps, caller.org, params.id)),
    }),
  }),
  route('PATCH /api/v1/webhooks/:id', {
    id: 'updateWebhookEndpoint',
    summary: 'Change what a webhook endpoint subscribes to, or its description',
    ...shared,
    params: one,
    body: { schema: endpointChange, read: readEndpointChange },
    description: 'Holds for events that occur from then on. A repeat changes nothing.',
    answers: { 200: listedEndpoint },
    handle: async (request, { events, description }) => {
      const { params, caller } = request;
      const wanted = { events, description };
      const command = commandOf(deps, request);
      return { body: listedBody(await changeEndpoint(deps, caller.org, params.id, wanted, command)) };
    },
  }),
  route('POST /api/v1/webhooks/:id/test', {
    id: 'testWebhookEndpoint',
    summary: 'Send a test event',
    ...shared,
    params: one,
    query: testQuery,
    description:
      'One attempt with made-up data, also to a disabled endpoint. It is neither counted nor listed as a delivery.',
    answers: { 200: testResult },
    handle: ({ caller, params, query }) => tested(deps, caller.org, params.id, query),
  }),
  route('POST /api/v1/webhooks/:id/enable', {
    id: 'enableWebhookEndpoint',
    summary: 'Enable a webhook endpoint',
    ...shared,
    params: one,
    answers: { 200: listedEndpoint },
    handle: (request) => enabled(deps, request.caller.org, request.params.id, commandOf(deps, request)),
  }),
  route('POST /api/v1/webhooks/:id/rotate', {
    id: 'rotateWebhookSecret',
    summary: 'Rotate a signing secret; the old one also signs for 24 hours',
    ...shared,
    params: one,
    answers: { 200: rotated },
    handle: (request) => withNewSecret(deps, request.caller.org, request.params.id, commandOf(deps, request)),
  }),
  route('POST /api/v1/webhooks/:id/replay', {
    id: 'replayEvents',
    summary: 'Replay the events that an endpoint has not accepted',
    ...shared,
    params: one,
    body: whole(replay),
    answers: { 202: counted },
    handle: ({ caller, params, signal }, { from }) => replayed(deps, caller.org, params.id, { from }, signal),
  }),
  route('GET /api/v1/deliveries', {
    id: 'listDeliveries',
    summary: 'List deliveries, newest first',
    ...shared,
    query: deliveryQuery,
    answers: { 200: deliveryList },
    handle: ({ caller, query }) => deliveryPage(deps, caller.org, query),
  }),
  route('GET /api/v1/deliveries/stream', {
    id: 'followDeliveries',
    summary: 'Follow deliveries and attempts as they happen, as server-sent events',
    ...shared,
    ...deliveryStream,
    handle: async (request) => {
      const { caller, signal } = request;
      request.takePlace(caller.org, maxStreams);
      return { events: deliveryEvents(deps, caller.org, signal) };
    },
  }),
  route('GET /api/v1/deliveries/:id', {
    id: 'getDelivery',
    summary: 'Look up a delivery and its attempts',
    ...shared,
    params: onlyDelivery,
    answers: { 200: delivery },
    handle: ({ caller, params }) => oneDelivery(deps, caller.org, params.id),
  }),
  route('POST /api/v1/deliveries/:id/retry', {
    id: 'retryDelivery',
    summary: 'Retry a delivery',
    ...shared,
    params: onlyDelivery,
    description: 'Makes it due now. One that was out of attempts or dropped gets one more.',
    answers: { 202: retried },
    errors: ['invalid_transition'],
    handle: ({ caller, params }) => dueNow(deps, caller.org, params.id),
  }),
];
