import { EventStoreDbEventStore } from '../../adapters/eventstoredb/event-store.js';
import type { Part } from '../../adapters/http/server/health.js';
import { RabbitDeliveryQueue } from '../../adapters/rabbitmq/delivery-queue.js';
import { RabbitPublicStream } from '../../adapters/rabbitmq/public-stream.js';
import { EventStoreUnavailable, storeWith } from '../../application/ports/event-store.js';
import { assertSameLog } from '../../application/log/same-log.js';
import type { ProjectorStatus } from '../../application/projecting/projection-board.js';
import { withTimeout } from '../../application/timing/with-timeout.js';
import { assertService } from '../../application/writing/rehearsal.js';
import { WriteHealth } from '../../application/writing/write-health.js';
import { assertEventKey } from '../../application/log/assert-event-key.js';
import { MissingEventKey } from '../../domain/event-mac.js';
import { DomainError, FinalError, messageOf } from '../../domain/errors.js';
import type { Milliseconds } from '../../domain/ids.js';
import type { Engine, EngineOptions } from '../wiring/engine.js';
import { EngineCalls } from '../metrics/engine-calls.js';
import { measureLag, unknownLag } from '../metrics/projection-lag.js';
import type { Servers } from '../settings/settings.js';
import { patientParts } from '../wiring/projection-parts.js';
import { logPart } from '../wiring/log-part.js';
import { incidentLog } from './incidents.js';
import { openMongoStores } from './mongo-stores.js';
import { macsOf, notaryOf, shownTiles } from './notarized.js';

const responseTimeout: Milliseconds = 2_000;
/** How long a refused append counts: another one, only to find out, would stay in the log forever. */
const refusedFor: Milliseconds = 10_000;

/** Events in EventStoreDB, read models and state in MongoDB, hints and the public stream in RabbitMQ. */
export const openServers = (
  options: EngineOptions,
  { eventStoreUrl, mongoUrl, rabbitUrl }: Servers,
): Engine => {
  const { settings, clock, entropy, log, fail, namespace = '', calls = new EngineCalls() } = options;
  /** The last failure of the event store, which may be one that is tried again. */
  let failed = { error: null as unknown, at: -Infinity };
  const reportEventStore = incidentLog(log, clock, 'EventStoreDB');
  const eventStore = new EventStoreDbEventStore({
    url: eventStoreUrl,
    prefix: `${settings.eventStorePrefix}${namespace}`,
    clock,
    entropy,
    count: calls.counterOf('EventStoreDB'),
    onError: (error) => {
      failed = { error, at: clock.monotonic() };
      reportEventStore(error);
    },
    onForeign: (first) =>
      log.warn(
        { ...first, revision: String(first.revision) },
        'another program writes to a stream with a name of this service; such events are passed over, and EVENTSTORE_PREFIX keeps the names apart',
      ),
  });
  const stores = openMongoStores(options, mongoUrl, eventStore);
  const tiles = shownTiles(options, stores.tiles, stores.rehearsal);
  const broker = {
    url: rabbitUrl,
    clock,
    namespace,
    onError: incidentLog(log, clock, 'RabbitMQ'),
    count: calls.counterOf('RabbitMQ'),
  };
  const deliveryQueue = new RabbitDeliveryQueue({ ...broker, waits: settings.webhooks.backoff });
  const publicStream = new RabbitPublicStream(broker);
  /** Why the event store has not answered since then, as far as it is known. */
  const reasonSince = (began: Milliseconds): string =>
    failed.at >= began ? `: ${messageOf(failed.error)}` : '';
  const partOf = async (
    name: string,
    ask: () => Promise<unknown>,
    reason: (began: Milliseconds) => string = () => '',
  ): Promise<Part> => {
    const began = clock.monotonic();
    const fault = ask().then(() => null, messageOf);
    const detail = await withTimeout(
      clock,
      responseTimeout,
      fault,
      () => `no response within ${responseTimeout} ms${reason(began)}`,
    );
    return { name, ready: detail === null, detail };
  };
  /** Does not begin over a log of a newer version, which would look damaged. */
  const readable =
    (work: (signal: AbortSignal) => Promise<void>) =>
    async (signal: AbortSignal): Promise<void> => {
      const error = await eventStore.assertFormat().catch((error: unknown) => error);
      if (error instanceof FinalError) fail(error);
      else await work(signal);
    };
  const eventMacs = macsOf(options);
  let isMarked = false;
  const assertWritable = async (): Promise<void> => {
    await assertService(stores.rehearsal).catch((error: unknown) => {
      if (error instanceof DomainError) throw error;
      throw new EventStoreUnavailable(
        `MongoDB has not said whether this is a rehearsal: ${messageOf(error)}`,
      );
    });
    if (isMarked) return;
    await eventStore.assertFormat(true);
    await assertEventKey(eventStore, eventStore, eventMacs).catch((error: unknown) => {
      // Others have a newer key already, and this process is yet to be restarted with it.
      if (error instanceof MissingEventKey) return;
      if (error instanceof FinalError) fail(error);
      throw error;
    });
    isMarked = true;
  };
  const appends = new WriteHealth(clock, () => Promise.resolve(), refusedFor);
  const store = storeWith(stores.store, {
    append: async (writes, completing) => {
      try {
        await assertWritable();
        const outcomes = await stores.store.append(writes, completing);
        appends.wrote(null);
        return outcomes;
      } catch (error) {
        if (error instanceof EventStoreUnavailable) appends.wrote(error);
        throw error;
      }
    },
  });
  const projectionParts = patientParts(clock);
  const measure = measureLag(store, clock);
  let lag = unknownLag;
  const askLog = async (status: ProjectorStatus): Promise<void> => {
    lag = await measure(status.projections.map(({ checkpoint }) => checkpoint));
    const failure = await appends.failure();
    if (failure !== null) throw new EventStoreUnavailable(`it takes no events: ${failure}`);
  };
  return {
    ...stores,
    store,
    tiles,
    raw: eventStore,
    project: readable(stores.project),
    exclusively: (name, signal, work) => stores.exclusively(name, signal, readable(work)),
    notarize: notaryOf(options, { log: eventStore, tiles: stores.tiles, rehearsal: stores.rehearsal }),
    eventMacs,
    deliveryQueue,
    publicStream,
    hasServers: true,
    assertLog: async () => {
      await eventStore.assertFormat();
      for (const { reader, ...read } of await stores.readings()) await assertSameLog(store, reader, read);
    },
    foreignEvents: () => eventStore.foreignEvents,
    readiness: async () => {
      const status = stores.projector.status();
      const parts = await Promise.all([
        partOf('event store', () => askLog(status), reasonSince),
        partOf('mongodb', stores.ping),
      ]);
      const down = deliveryQueue.down ?? publicStream.down;
      const rabbit = { name: 'rabbitmq', ready: down === null, detail: down };
      return [rabbit, ...parts, ...projectionParts(status, lag), await logPart(tiles)];
    },
    close: async () => {
      await Promise.all([deliveryQueue.close(), publicStream.close()]);
      await stores.close();
      await eventStore.close();
    },
  };
};
