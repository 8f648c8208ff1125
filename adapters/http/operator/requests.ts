import { z } from 'zod';
import {
  readRequest,
  type ReadRequestDeps,
  type ShownRequest,
} from '../../../application/requests/read-request.js';
import { text } from '../schema/fields.js';
import type { RequestRecord, Requests } from '../../../application/ports/requests.js';
import { operatorAccess, pageQuery, operatorRoute } from './route.js';
import { subjectFrom } from '../server/request-log.js';
import { instant, listOf, pageOf, timestamp } from '../api/responses.js';
import { type Route } from '../server/route.js';

const position = z
  .string()
  .nullable()
  .describe('Position in the log. Null if the event store does not give it for a single stream.');

export interface OperatorRequestDeps extends ReadRequestDeps {
  readonly requests: Pick<Requests, 'find' | 'about'>;
}

const subjects = z
  .array(z.string())
  .describe('Codes of cards and ids that its path and query named. Empty if an API key sent it.');

const shownRequest = z
  .object({
    object: z.literal('request'),
    id: z.string(),
    at: instant('When the request came.'),
    method: z.string(),
    route: z.string().describe('The path as it is documented.'),
    status: z.int().describe('0 if the connection was dropped because the outcome was unknown.'),
    code: z.string().nullable().describe('The code of the error; null if there was none.'),
    ms: z.number(),
    actor: z
      .object({ kind: z.string(), id: z.string().nullable() })
      .nullable()
      .describe('Null if the request was not let in.'),
    organization: z.string().nullable(),
    address: z.string().describe('The network address that it came from.'),
    idempotency_key: z.string().nullable(),
    subjects,
    wrote: z.array(position).describe('Where the events stand that it wrote.'),
    events: z.array(
      z.object({
        position,
        stream: z.string(),
        revision: z.string(),
        type: z.string(),
        at: instant('When the event occurred.'),
      }),
    ),
  })
  .meta({ id: 'Request' });

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
      subject: text({ code: 'invalid_parameter', description: 'The code of a card, or an id.' }),
    }),
    answers: { 200: listOf(requestRow, 'RequestList') },
    errors: ['invalid_cursor'],
    handle: async ({ query: { subject, starting_after: startingAfter, limit } }) => {
      const about = subjectFrom(subject);
      const rows = about === null ? [] : await deps.requests.about(about, startingAfter, limit);
      return pageOf(rows, limit, ({ id }) => id, rowOf);
    },
  }),
  operatorRoute('GET /requests/:request_id', {
    id: 'getRequest',
    summary: 'Look up a request, and the events that it wrote',
    access: operatorAccess,
    params: z.object({ request_id: text({ code: 'not_found', description: 'As in `x-request-id`.' }) }),
    answers: {
      200: shownRequest,
    },
    handle: async ({ params }) => ({ status: 200, body: bodyOf(await readRequest(deps, params.request_id)) }),
  }),
];
