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
import { publicEventTypes } from '../../../domain/public-events.js';
import { isActive, type Endpoint, type EndpointChange } from '../../../domain/webhook-endpoints.js';
import { countCharacters, readLine } from '../../../domain/text.js';
import { readWebhookUrl } from '../../../domain/webhook-url.js';
import * as deliveries from './deliveries.js';
import { byKey } from './cards.js';
import {
  idParam,
  maxDescriptionLength,
  optional,
  optionalText,
  annotations,
  text,
} from '../schema/fields.js';
import { parseValues, parseFields, type JsonObject } from '../schema/read.js';
import * as shown from '../schema/shown.js';
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
    .meta(annotations(shown.words(description, ['card.created', 'card.mailed'], { code: 'invalid_events' })));

const endpointChange = shown.component(
  'WebhookEndpointChangeInput',
  'What changes of an endpoint; what is left out stays.',
  {
    events: optional(
      eventTypes(
        'The event types to receive from now on; an empty list for all of them. Omit it to keep them.',
      ),
    ),
    description: z
      .string()
      .refine((sent) => countCharacters(sent) <= maxDescriptionLength)
      .meta(
        shown.words('A label of your own choice; empty for none. Omit it to keep it.', 'CRM', {
          maxLength: maxDescriptionLength,
        }),
      )
      .transform((sent) => readLine(sent) ?? '')
      .optional(),
  },
);

const ofEndpoint = { ...shared, params: z.object({ id: idParam('endpoint') }) };
const ofDelivery = { ...shared, params: z.object({ id: idParam('delivery') }) };

const newEndpoint = shown.component('WebhookEndpointInput', 'An endpoint to be registered.', {
  url: text(
    'Must be https and reachable on the public internet. A URL has at most one endpoint: if it has one already, that one is returned, unchanged.',
    'https://shop.example/webhooks/cards',
    { code: 'invalid_url', format: 'uri', hint: 'an https URL of your own receiver', rule: readWebhookUrl },
  ),
  events: optional(
    eventTypes(
      'The event types to receive. Omitted or empty means all of them, including those that are added later.',
    ),
  ),
  description: optionalText('A label of your own choice.', 'CRM', {
    maxLength: maxDescriptionLength,
    rule: readLine,
  }),
});

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

const webhookEndpoint = shown.component('WebhookEndpoint', 'A webhook endpoint.', {
  id: shown.idOf('endpoint').meta({ format: 'uuid' }),
  object: shown.objectKind('webhook_endpoint'),
  url: shown.url('In normalised form.', 'https://shop.example/webhooks/cards'),
  events: shown.texts('Subscribed event types; empty for all.', 'card.created', 'card.mailed'),
  active: shown.boolean('False if the endpoint was disabled after too many failures in a row.'),
  signing_secret: shown.nullText(
    'Shown only in the response that creates the endpoint; otherwise null. Deliveries are signed with it.',
  ),
  description: shown.textOrNull('What the owner calls the endpoint; null if it has no description.', 'CRM'),
});

export const listedEndpoint = shown.component(
  'ListedWebhookEndpoint',
  'A webhook endpoint, with how its deliveries fare.',
  {
    ...webhookEndpoint.shape,
    failure_count: shown.number('How many attempts have failed.', 0).min(0),
    consecutive_failures: shown
      .number('How many attempts have failed since the last success, or since the endpoint was enabled.', 0)
      .min(0),
    last_success_at: instant('When an attempt last got a 2xx.').nullable(),
    disabled_reason: shown.nullText('Why the endpoint was disabled; null while it is active.'),
  },
);

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

/** Shared with operators, as those of deliveries. */
export const enabling = <Sent>(deps: WebhookDeps, asked: deliveries.Asked<Sent>) => ({
  summary: 'Enable a webhook endpoint',
  answers: { 200: listedEndpoint },
  handle: async (request: Sent & deliveries.AboutOne) => {
    const { org, by } = asked(request);
    const endpoint = await enableEndpoint(deps, org, request.params.id, newCommand(deps, by, org));
    return { body: listedBody(endpoint) };
  },
});

