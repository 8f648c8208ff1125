import { EventStoreDbEventStore } from '../../adapters/eventstoredb/event-store.js';
import type { Part } from '../../adapters/http/health.js';
import { InProcessDeliveryQueue } from '../../adapters/memory/delivery-queue.js';
import { openEventsFile } from '../../adapters/sqlite/log/events-file.js';
import { EventStoreUnavailable, type EventStore } from '../../application/ports/event-store.js';
import { assertSameLog } from '../../application/same-log.js';
import type { ProjectorStatus } from '../../application/projecting/projection-board.js';
import { within } from '../../application/within.js';
import { WriteHealth } from '../../application/write-health.js';
import { withAppend } from '../../application/with-append.js';
import { messageOf } from '../../domain/errors.js';
import type { Milliseconds } from '../../domain/ids.js';
import type { Engine, EngineOptions } from '../engine.js';
import { EngineCalls } from '../engine-calls.js';
import { measureLag, noLag } from '../projection-lag.js';
import { patientParts } from '../projection-parts.js';
import { logPart } from '../log-part.js';
import { incidentLog } from './incidents.js';
import { openMongoStores } from './mongo-stores.js';
import { macsOf, notarized, notaryOf, shownTiles } from './notarized.js';

/** The last failure of the event store, which may be one that is tried again. */
interface LastFailure {
  error: unknown;
  at: Milliseconds;
}

const openEventStoreDb = (
  url: string,
  { settings, clock, entropy, log, namespace = '', calls = new EngineCalls() }: EngineOptions,
  failed: LastFailure,
): EventStoreDbEventStore => {
  const report = incidentLog(log, clock, 'EventStoreDB');
  const onError = (error: unknown): void => {
    Object.assign(failed, { error, at: clock.monotonic() });
    report(error);
  };
  return new EventStoreDbEventStore({
    url,
    prefix: `${settings.eventStorePrefix}${namespace}`,
    clock,
    entropy,
    count: calls.counterOf('EventStoreDB'),
    onError,
    onForeign: (first) =>
      log.warn(
        { ...first, revision: String(first.revision) },
        'another program writes to a stream with a name of this service; such events are passed over, and EVENTSTORE_PREFIX keeps the names apart',
      ),
  });
};

/** An event store whose claims on keys are kept elsewhere, so that an append can't complete them. */
const withoutClaims = (store: EventStore): EventStore =>
  withAppend(store, (writes) => store.append(writes), false);

/** Read models and operational state in MongoDB, and events in EventStoreDB or in files. */
export const openWithServers = async (options: EngineOptions): Promise<Engine> => {
  const { eventStoreUrl, mongoUrl, dataDir } = options.settings;
  if (eventStoreUrl !== null && mongoUrl !== null) {
    const eventMacs = macsOf(options);
    const failed: LastFailure = { error: null, at: -Infinity };
    const store = openEventStoreDb(eventStoreUrl, options, failed);
    const stores = openMongoStores(options, mongoUrl, store);
    const notarize = notaryOf(options, { log: store, tiles: stores.tiles });
    return engineOf(options, { raw: store, notarize, eventMacs }, stores, [store], { store, failed });
  }
  if (mongoUrl === null) throw new TypeError('MONGODB_URL is not set');
  const { clock } = options;
  const files = await openEventsFile({ directory: dataDir, clock, ...notarized(options) });
  const store = withoutClaims(files.eventStore);
  const stores = { ...openMongoStores(options, mongoUrl, store), tiles: files.tiles };
  return engineOf(options, { raw: files.raw, notarize: null, eventMacs: macsOf(options) }, stores, [files]);
};

const longestResponse: Milliseconds = 2_000;
/** How long a refused append counts: another one, only to find out, would stay in the log forever. */
const refusedFor: Milliseconds = 10_000;

/** `owned`: what to close after the stores. `eventStoreDb`: the event store, if it is one. */
const engineOf = (
  options: EngineOptions,
  { raw, notarize, eventMacs }: Pick<Engine, 'raw' | 'notarize' | 'eventMacs'>,
  stores: ReturnType<typeof openMongoStores>,
  owned: readonly { close(): Promise<void> }[],
  eventStoreDb: { readonly store: EventStoreDbEventStore; readonly failed: LastFailure } | null = null,
): Engine => {
  const { clock } = options;
  const tiles = shownTiles(options, stores.tiles);
  /** Why the event store has not answered since then, as far as it is known. */
  const reasonSince = (began: Milliseconds): string =>
    eventStoreDb !== null && eventStoreDb.failed.at >= began
      ? `: ${messageOf(eventStoreDb.failed.error)}`
      : '';
  const partOf = async (
    name: string,
    ask: () => Promise<unknown>,
    reason: (began: Milliseconds) => string = () => '',
  ): Promise<Part> => {
    const began = clock.monotonic();
    const fault = ask().then(() => null, messageOf);
    const detail = await within(
      clock,
      longestResponse,
      fault,
      () => `no response within ${longestResponse} ms${reason(began)}`,
    );
    return { name, ready: detail === null, detail };
  };
  const { ping } = stores;
  const appends = new WriteHealth(clock, () => Promise.resolve(), refusedFor);
  const store = withAppend(stores.store, async (writes, completing) => {
    try {
      const outcomes = await stores.store.append(writes, completing);
      appends.wrote(null);
      return outcomes;
    } catch (error) {
      if (error instanceof EventStoreUnavailable) appends.wrote(error);
      throw error;
    }
  });
  const projectionParts = patientParts(clock);
  const measure = measureLag(store, clock);
  let lag = noLag;
  const askLog = async (status: ProjectorStatus): Promise<void> => {
    lag = await measure(status.projections.map(({ checkpoint }) => checkpoint));
    const failure = await appends.failure();
    if (failure !== null) throw new EventStoreUnavailable(`it takes no events: ${failure}`);
  };
  return {
    ...stores,
    store,
    tiles,
    raw,
    notarize,
    eventMacs,
    deliveryQueue: new InProcessDeliveryQueue(),
    publicStream: null,
    hasServers: true,
    assertLog: async () => {
      for (const { reader, ...read } of await stores.readings()) await assertSameLog(store, reader, read);
    },
    foreignEvents: () => eventStoreDb?.store.foreignEvents ?? 0,
    readiness: async () => {
      const status = stores.projector.status();
      const parts = await Promise.all([
        partOf('event store', () => askLog(status), reasonSince),
        ...(ping === null ? [] : [partOf('mongodb', ping)]),
      ]);
      return [...parts, ...projectionParts(status, lag), await logPart(tiles)];
    },
    close: async () => {
      await stores.close();
      for (const each of owned) await each.close();
    },
  };
};
