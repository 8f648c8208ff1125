import { z } from 'zod';
import {
  followEvents,
  listEvents,
  type ReadEventsDeps,
  type ShownEvent,
} from '../../../application/log/read-events.js';
import { publicEventTypes } from '../../../domain/public-events.js';
import { optionalChoice, optionalText, pageLimit } from '../schema/fields.js';
import { preferredType } from '../server/media-types.js';
import { webhookEvent } from '../schema/outbound.js';
import { listOf, pageOf } from './responses.js';
import { route, type Route, type ServerSentEvent } from '../server/route.js';

const query = z.object({
  limit: pageLimit,
  starting_after: optionalText({
    description: 'The `next_cursor` of the page before: the id of its last event.',
  }),
  type: optionalChoice(publicEventTypes, { description: 'Only events of this type.' }),
  card: optionalText({ description: 'Only events of this card.' }),
});

const sent = async function* (events: AsyncIterable<ShownEvent>): AsyncGenerator<ServerSentEvent> {
  for await (const { id, type, body } of events) yield { id, event: type, data: JSON.parse(body) };
};

/** Public events of an organization's cards, for polling instead of webhooks. */
export const eventRoutes = (deps: ReadEventsDeps): readonly Route[] => [
  route('GET /api/v1/events', {
    id: 'listEvents',
    summary: 'List the events of your cards, newest first, or follow them as they happen',
    access: { kind: 'key', scope: 'cards:read' },
    query,
    description:
      'The same events that webhooks tell, with the same ids and bodies, for as long as the service keeps its log. With `Accept: text/event-stream` they come oldest first, and go on as they happen; an event may come again after a break.',
    tags: ['webhooks'],
    headers: {
      'Last-Event-ID': {
        description:
          'With `Accept: text/event-stream`: events after this one. Omit it to begin with the first.',
        schema: { type: 'string', examples: ['evt_2c5d4f6a8b1e4d0f9a7c3b5e6d8f0a12'] },
      },
    },
    responses: {
      200: {
        description: 'A page of events.',
        schema: listOf(webhookEvent, 'WebhookEventList'),
        alsoAs: ['text/event-stream'],
      },
    },
    errors: ['invalid_cursor', 'invalid_parameter'],
    handle: async (request) => {
      const { caller, signal } = request;
      const { limit, starting_after: startingAfter, type, card } = request.query;
      if (
        preferredType(request.header('accept'), ['application/json', 'text/event-stream']) ===
        'application/json'
      ) {
        const events = await listEvents(deps, caller.org, { limit, type, card, startingAfter });
        return pageOf(
          events,
          limit,
          ({ id }) => id,
          ({ body }) => JSON.parse(body) as object,
        );
      }
      const last = request.header('last-event-id')[0] ?? startingAfter;
      const after = last === null || last.trim() === '' ? null : last.trim();
      const events = await followEvents(deps, caller.org, { type, card }, after, signal);
      return { status: 200, events: sent(events) };
    },
  }),
];
