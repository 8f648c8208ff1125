import { z } from 'zod';
import type { EventStore } from '../../../application/ports/event-store.js';
import { momentOf } from '../../../application/history/as-of.js';
import {
  cloudEventAttributes,
  externalEvent,
  LogWatch,
  withoutPersonal,
} from '../../../application/log/watch-log.js';
import { logIdOf } from '../../../application/log/same-log.js';
import type { LogTiles } from '../../../application/ports/log-tiles.js';
import { DomainError } from '../../../domain/errors.js';
import { nearest } from '../../../domain/nearest.js';
import { truncate } from '../../../domain/text.js';
import { categories, type StreamName, type Uuid } from '../../../domain/ids.js';
import { eventTypes } from '../document/asyncapi.js';
import { eventFormat, optionalChoice, optionalText, text } from '../schema/fields.js';
import * as shown from '../schema/shown.js';
import { preferredType } from '../server/media-types.js';
import { eventsAccess, operatorAccess, operatorRoute } from './route.js';
import { maxStreams } from '../api/events.js';
import { instant, timestamp } from '../api/responses.js';
import { type HttpRequest, type Route, type ServerSentEvent } from '../server/route.js';
import type { Clock } from '../../../application/ports/system.js';

interface OperatorLogDeps {
  readonly store: EventStore;
  readonly tiles: LogTiles;
  readonly clock: Clock;
  /** `rebuild` resolves to false if there is no projection with that name. */
  readonly rebuilding: { rebuild(projection: string): Promise<boolean> };
}

const position = /^[0-9]{1,18}$/;

const events = z.object({
  from: optionalText(
    'Events after this position, which must be that of an event of this log. Omit it to start at the beginning.',
    '1042',
    { pattern: position, hint: 'a position: a whole number' },
  ),
  category: optionalChoice(categories, 'Only streams of this category.'),
  stream: optionalText('Only this stream.', `card-${shown.examples.card}`, { maxLength: 500 }),
  organization: optionalText('Only events of the organization with this id.', shown.examples.organization, {
    maxLength: 100,
  }),
  types: optionalText(
    'Only events of these types, separated by commas, such as `CardScheduled,CardCancelled`.',
    'CardScheduled,CardHeld',
    { maxLength: 2_000 },
  ),
  until: optionalText(
    'Ends after this position, or, with `head`, after the newest event there is now.',
    'head',
    { pattern: /^(?:[0-9]{1,18}|head)$/, hint: 'a position that the log has reached, or head' },
  ),
  personal: optionalChoice(['withhold'], '`withhold` leaves out what events say about a person.'),
  format: eventFormat,
});

/**
 * The position of the last event that a reconnecting client has seen, as EventSource sends it; anything that
 * isn't a position is ignored.
 */
const lastSeen = (request: Pick<HttpRequest, 'header'>): string | undefined => {
  const [id = '', ...others] = request.header('last-event-id');
  return others.length === 0 && position.test(id) ? id : undefined;
};

/** An event with the progress of a stream. It moves `Last-Event-ID` on, like any other. */
const mark = (position: bigint, done: boolean): ServerSentEvent => ({
  id: String(position),
  event: 'position',
  data: { position: String(position), done },
});

const asServerSent = async function* (
  watch: LogWatch,
  logId: () => Promise<Uuid | null>,
  { withhold, marks, asCloudEvents }: Readonly<Record<'withhold' | 'marks' | 'asCloudEvents', boolean>>,
): AsyncGenerator<ServerSentEvent> {
  for await (const event of watch) {
    const log = await logId();
    const shown = externalEvent(withhold ? withoutPersonal(event) : event, log);
    const told = { ...shown, at: timestamp(shown.at) };
    const data = asCloudEvents
      ? { ...cloudEventAttributes(event, log), datacontenttype: 'application/json', data: told }
      : told;
    yield { id: String(event.position), event: event.type, data };
  }
  if (marks && watch.isDone) yield mark(watch.position, true);
};

/**
 * The mark of a watch that has passed over events since the mark before; null if there is nothing to tell.
 */
const marksOf = (watch: LogWatch): (() => ServerSentEvent | null) => {
  let told = watch.position;
  return () => {
    if (!watch.skips || watch.position === told) return null;
    told = watch.position;
    return mark(told, false);
  };
};

/** Reads `until`. Throws `invalid_parameter` for a position that is none of this log's. */
const endOf = async (store: EventStore, until: string | null): Promise<bigint | null> => {
  if (until === null) return null;
  const { position } = await (until === 'head' ? store.head() : momentOf(store, BigInt(until), 'until'));
  return position;
};

