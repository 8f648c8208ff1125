import { z } from 'zod';
import {
  followEvents,
  listEvents,
  readEvent,
  type ReadEventsDeps,
  type ShownEvent,
} from '../../../application/log/read-events.js';
import { DomainError } from '../../../domain/errors.js';
import { publicEventTypes } from '../../../domain/public-events.js';
import { truncate } from '../../../domain/text.js';
import {
  eventFormat,
  idParam,
  optionalChoice,
  optionalText,
  pageCursor,
  pageLimit,
} from '../schema/fields.js';
import * as shown from '../schema/shown.js';
import { preferredType } from '../server/media-types.js';
import { webhookEvent } from '../schema/outbound.js';
import { firstRows, listOf, pageOf } from './responses.js';
import { route, type Route, type ServerSentEvent } from '../server/route.js';

const query = z.object({
  limit: pageLimit,
  starting_after: pageCursor(shown.examples.event, 'the id of its last event'),
  type: optionalChoice(publicEventTypes, 'Only events of this type.'),
  card: optionalText('Only events of this card.', shown.examples.card),
  format: eventFormat,
});

const cloudEventField = (description: string, example: string) =>
  z
    .string()
    .optional()
    .meta(shown.words(`${description} Only in CloudEvents.`, example));

const listedEvent = shown.component('ListedEvent', 'The event as webhooks tell it.', {
  ...webhookEvent.shape,
  specversion: cloudEventField('The version of CloudEvents.', '1.0'),
  source: cloudEventField('The address of the service.', 'https://cards.example'),
  subject: cloudEventField('The card code.', shown.examples.card),
  time: cloudEventField('The same as `created`.', '2026-03-02T15:04:05.678Z'),
  datacontenttype: cloudEventField('The type of `data`.', 'application/json'),
});

const batchType = 'application/cloudevents-batch+json';
const cloudEventTypes = [batchType, 'application/cloudevents+json'] as const;
const types = ['application/json', 'text/event-stream', ...cloudEventTypes] as const;

type Shape = (event: ShownEvent) => object;

const asWebhook: Shape = ({ body }) => JSON.parse(body) as object;

/** The fields of a webhook are in it, too: a client that expects those can read it. */
const cloudEventFrom =
  (source: string): Shape =>
  ({ body }) => {
    const event = JSON.parse(body) as z.output<typeof webhookEvent>;
    const { created: time, data } = event;
    return {
      specversion: '1.0',
      source,
      subject: data.card,
      time,
      datacontenttype: 'application/json',
      ...event,
    };
  };

const sent = async function* (
  events: AsyncIterable<ShownEvent>,
  shape: Shape,
): AsyncGenerator<ServerSentEvent> {
  for await (const event of events) yield { id: event.id, event: event.type, data: shape(event) };
};

export interface EventRoutesDeps extends ReadEventsDeps {
  readonly baseUrl: () => string;
}

/** How many streams of an organization, or of an operator, may be open at a time: each commit wakes all. */
export const maxStreams = 100;

const unknownLastSeen = (id: string): DomainError =>
  new DomainError(
    'invalid_cursor',
    `\`Last-Event-ID\` matches no event of this organization: \`${truncate(id, 100)}\`. Leave it out to begin with the first.`,
  );

/** Public events of an organization's cards, for polling instead of webhooks. */
export const eventRoutes = (deps: EventRoutesDeps): readonly Route[] => [
  route('GET /api/v1/events', {
    id: 'listEvents',
    summary: 'List the events of your cards, newest first, or follow them as they happen',
    access: { kind: 'key', scope: 'cards:read' },
    query,
    description:
      'The same events that webhooks tell, with the same ids and bodies, for as long as the service keeps its log. With `Accept: text/event-stream` they come oldest first, and go on as they happen; an event may come again after a break. With `Accept: application/cloudevents-batch+json` a page is a batch of CloudEvents.',
    tags: ['webhooks'],
    headers: {
      'Last-Event-ID': {
        description:
          'With `Accept: text/event-stream`: events after this one, whatever `starting_after` says. Omit both to begin with the first.',
        schema: { type: 'string', examples: [shown.examples.event] },
      },
    },
    responses: {
      200: {
        description: 'A page of events. As a batch of CloudEvents it is a JSON array.',
        schema: listOf(listedEvent, 'ListedEventList'),
        headers: {
          Link: {
            description: 'The next page of a batch, if there is one.',
            schema: {
              type: 'string',
              examples: [
                `<https://cards.example/api/v1/events?starting_after=${shown.examples.event}>; rel="next"`,
              ],
            },
          },
        },
        eventData: listedEvent,
        alsoAs: ['text/event-stream', { type: batchType, schema: z.array(listedEvent) }],
      },
    },
    handle: async (request) => {
      const { caller, signal } = request;
      const { limit, starting_after: startingAfter, type, card, format } = request.query;
      const wanted = preferredType(request.header('accept'), types);
      const asBatch = wanted !== 'application/json' && wanted !== 'text/event-stream';
      const shape = asBatch || format === 'cloudevents' ? cloudEventFrom(deps.baseUrl()) : asWebhook;
      if (wanted === 'text/event-stream') {
        request.takePlace(caller.org, maxStreams);
        const [lastSeen] = request.header('last-event-id');
        const after = (lastSeen ?? startingAfter) || null;
        const unknown = lastSeen === undefined ? undefined : () => unknownLastSeen(lastSeen);
        const events = await followEvents(deps, caller.org, { type, card }, after, signal, unknown);
        return { events: sent(events, shape) };
      }
      const events = await listEvents(deps, caller.org, { limit, type, card, startingAfter });
      const cursorOf = ({ id }: ShownEvent) => id;
      if (!asBatch) return pageOf(events, limit, cursorOf, shape);
      const { json, next } = firstRows(events, limit, cursorOf, shape);
      const sentQuery = { limit: String(limit), ...(type && { type }), ...(card && { card }) };
      const following = new URLSearchParams({ ...sentQuery, starting_after: next ?? '' });
      const link = `<${deps.baseUrl()}/api/v1/events?${following.toString()}>; rel="next"`;
      return { type: batchType, text: json, ...(next && { headers: { link } }) };
    },
  }),
  route('GET /api/v1/events/:id', {
    id: 'getEvent',
    summary: 'Look up an event',
    access: { kind: 'key', scope: 'cards:read' },
    params: z.object({ id: idParam('event') }),
    description: 'As webhooks tell it, byte by byte.',
    tags: ['webhooks'],
    answers: { 200: webhookEvent },
    handle: async ({ caller, params }) => ({ body: asWebhook(await readEvent(deps, caller.org, params.id)) }),
  }),
];
