import { z } from 'zod';
import type { EventStore } from '../../application/ports/event-store.js';
import { assertInLog, externalEvent, watchLog } from '../../application/watch-log.js';
import { logIdOf } from '../../application/same-log.js';
import type { LogTiles } from '../../application/ports/log-tiles.js';
import { DomainError } from '../../domain/errors.js';
import type { LoggedEvent } from '../../domain/events.js';
import { categories, type StreamName, type Uuid } from '../../domain/ids.js';
import { optionalChoice, optionalText, text } from './fields.js';
import { operatorAccess, operatorOperation } from './operator.js';
import { instant, timestamp } from './responses.js';
import { route, type HttpRequest, type Route, type ServerSentEvent } from './route.js';
import type { Clock } from '../../application/ports/system.js';

/** Starts rebuilds of projections. */
export interface ProjectionRebuilds {
  /** Resolves to false if there is no projection with that name. */
  rebuild(projection: string): Promise<boolean>;
}

export interface OperatorLogDeps {
  readonly store: EventStore;
  readonly tiles: LogTiles;
  readonly clock: Clock;
  readonly rebuilding: ProjectionRebuilds;
}

const position = /^[0-9]{1,18}$/;

const events = z.object({
  from: optionalText({
    pattern: position,
    hint: 'a position: a whole number',
    description:
      'Events after this position, which must be that of an event of this log. Omit it to start at the beginning.',
  }),
  category: optionalChoice(categories, { description: 'Only streams of this category.' }),
  stream: optionalText({ maxLength: 500, description: 'Only this stream.' }),
});

/**
 * The position of the last event that a reconnecting client has seen, as EventSource sends it; anything that
 * isn't a position is ignored.
 */
const lastSeen = (request: Pick<HttpRequest, 'header'>): string | undefined => {
  const [id = '', ...others] = request.header('last-event-id');
  return others.length === 0 && position.test(id) ? id : undefined;
};

const asServerSent = async function* (
  source: AsyncIterable<LoggedEvent>,
  logId: () => Promise<Uuid | null>,
): AsyncGenerator<ServerSentEvent> {
  for await (const event of source)
    yield { id: String(event.position), event: event.type, data: externalEvent(event, await logId()) };
};

const anchor = z.object({
  log: z
    .string()
    .nullable()
    .describe('The id of the log; null while it is empty. A backup has the same one.'),
  position: z.string(),
  hash: z.string().nullable(),
  at: instant('When the head was read.'),
  tree_size: z
    .int()
    .nullable()
    .describe('How many events the newest checkpoint covers; null if there is none.'),
  root: z.string().nullable().describe('The root of the tree over them, in base64.'),
  checkpoint: z.string().nullable().describe('The newest checkpoint: a signed note.'),
});

/** For the operator: the log itself. */
export const operatorLogRoutes = ({ store, tiles, clock, rebuilding }: OperatorLogDeps): readonly Route[] => {
  const logId = logIdOf(store);
  return [
    route({
      method: 'GET',
      path: '/operator/v1/events',
      access: operatorAccess,
      query: events,
      failure: 'read_failed',
      operation: {
        ...operatorOperation('followEvents', 'Follow the log from a position, as server-sent events', {}, [
          'invalid_parameter',
        ]),
        headers: {
          'Last-Event-ID': {
            description:
              'Events after this one, whatever `from` says: this is how an EventSource continues after a break.',
            schema: { type: 'string', pattern: position.source },
          },
        },
        responses: {
          200: {
            description: 'Each server-sent event is one event of the log; its id is the position.',
            schema: null,
            type: 'text/event-stream',
          },
        },
      },
      handle: async (request) => {
        const { from, category, stream } = request.query;
        const after = BigInt(lastSeen(request) ?? from ?? 0);
        await assertInLog(store, after);
        return {
          status: 200,
          events: asServerSent(
            watchLog(store, after, { category, stream: stream as StreamName | null }, request.signal),
            logId,
          ),
        };
      },
    }),
    route({
      method: 'GET',
      path: '/operator/v1/anchor',
      access: operatorAccess,
      failure: 'read_failed',
      operation: operatorOperation(
        'getAnchor',
        'Read the head of the log, to keep it elsewhere as a witness',
        { 200: anchor },
        [],
      ),
      handle: async () => {
        const { position, event } = await store.head();
        const newest = (await tiles.damage()) === null ? await tiles.newest() : null;
        const body = {
          log: await logId(),
          position: String(position),
          hash: event?.hash ?? null,
          at: timestamp(clock.instant()),
          tree_size: newest?.size ?? null,
          root: newest?.root.toString('base64') ?? null,
          checkpoint: newest?.note ?? null,
        };
        return { status: 200, body };
      },
    }),
    route({
      method: 'POST',
      path: '/operator/v1/projections/:name/rebuild',
      access: operatorAccess,
      params: z.object({ name: text() }),
      failure: 'internal_error',
      operation: operatorOperation(
        'rebuildProjection',
        'Rebuild a projection while the current one stays in use',
        {
          202: z.object({ name: z.string() }),
        },
      ),
      handle: async ({ params }) => {
        if (!(await rebuilding.rebuild(params.name)))
          throw new DomainError('not_found', 'There is no such projection. GET /readyz lists them.');
        return { status: 202, body: { name: params.name } };
      },
    }),
  ];
};
