import { MemoryCheckpoints } from '../support/memory/checkpoints.js';
import { MongoDatabase } from '../../adapters/mongodb/client/database.js';
import { mongoDeliveries } from '../../adapters/mongodb/deliveries/deliveries.js';
import { mongoProjectionStore } from '../../adapters/mongodb/read/projection-store.js';
import { RabbitDeliveryQueue } from '../../adapters/rabbitmq/delivery-queue.js';
import { RabbitPublicStream } from '../../adapters/rabbitmq/public-stream.js';
import { openEventsFile } from '../../adapters/sqlite/log/events-file.js';
import { SystemClock } from '../../adapters/system/clock.js';
import { SystemEntropy } from '../../adapters/system/entropy.js';
import { runDeliveries } from '../../application/webhooks/deliver-webhooks.js';
import type { DeliveryId, NewDelivery } from '../../application/ports/delivery-log.js';
import { Projector } from '../../application/projecting/project.js';
import { publishEvents } from '../../application/log/publish-events.js';
import { derivedUuid, OrganizationId } from '../../domain/ids.js';
import type { WebhookUrl } from '../../domain/webhook-url.js';
import { allProjections } from '../../projections/all.js';
import { noneSuspended } from '../support/fixtures/webhooks.js';
import { eventually } from '../support/time/eventually.js';
import { measureCatchUp } from './catch-up.js';
import { enginePlaces } from './engine-places.js';
import { measureService } from './operations.js';
import type { Figure } from './report.js';
import { openSeededLog, seed } from './seed.js';

const clock = new SystemClock();
const entropy = new SystemEntropy();
const endpoints = 20;
const batch = 500;
const long = { within: 600_000 };
/** With fewer, it would mostly measure the start and code that has not been optimized yet. */
const fewestCards = 200;
const fewestDeliveries = 1_000;

const figure = (what: string, count: number, began: number, unit: string): Figure => ({
  what,
  value: count / ((performance.now() - began) / 1_000),
  unit,
  ratio: null,
  comparedWith: null,
  target: null,
  met: null,
});

const row = (number: number): NewDelivery => ({
  id: `dlv_${number}` as DeliveryId,
  org: OrganizationId.parse('bench'),
  endpoint: derivedUuid('bench endpoint', number % endpoints),
  event: `evt_${number}`,
  type: 'card.created',
  card: 'HC-BENCH00',
  position: BigInt(number + 1),
  occurredAt: clock.now(),
  body: JSON.stringify({ id: `evt_${number}`, type: 'card.created' }),
  due: clock.now(),
  allowed: 6,
  expires: clock.now() + 3_600_000,
  dropReason: null,
});

/** The projector into MongoDB, over a log of cards that were taken through all their steps. */
const measureProjector = async (
  directory: string,
  cards: number,
  url: string,
): Promise<readonly Figure[]> => {
  const { events } = await seed(directory, cards, { produced: true });
  const fail = (error: unknown): void => {
    throw error;
  };
  const seeded = await openSeededLog(directory);
  const database = new MongoDatabase(url, clock);
  const stop = new AbortController();
  try {
    const store = mongoProjectionStore({ database, clock });
    let reached = 0n;
    const reports = { status: () => undefined, moved: (position: bigint) => void (reached = position) };
    const began = performance.now();
    const running = new Projector({
      projections: allProjections,
      log: seeded.log,
      store,
      clock,
      reports,
      fail,
    }).run(stop.signal);
    await eventually(() => reached >= BigInt(events), long);
    const projected = figure('events projected into MongoDB', events, began, 'events/s');
    stop.abort();
    await running;
    return [projected];
  } finally {
    stop.abort();
    await database.close();
    await seeded.close();
  }
};

