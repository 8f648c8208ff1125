import { join } from 'node:path';
import { EventStoreDbEventStore } from '../../adapters/eventstoredb/event-store.js';
import { InProcessDeliveryQueue } from '../../adapters/memory/delivery-queue.js';
import { openEventsFile } from '../../adapters/sqlite/log/events-file.js';
import type { EventStore } from '../../application/ports/event-store.js';
import type { Milliseconds } from '../../domain/ids.js';
import type { Part } from '../../adapters/http/health.js';
import { within } from '../../application/within.js';
import { messageOf } from '../../domain/errors.js';
import type { Engine, EngineOptions } from '../engine.js';
import { projectionParts } from '../projection-parts.js';
import { openFileSide } from './file-side.js';
import { openMongoSide } from './mongo-side.js';
import { incidentLog } from './incidents.js';

interface Events {
  readonly store: EventStore;
  readonly close: () => Promise<void>;
}

const openServer = (url: string, { clock, entropy, log, namespace = '' }: EngineOptions): Events => {
  const onError = incidentLog(log, clock, 'EventStoreDB');
  const store = new EventStoreDbEventStore({ url, prefix: namespace, clock, entropy, onError });
  return { store, close: () => store.close() };
};

/** Claims are kept elsewhere: an append can't complete them. */
const withoutClaims = (store: EventStore): EventStore => ({
  atomic: store.atomic,
  completesClaims: false,
  append: (writes) => store.append(writes),
  readStream: (stream, from) => store.readStream(stream, from),
  readLast: (stream) => store.readLast(stream),
  readLog: (after, limit) => store.readLog(after, limit),
  head: () => store.head(),
  follow: (after, options) => store.follow(after, options),
});

const longestAnswer: Milliseconds = 2_000;

/** At least the events or the read models are on a server. */
export const openWithServers = async (options: EngineOptions): Promise<Engine> => {
  const { clock, fail, settings } = options;
  const { eventStoreUrl, mongoUrl, dataDir } = settings;
  // Files beside another event store are others than those of the embedded one: their positions belong to
  // that store.
  const directory = eventStoreUrl === null ? dataDir : join(dataDir, 'beside-eventstoredb');
  const openFiles = () => openEventsFile({ directory, clock, onUnknownOutcome: fail, onDamage: fail });
  const files = eventStoreUrl === null || mongoUrl === null ? await openFiles() : null;
  const closeFiles = async (): Promise<void> => files?.close();
  const events: Events | null =
    eventStoreUrl !== null
      ? openServer(eventStoreUrl, options)
      : files && {
          store: mongoUrl === null ? files.eventStore : withoutClaims(files.eventStore),
          close: () => Promise.resolve(),
        };
  if (events === null) throw new TypeError('there is no event store');
  const { store } = events;
  const side =
    mongoUrl === null
      ? files && openFileSide(options, directory, files, store)
      : openMongoSide(options, mongoUrl, store);
  if (side === null) throw new TypeError('there are no read models');

  const answering = async (name: string, ask: () => Promise<unknown>): Promise<Part> => {
    const fault = ask().then(() => null, messageOf);
    const detail = await within(clock, longestAnswer, fault, () => `no answer within ${longestAnswer} ms`);
    return { name, ready: detail === null, detail };
  };

  const { answers } = side;
  let head = 0n;
  return {
    ...side,
    store,
    deliveryQueue: new InProcessDeliveryQueue(),
    publicStream: null,
    hasServers: true,
    readiness: async () => {
      const askHead = async (): Promise<void> => {
        head = (await store.head()).position;
      };
      const parts = await Promise.all([
        answering('event store', askHead),
        ...(answers === null ? [] : [answering('mongodb', answers)]),
      ]);
      return [...parts, ...projectionParts(side.projector.status(), head)];
    },
    close: async () => {
      await side.close();
      await events.close();
      await closeFiles();
    },
  };
};