/** Reads `types`: names of events, separated by commas. Throws `invalid_parameter` for an unknown one. */
const typesOf = (sent: string | null): ReadonlySet<string> | null => {
  if (sent === null) return null;
  const types = sent.split(',').map((type) => type.trim());
  const unknown = types.find((type) => !eventTypes.includes(type));
  if (unknown === undefined) return new Set(types);
  const meant = nearest(unknown, eventTypes);
  throw new DomainError(
    'invalid_parameter',
    `There is no type of events \`${truncate(unknown, 100)}\`. ${meant === null ? '/asyncapi.json has them all.' : `Did you mean \`${meant}\`?`}`,
    'types',
  );
};

const recorded = shown.component('RecordedEvent', 'An event of the log.', {
  log: shown.textOrNull('The id of the log.', '6b0d3f0e-2a37-4b8c-9d7e-5f1a2c3b4d5e'),
  position: shown.text('The place in the log.', '1042'),
  stream: shown.text('What the event is about.', `card-${shown.examples.card}`),
  revision: shown.text('The place in the stream.', '3'),
  id: shown.text('The same however often the event is sent.', '4f9d1c1e-7f0b-4f0a-9a53-0d2f6b7c8e91'),
  type: shown.text('What happened.', 'CardScheduled'),
  at: instant('When the event occurred.'),
  data: z
    .record(z.string(), z.unknown())
    .meta(shown.words('The fields of this type in `/asyncapi.json`.', {})),
  metadata: z.record(z.string(), z.unknown()).meta(shown.words('`Metadata` in `/asyncapi.json`.', {})),
});

const streamed = z
  .union([
    recorded,
    z.object({
      position: shown.text('How far the stream has come.', '1042'),
      done: shown.boolean('Whether it has reached `until`.', false),
    }),
    z.object({
      specversion: shown.text('The version of CloudEvents.', '1.0'),
      id: shown.text('The id of the event.', '4f9d1c1e-7f0b-4f0a-9a53-0d2f6b7c8e91'),
      source: shown.text('The log.', 'urn:uuid:6b0d3f0e-2a37-4b8c-9d7e-5f1a2c3b4d5e'),
      type: shown.text('The category, a dot, and the type.', 'card.CardScheduled'),
      subject: shown.text('The stream of the event.', `card-${shown.examples.card}`),
      time: instant('When the event occurred.'),
      datacontenttype: shown.text('The type of `data`.', 'application/json'),
      data: recorded,
    }),
  ])
  .meta({
    id: 'LogMessage',
    description: 'An event, a `position`, or, with `format=cloudevents`, an event as a CloudEvent.',
  });

const projectionWords = ['The name of the projection, as in `/readyz`.', 'cards'] as const;

const anchor = z.object({
  log: shown.textOrNull(
    'The id of the log; null while it is empty. A backup has the same one.',
    '6b0d3f0e-2a37-4b8c-9d7e-5f1a2c3b4d5e',
  ),
  position: shown.text('The place in the log.', '1042'),
  hash: shown.textOrNull('The hash that chains the event to the one before it.', shown.examples.hash),
  at: instant('When the head was read.'),
  tree_size: shown
    .number('How many events the newest checkpoint covers; null if there is none.', 1043)
    .nullable(),
  root: shown.textOrNull(
    'The root of the tree over them, in base64.',
    'CsUYapGGPo4dkMgIAUqom/Xajj7h2fB2MPA3j2jxq2I=',
  ),
  checkpoint: shown.textOrNull(
    'The newest checkpoint: a signed note.',
    'cards.example/log\n1043\nCsUYapGGPo4dkMgIAUqom/Xajj7h2fB2MPA3j2jxq2I=\n\n— cards.example/log AAAA\n',
  ),
});

export const operatorLogRoutes = ({ store, tiles, clock, rebuilding }: OperatorLogDeps): readonly Route[] => {
  const logId = logIdOf(store);
  return [
    operatorRoute('GET /events', {
      id: 'followEvents',
      summary: 'Follow the log from a position, as server-sent events',
      access: eventsAccess,
      query: events,
      headers: {
        'Last-Event-ID': {
          description:
            'Events after this one, whatever `from` says: this is how an EventSource continues after a break. What is no position is ignored.',
          schema: { type: 'string', pattern: position.source, examples: ['1042'] },
        },
      },
      responses: {
        200: {
          description:
            'Each server-sent event is one event of the log; its id is the position. An event named `position` tells how far a filtered stream has come, every 15 seconds, and with `until` that it is done. With `Accept: application/jsonl`, one event a line.',
          schema: null,
          type: 'text/event-stream',
          eventData: streamed,
          alsoAs: ['application/jsonl'],
        },
      },
      handle: async (request) => {
        request.takePlace(request.caller.id, maxStreams);
        const { from, category, stream, organization, types, until, personal, format } = request.query;
        const after = BigInt(lastSeen(request) ?? from ?? 0);
        await momentOf(store, after, 'from');
        const filter = { category, stream: stream as StreamName | null, organization, types: typesOf(types) };
        const end = await endOf(store, until);
        const { scopes } = request.caller;
        const seesAll = scopes === null || scopes.includes('operator:audit');
        const withhold = personal === 'withhold' || !seesAll;
        const watched = { after, until: end, filter, closesErased: !withhold, signal: request.signal };
        const watch = new LogWatch(store, watched);
        const type = preferredType(request.header('accept'), ['text/event-stream', 'application/jsonl']);
        const how = {
          withhold,
          marks: type === 'text/event-stream',
          asCloudEvents: format === 'cloudevents',
        };
        return { type, events: asServerSent(watch, logId, how), beat: marksOf(watch) };
      },
    }),
    operatorRoute('GET /anchor', {
      id: 'getAnchor',
      summary: 'Read the head of the log, to keep it elsewhere as a witness',
      access: operatorAccess,
      answers: { 200: anchor },
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
        return { body };
      },
    }),
    operatorRoute('POST /projections/:name/rebuild', {
      id: 'rebuildProjection',
      summary: 'Rebuild a projection while the current one stays in use',
      params: z.object({ name: text(...projectionWords) }),
      rehearses: true,
      answers: { 202: z.object({ name: shown.text(...projectionWords) }) },
      handle: async ({ params }) => {
        if (!(await rebuilding.rebuild(params.name)))
          throw new DomainError('not_found', 'There is no such projection. GET /readyz lists them.');
        return { body: { name: params.name } };
      },
    }),
  ];
};