/** Events on the public exchange, with confirms, as the relay publishes them. */
const measurePublicStream = async (
  directory: string,
  url: string,
  namespace: string,
): Promise<readonly Figure[]> => {
  const fail = (error: unknown): void => {
    throw error;
  };
  const file = await openEventsFile({ directory, clock, onUnknownOutcome: fail, onDamage: fail });
  const publicStream = new RabbitPublicStream({ url, clock, namespace });
  const stop = new AbortController();
  try {
    await eventually(() => publicStream.down === null, long);
    const { position } = await file.eventStore.head();
    const checkpoints = new MemoryCheckpoints();
    const began = performance.now();
    const running = publishEvents(
      { store: file.eventStore, checkpoints, publicStream, clock },
      stop.signal,
      fail,
    );
    await eventually(
      async () => ((await checkpoints.load('public-stream'))?.position ?? 0n) >= position,
      long,
    );
    const published = figure(
      'events published to RabbitMQ and confirmed',
      Number(position),
      began,
      'events/s',
    );
    stop.abort();
    await running;
    return [published];
  } finally {
    stop.abort();
    await publicStream.close();
    await file.close();
  }
};

/** What the relay does with deliveries, then what workers do with them; receivers respond at once. */
const measureDeliveries = async (
  count: number,
  mongo: string,
  rabbit: string,
  namespace: string,
): Promise<readonly Figure[]> => {
  const database = new MongoDatabase(mongo, clock);
  const deliveries = mongoDeliveries({ database, clock, entropy });
  const queue = new RabbitDeliveryQueue({ url: rabbit, clock, waits: [], namespace });
  const stop = new AbortController();
  try {
    await eventually(() => queue.down === null, long);
    for (let number = 0; number < endpoints; number += 1) {
      const endpoint = derivedUuid('bench endpoint', number);
      const secrets = [{ generation: 1, key: 'bench', since: clock.instant() }];
      const url = 'https://example.com/' as WebhookUrl;
      await deliveries.gates.upsertEndpoint(
        {
          endpoint,
          org: OrganizationId.parse('bench'),
          url,
          secrets,
          active: true,
          version: 1,
          enabledAt: 1,
        },
        clock.now(),
      );
    }
    const relayed = performance.now();
    for (let at = 0; at < count; at += batch) {
      const rows = Array.from({ length: Math.min(batch, count - at) }, (_, index) => row(at + index));
      await deliveries.log.insert(rows);
      await queue.announce(
        rows.map(({ id: delivery, endpoint, due }) => ({ delivery, endpoint, attempt: 1, due })),
      );
    }
    const figures = [
      figure(
        'deliveries inserted into MongoDB and announced through RabbitMQ',
        count,
        relayed,
        'deliveries/s',
      ),
    ];
    const checkpoints = new MemoryCheckpoints();
    await checkpoints.save('relay', { position: 1n, state: { rebuiltTo: '0' } });
    let done = 0;
    const delivered = performance.now();
    const running = runDeliveries(
      {
        deliveries,
        queue,
        suspensions: noneSuspended,
        checkpoints,
        clock,
        keys: [{ id: 'bench', key: Buffer.alloc(32, 7) }],
        policy: { backoff: [60_000], disableAfter: 20 },
        metrics: { attempted: () => void (done += 1) },
        disable: () => Promise.resolve(),
        sender: {
          vet: () => Promise.resolve(),
          send: async ({ mayStart }) =>
            mayStart() ? { httpStatus: 200, error: null, body: null, duration: 0 } : 'withheld',
          close: () => Promise.resolve(),
        },
      },
      stop.signal,
      (error) => process.stderr.write(`${String(error)}\n`),
    );
    await eventually(() => done >= count, long);
    figures.push(
      figure('deliveries claimed, attempted and recorded by one worker', count, delivered, 'deliveries/s'),
    );
    stop.abort();
    await running;
    return figures;
  } finally {
    stop.abort();
    await queue.close();
    await database.close();
  }
};

/** On the servers that the environment names: nothing is measured without MongoDB and RabbitMQ. */
export const measureDistributed = async (directory: string, scale: number): Promise<Figure[]> => {
  const places = await enginePlaces();
  if (places === null) return [];
  const { rabbit, namespace } = places;
  const mongo = places.database('parts');
  try {
    return [
      ...(await measureProjector(directory, Math.max(fewestCards, 1_000 * scale), mongo)),
      ...(await measurePublicStream(directory, rabbit, namespace)),
      ...(await measureCatchUp(places, Math.max(500, Math.round(7_000 * scale)))),
      ...(await measureService(directory, places, scale)),
      ...(await measureDeliveries(Math.max(fewestDeliveries, 3_000 * scale), mongo, rabbit, namespace)),
    ];
  } finally {
    await places.clear();
  }
};
