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
import { longestDescription, optional, optionalText, says, text } from './fields.js';
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
          'Must be https and reachable on the public internet. A URL has at most one endpoint: if it has one already, that one is returned, unchanged.',
        examples: ['https://example.com/webhooks/cards'],
      },
      readWebhookUrl,
    ),
    events: optional(
      z.array(z.enum(publicEventTypes)).meta(
        says({
          code: 'invalid_events',
          description:
            'The event types to receive. Omitted or empty means all of them, including those that are added later.',
          examples: [['card.created', 'card.mailed']],
        }),
      ),
    ),
    description: optionalText({ maxLength: longestDescription, description: 'A label of your own choice.' }),
  })
  .meta({ id: 'NewWebhookEndpoint' });

const webhookEndpoint = z
  .object({
    id: z.string().meta({ format: 'uuid' }),
    object: z.literal('webhook_endpoint'),
    url: z.string().meta({ format: 'uri', description: 'In normalised form.' }),
    events: z.array(z.string()).describe('Subscribed event types; empty for all.'),
    active: z.boolean().describe('False if the endpoint was disabled after too many failures in a row.'),
    signing_secret: z
      .string()
      .nullable()
      .describe(
        'Shown only in the response that creates the endpoint; otherwise null. Deliveries are signed with it.',
      ),
    description: z.string().nullable(),
  })
  .meta({ id: 'WebhookEndpoint' });

export const listedEndpoint = webhookEndpoint
  .extend({
    failure_count: z.int().min(0).describe('How many attempts have failed.'),
    consecutive_failures: z
      .int()
      .min(0)
      .describe('How many attempts have failed since the last success, or since the endpoint was enabled.'),
    last_success_at: instant('When an attempt last got a 2xx.').nullable(),
    disabled_reason: z
      .string()
      .nullable()
      .describe('Why the endpoint was disabled; null while it is active.'),
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
/**
 * Any text is accepted as an id, even a blank: an unknown endpoint counts as deleted. (decision 57: deleting
 * and listing endpoints)
 */
const anyId = z.string().meta({ 'x-blank': 'refused', description: 'The id of the endpoint.' });

const commandOf = (deps: WebhookDeps, { id, caller }: HttpRequest<KeyCaller>) =>
  newCommand(deps, { actor: { kind: 'key', id: caller.keyId }, requestId: id }, caller.org);

/** The webhook endpoints of the key's organization. (docs/contract.md#webhooks) */
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
        'The events of the organization to which the endpoint subscribes are posted to it, signed with its secret. The secret is shown only this once: store it immediately.',
      tags,
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
      errors: ['invalid_url', 'invalid_events', 'invalid_parameter', 'too_many_endpoints'],
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
        200: { description: 'All endpoints: this list has no pages.', schema: listOf(listedEndpoint) },
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
        'Once this returns, nothing more is sent to the endpoint, and what was queued for it is dropped. An unknown or deleted id gets a 200, too.',
      tags,
      responses: {
        200: {
          description: 'The endpoint is deleted.',
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