/**
 * Any text is accepted as an id, even a blank: an unknown endpoint counts as deleted. (decision 57: deleting
 * and listing endpoints)
 */
const anyId = shown.idOf('endpoint').meta({ 'x-blank': 'refused' });

const byOwner = (request: HttpRequest<KeyCaller>) => ({ org: request.caller.org, by: byKey(request) });
const commandOf = (deps: WebhookDeps, request: HttpRequest<KeyCaller>) =>
  newCommand(deps, byKey(request), request.caller.org);

/** The webhook endpoints of the key's organization. (docs/contract.md#webhooks) */
export const webhookRoutes = (deps: WebhookDeps): readonly Route[] => {
  const alike = deliveries.sharedOperations(deps, byOwner);
  return [
    route('POST /api/v1/webhooks', {
      id: 'registerWebhookEndpoint',
      summary: 'Register a webhook endpoint',
      ...shared,
      body: { schema: newEndpoint, read: readRegistration },
      description:
        'The events of the organization to which the endpoint subscribes are posted to it, signed with its secret. The secret is shown only this once: store it immediately.',
      answers: {
        201: ['The endpoint was registered. `signing_secret` is shown only this once.', webhookEndpoint],
        200: [
          'The URL has an endpoint already. It is returned unchanged, without its secret.',
          webhookEndpoint,
        ],
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
      answers: {
        200: ['All endpoints: this list has no pages.', listOf(listedEndpoint, 'WebhookEndpointList')],
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
      answers: {
        200: [
          'The endpoint is deleted.',
          shown.component('DeletedWebhookEndpoint', 'An endpoint that is deleted.', {
            id: anyId,
            object: shown.objectKind('webhook_endpoint'),
            deleted: shown.alwaysTrue,
          }),
        ],
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
      ...ofEndpoint,
      answers: { 200: listedEndpoint },
      handle: async ({ caller, params }) => ({
        body: listedBody(await readEndpoint(deps, caller.org, params.id)),
      }),
    }),
    route('PATCH /api/v1/webhooks/:id', {
      id: 'updateWebhookEndpoint',
      summary: 'Change what a webhook endpoint subscribes to, or its description',
      ...ofEndpoint,
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
      ...ofEndpoint,
      description:
        'One attempt with made-up data, also to a disabled endpoint. It is neither counted nor listed as a delivery.',
      ...alike.test,
    }),
    route('POST /api/v1/webhooks/:id/enable', {
      id: 'enableWebhookEndpoint',
      ...ofEndpoint,
      ...enabling(deps, byOwner),
    }),
    route('POST /api/v1/webhooks/:id/rotate', { id: 'rotateWebhookSecret', ...ofEndpoint, ...alike.rotate }),
    route('POST /api/v1/webhooks/:id/replay', { id: 'replayEvents', ...ofEndpoint, ...alike.replay }),
    route('GET /api/v1/deliveries', {
      id: 'listDeliveries',
      ...shared,
      ...deliveries.list,
      handle: ({ caller, query }) => deliveries.page(deps, caller.org, query),
    }),
    route('GET /api/v1/deliveries/stream', {
      id: 'followDeliveries',
      ...shared,
      ...deliveries.stream,
      handle: async (request) => {
        const { caller, signal } = request;
        request.takePlace(caller.org, maxStreams);
        return { events: deliveries.changes(deps, caller.org, signal) };
      },
    }),
    route('GET /api/v1/deliveries/:id', { id: 'getDelivery', ...ofDelivery, ...alike.lookUp }),
    route('POST /api/v1/deliveries/:id/retry', {
      id: 'retryDelivery',
      ...ofDelivery,
      description: 'Makes it due now. One that was out of attempts or dropped gets one more.',
      ...alike.retry,
    }),
  ];
};
