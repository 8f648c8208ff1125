import { z } from 'zod';
import { readRequest, type ReadRequestDeps, type ShownRequest } from '../../application/read-request.js';
import { text } from './fields.js';
import { operatorAccess, operatorOperation } from './operator.js';
import { instant, timestamp } from './responses.js';
import { route, type Route } from './route.js';

const position = z
  .string()
  .nullable()
  .describe('Position in the log. Null if the event store does not give it for a single stream.');

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
      .describe('Null if nobody was let in.'),
    organization: z.string().nullable(),
    address: z.string().describe('The network address that it came from.'),
    idempotency_key: z.string().nullable(),
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

const bodyOf = ({ request, events }: ShownRequest) => {
  const { org, idempotencyKey, wrote: _, at, ...rest } = request;
  const shown = events.map(({ position: place, stream, revision, type, metadata }) => ({
    position: place === null ? null : String(place),
    stream,
    revision: String(revision),
    type,
    at: timestamp(metadata.occurredAt),
  }));
  return {
    object: 'request',
    ...rest,
    at: timestamp(at),
    organization: org,
    idempotency_key: idempotencyKey,
    wrote: shown.map((event) => event.position),
    events: shown,
  };
};

/** For the operator: who did it, from which request. */
export const operatorRequestRoutes = (deps: ReadRequestDeps): readonly Route[] => [
  route({
    method: 'GET',
    path: '/operator/v1/requests/:request_id',
    access: operatorAccess,
    params: z.object({ request_id: text({ code: 'not_found', description: 'As in `x-request-id`.' }) }),
    failure: 'read_failed',
    operation: operatorOperation('getRequest', 'Look up a request, and the events that it wrote', {
      200: shownRequest,
    }),
    handle: async ({ params }) => ({ status: 200, body: bodyOf(await readRequest(deps, params.request_id)) }),
  }),
];
