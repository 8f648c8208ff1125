import { z } from 'zod';
import {
  readRequest,
  type ReadRequestDeps,
  type ShownRequest,
  type Requests,
} from '../../../application/requests/request-log.js';
import { text } from '../schema/fields.js';
import {
  eventType,
  examples,
  objectKind,
  shownActor,
  shownNumber,
  shownPosition,
  shownRevision,
  shownText,
  nullText,
} from '../schema/shown.js';
import type { RequestRecord } from '../../../application/ports/requests.js';
import { operatorAccess, pageQuery, operatorRoute } from './route.js';
import { subjectFrom } from '../server/request-log.js';
import { byId, instant, listOf, pageOf, timestamp } from '../api/responses.js';
import type { Route } from '../server/route.js';

export interface OperatorRequestDeps extends ReadRequestDeps {
  readonly requests: Pick<Requests, 'find' | 'about'>;
}

const subjects = z.array(z.string()).meta({
  description: 'Codes of cards and ids that its path and query named. Empty if an API key sent it.',
  examples: [[examples.card]],
});

const shownRequest = z
  .object({
    object: objectKind('request'),
    id: shownText('The `x-request-id` of the request.', examples.request),
    at: instant('When the request came.'),
    method: shownText('The method.', 'POST'),
    route: shownText('The path as it is documented.', '/api/v1/cards'),
    status: shownNumber('0 if the connection was dropped because the outcome was unknown.', 201),
    code: nullText('The code of the error; null if there was none.'),
    ms: z.number().meta({ description: 'How long it took, in milliseconds.', examples: [12.5] }),
    actor: shownActor.nullable().describe('Null if the request was not let in.'),
    organization: shownText(
      'The organization whose key it was; null if there was none.',
      examples.organization,
    ).nullable(),
    address: shownText('The network address that it came from.', '192.0.2.7'),
    idempotency_key: shownText(
      'The keyed hash of the Idempotency-Key, as the event of a card has it in `order.request`; null if no key was sent.',
      'qN5zZ0rXb8n1ZbJ9eQ2gF3tM5xkq7Vt0c4mW8yHs1aE',
    ).nullable(),
    subjects,
    wrote: z
      .array(shownPosition)
      .meta({ description: 'Where the events stand that it wrote.', examples: [['1042']] }),
    events: z
      .array(
        z.object({
          position: shownPosition,
          stream: shownText('The stream of the event.', `card-${examples.card}`),
          revision: shownRevision,
          type: eventType,
          at: instant('When the event occurred.'),
        }),
      )
      .describe('The events.'),
  })
  .meta({ id: 'Request', description: 'A request that was answered, and what it wrote.' });

const requestRow = shownRequest
  .omit({ wrote: true, events: true })
  .meta({ id: 'RequestRow', description: 'A request, without the events that it wrote.' });

const rowOf = (request: RequestRecord) => {
  const { org, idempotencyKey, wrote: _, at, ...rest } = request;
  return {
    object: 'request',
    ...rest,
    at: timestamp(at),
    organization: org,
    idempotency_key: idempotencyKey,
  };
};

const bodyOf = ({ request, events }: ShownRequest) => {
  const shown = events.map(({ position: place, stream, revision, type, metadata }) => ({
    position: place === null ? null : String(place),
    stream,
    revision: String(revision),
    type,
    at: timestamp(metadata.occurredAt),
  }));
  return {
    ...rowOf(request),
    wrote: shown.map((event) => event.position),
    events: shown,
  };
};

export const operatorRequestRoutes = (deps: OperatorRequestDeps): readonly Route[] => [
  operatorRoute('GET /requests', {
    id: 'listRequests',
    summary:
      'List the requests by which operators and people in the console asked for a card, a contact, an account or an organization, newest first',
    access: operatorAccess,
    query: pageQuery.extend({
      subject: text({
        code: 'invalid_parameter',
        description: 'The code of a card, or an id.',
        examples: [examples.card],
      }),
    }),
    answers: { 200: listOf(requestRow, 'RequestList') },
    handle: async ({ query: { subject, starting_after: startingAfter, limit } }) => {
      const about = subjectFrom(subject);
      const rows = about === null ? [] : await deps.requests.about(about, null, startingAfter, limit);
      return pageOf(rows, limit, byId, rowOf);
    },
  }),
  operatorRoute('GET /requests/:request_id', {
    id: 'getRequest',
    summary: 'Look up a request, and the events that it wrote',
    access: operatorAccess,
    params: z.object({
      request_id: text({
        code: 'not_found',
        description: 'As in `x-request-id`.',
        examples: [examples.request],
      }),
    }),
    answers: { 200: shownRequest },
    handle: async ({ params }) => ({ body: bodyOf(await readRequest(deps, params.request_id)) }),
  }),
];
