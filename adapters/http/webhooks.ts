import { newCommand } from '../../application/commands.js';
import {
  deleteEndpoint,
  listEndpoints,
  registerEndpoint,
  type WebhookDeps,
  type ListedEndpoint,
} from '../../application/webhooks.js';
import { capture, unwrap } from '../../domain/errors.js';
import type { Instant, Milliseconds } from '../../domain/ids.js';
import { publicEventTypes } from '../../domain/public-events.js';
import { isActive, type Endpoint } from '../../domain/webhook-endpoints.js';
import { wholeList } from './account.js';
import { instant } from './cards.js';
import { timestamp } from './lists.js';
import { readFields } from './read.js';
import { route, type HttpRequest, type KeyCaller, type Route } from './route.js';
import {
  always,
  component,
  flag,
  list,
  listOf,
  nullable,
  object,
  oneOf,
  optional,
  text,
  whole,
} from './schema.js';

const newEndpoint = component(
  'NewWebhookEndpoint',
  object({
    url: text({
      code: 'invalid_url',
      hint: 'an https URL of your own receiver',
      description:
        'Must be https and reachable on the public internet. Identifies the endpoint: a URL that has one answers that one, unchanged.',
      examples: ['https://example.com/webhooks/cards'],
    }),
    events: optional(
      list(oneOf(publicEventTypes), {
        code: 'invalid_events',
        description:
          'The event types to receive. Omitted or empty: all of them, those that are added later too.',
        examples: [['card.created', 'card.mailed']],
      }),
    ),
    description: optional(text({ description: 'A label of your own.' })),
  }),
);

const endpointFields = {
  id: text({ format: 'uuid' }),
  object: always('webhook_endpoint'),
  url: text({ format: 'uri', description: 'In its normalised form.' }),
  events: list(text(), { description: 'Subscribed event types; empty for all.' }),
  active: flag({ description: 'False once it was switched off after too many failures in a row.' }),
  signing_secret: nullable(
    text({
      description:
        'Shown once, in the answer that creates the endpoint; otherwise null. Deliveries are signed with it.',
    }),
  ),
  description: nullable(text()),
};
const webhookEndpoint = component('WebhookEndpoint', object(endpointFields));

export const listedEndpoint = component(
  'ListedWebhookEndpoint',
  object({
    ...endpointFields,
    failure_count: whole({ minimum: 0, description: 'Attempts that have failed.' }),
    consecutive_failures: whole({
      minimum: 0,
      description: 'Attempts that have failed since the last success, or since it was switched on.',
    }),
    last_success_at: nullable(instant('When an attempt was last answered with a 2xx.')),
    disabled_reason: nullable(text({ description: 'Why it was switched off.' })),
  }),
);

/** A time of the delivery store as the API writes it. */
export const at = (time: Milliseconds): string => timestamp(new Date(time).toISOString() as Instant);

const endpointBody = (endpoint: Endpoint, secret: string | null) => ({
  id: endpoint.id,
  object: 'webhook_endpoint',
  url: endpoint.url,
  events: endpoint.events,
  active: isActive(endpoint),
  signing_secret: secret,
  description: endpoint.description,
});

export const listedBody = ({
  endpoint,
  failureCount,
  consecutiveFailures,
  lastSuccessAt,
}: ListedEndpoint) => ({
  ...endpointBody(endpoint, null),
  failure_count: failureCount,
  consecutive_failures: consecutiveFailures,
  last_success_at: lastSuccessAt === null ? null : at(lastSuccessAt),
  disabled_reason: endpoint.disabledReason,
});

const access = { kind: 'key', scope: 'webhooks:manage' } as const;
const tags = ['webhooks'];
/** Whatever was sent for an id, a blank too: what is not there is gone. (decision 57) */
const anyId = text({ minLength: 0, blank: 'refused', description: 'The id of the endpoint.' });

const commandOf = (deps: WebhookDeps, { id, caller }: HttpRequest<KeyCaller>) =>
  newCommand(deps, { actor: { kind: 'key', id: caller.keyId }, requestId: id }, caller.org);

/** The endpoints of the key's organization. (spec: POST, GET and DELETE /api/v1/webhooks) */
export const webhookRoutes = (deps: WebhookDeps): readonly Route[] => [
  route({
    method: 'POST',
    path: '/api/v1/webhooks',
    access,
    body: newEndpoint,
    failure: 'internal_error',
    operation: {
      operationId: 'registerWebhookEndpoint',
      summary: 'Register a webhook endpoint',
      description:
        'Every event of the organization that the endpoint subscribes to is posted to it, signed with its secret. The secret is shown this once: store it immediately.',
      tags,
      responses: {
        201: { description: 'Registered. `signing_secret` is shown this once.', schema: webhookEndpoint },
        200: {
          description: 'The URL had an endpoint already: here it is, unchanged, without its secret.',
          schema: webhookEndpoint,
        },
      },
      errors: ['invalid_url', 'invalid_events', 'invalid_parameter'],
    },
    handle: async (request) => {
      const { url, events, description } = readFields(newEndpoint, request.body);
      const wanted = { url: unwrap(url), events: capture(() => unwrap(events) ?? []), description };
      const { endpoint, secret } = await registerEndpoint(
        deps,
        request.caller.org,
        wanted,
        commandOf(deps, request),
      );
      return { status: secret === null ? 200 : 201, body: endpointBody(endpoint, secret) };
    },
  }),
  route({
    method: 'GET',
    path: '/api/v1/webhooks',
    access,
    failure: 'read_failed',
    operation: {
      operationId: 'listWebhookEndpoints',
      summary: 'List webhook endpoints, newest first',
      tags,
      responses: {
        200: { description: 'All endpoints: this list is not paged.', schema: listOf(listedEndpoint) },
      },
      errors: [],
    },
    handle: async ({ caller }) => ({
      status: 200,
      body: wholeList((await listEndpoints(deps, caller.org)).map(listedBody)),
    }),
  }),
  route({
    method: 'DELETE',
    path: '/api/v1/webhooks/:id',
    access,
    params: object({ id: anyId }),
    failure: 'internal_error',
    undecodable: 'as-is',
    operation: {
      operationId: 'deleteWebhookEndpoint',
      summary: 'Delete a webhook endpoint',
      description:
        'Nothing is sent to the endpoint any more once this is answered; what is queued for it is dropped. An id that is unknown or gone is fine.',
      tags,
      responses: {
        200: {
          description: 'The endpoint is gone.',
          schema: object({ id: anyId, object: always('webhook_endpoint'), deleted: always(true) }),
        },
      },
      errors: [],
    },
    handle: async (request) => {
      const { id } = request.params;
      await deleteEndpoint(deps, request.caller.org, id, commandOf(deps, request));
      return { status: 200, body: { id, object: 'webhook_endpoint', deleted: true } };
    },
  }),
];
