import { z } from 'zod';
import { newCommand } from '../../application/commands.js';
import {
  deleteEndpoint,
  listEndpoints,
  registerEndpoint,
  type WebhookDeps,
  type ListedEndpoint,
} from '../../application/webhooks.js';
import { capture, unwrap } from '../../domain/errors.js';
import { publicEventTypes } from '../../domain/public-events.js';
import { isActive, type Endpoint } from '../../domain/webhook-endpoints.js';
import { readWebhookUrl } from '../../domain/webhook-url.js';
import { optional, optionalText, says, text } from './fields.js';
import { readFields } from './read.js';
import { instant, listOf, timestampAt, wholeList } from './responses.js';
import { route, type HttpRequest, type KeyCaller, type Route } from './route.js';

const newEndpoint = z
  .object({
    url: text(
      {
        code: 'invalid_url',
        hint: 'an https URL of your own receiver',
        description:
          'Must be https and reachable on the public internet. Identifies the endpoint: a URL that has one answers that one, unchanged.',
        examples: ['https://example.com/webhooks/cards'],
      },
      readWebhookUrl,
    ),
    events: optional(
      z.array(z.enum(publicEventTypes)).meta(
        says({
          code: 'invalid_events',
          description:
            'The event types to receive. Omitted or empty: all of them, those that are added later too.',
          examples: [['card.created', 'card.mailed']],
        }),
      ),
    ),
    description: optionalText({ description: 'A label of your own.' }),
  })
  .meta({ id: 'NewWebhookEndpoint' });

const webhookEndpoint = z
  .object({
    id: z.string().meta({ format: 'uuid' }),
    object: z.literal('webhook_endpoint'),
    url: z.string().meta({ format: 'uri', description: 'In its normalised form.' }),
    events: z.array(z.string()).describe('Subscribed event types; empty for all.'),
    active: z.boolean().describe('False once it was switched off after too many failures in a row.'),
    signing_secret: z
      .string()
      .nullable()
      .describe(
        'Shown once, in the answer that creates the endpoint; otherwise null. Deliveries are signed with it.',
      ),
    description: z.string().nullable(),
  })
  .meta({ id: 'WebhookEndpoint' });

export const listedEndpoint = webhookEndpoint
  .extend({
    failure_count: z.int().min(0).describe('Attempts that have failed.'),
    consecutive_failures: z
      .int()
      .min(0)
      .describe('Attempts that have failed since the last success, or since it was switched on.'),
    last_success_at: instant('When an attempt was last answered with a 2xx.').nullable(),
    disabled_reason: z.string().nullable().describe('Why it was switched off.'),
  })
  .meta({ id: 'ListedWebhookEndpoint' });

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
  last_success_at: lastSuccessAt === null ? null : timestampAt(lastSuccessAt),
  disabled_reason: endpoint.disabledReason,
});

const access = { kind: 'key', scope: 'webhooks:manage' } as const;
const tags = ['webhooks'];
/** Whatever was sent for an id, a blank too: what is not there is gone. (decision 57) */
const anyId = z.string().meta({ 'x-blank': 'refused', description: 'The id of the endpoint.' });

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
    params: z.object({ id: anyId }),
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
          schema: z.object({
            id: anyId,
            object: z.literal('webhook_endpoint'),
            deleted: z.literal(true),
          }),
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
