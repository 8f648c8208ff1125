import { z } from 'zod';
import {
  readRequest,
  type ReadRequestDeps,
  type ShownRequest,
  type Requests,
} from '../../../application/requests/request-log.js';
import { text } from '../schema/fields.js';
import * as shown from '../schema/shown.js';
import type { RequestRecord } from '../../../application/ports/requests.js';
import { operatorAccess, pageQuery, operatorRoute } from './route.js';
import { subjectFrom } from '../server/request-log.js';
import { byId, instant, listOf, pageOf, timestamp } from '../api/responses.js';
import type { Route } from '../server/route.js';

export interface OperatorRequestDeps extends ReadRequestDeps {
  readonly requests: Pick<Requests, 'find' | 'about'>;
}

const subjects = shown.texts(
  'Codes of cards and ids that its path and query named. Empty if an API key sent it.',
  shown.examples.card,
);

const shownRequest = shown.component('Request', 'A request that was answered, and what it wrote.', {
  object: shown.objectKind('request'),
  id: shown.text('The `x-request-id` of the request.', shown.examples.request),
  at: instant('When the request came.'),
  method: shown.text('The method.', 'POST'),
  route: shown.text('The path as it is documented.', '/api/v1/cards'),
  status: shown.number('0 if the connection was dropped because the outcome was unknown.', 201),
  code: shown.nullText('The code of the error; null if there was none.'),
  ms: z.number().meta(shown.words('How long it took, in milliseconds.', 12.5)),
  actor: shown.actor.nullable().describe('Null if the request was not let in.'),
  organization: shown.textOrNull(
    'The organization whose key it was; null if there was none.',
    shown.examples.organization,
  ),
  address: shown.text('The network address that it came from.', '192.0.2.7'),
  idempotency_key: shown.textOrNull(
    'The keyed hash of the Idempotency-Key, as the event of a card has it in `order.request`; null if no key was sent.',
    'qN5zZ0rXb8n1ZbJ9eQ2gF3tM5xkq7Vt0c4mW8yHs1aE',
  ),
  subjects,
  wrote: z.array(shown.position).meta(shown.words('Where the events stand that it wrote.', ['1042'])),
  events: shown.list('The events.', {
    position: shown.position,
    stream: shown.text('The stream of the event.', `card-${shown.examples.card}`),
    revision: shown.revision,
    type: shown.eventType,
    at: instant('When the event occurred.'),
  }),
});

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
    position: place?.toString() ?? null,
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
      subject: text('The code of a card, or an id.', shown.examples.card, { code: 'invalid_parameter' }),
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
      request_id: text('As in `x-request-id`.', shown.examples.request, { code: 'not_found' }),
    }),
    answers: { 200: shownRequest },
    handle: async ({ params }) => ({ body: bodyOf(await readRequest(deps, params.request_id)) }),
  }),
];
