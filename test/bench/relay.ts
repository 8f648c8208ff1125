import { randomBytes } from 'node:crypto';
import { EventStoreDbEventStore } from '../../adapters/eventstoredb/event-store.js';
import { MongoDatabase } from '../../adapters/mongodb/client/database.js';
import { mongoProjectionStore } from '../../adapters/mongodb/read/projection-store.js';
import { mongoReadModels } from '../../adapters/mongodb/read/read-models.js';
import { SystemClock } from '../../adapters/system/clock.js';
import { SystemEntropy } from '../../adapters/system/entropy.js';
import type { ReadModels } from '../../application/ports/read-models.js';
import { runRelay } from '../../application/webhooks/relay.js';
import type { CardCode } from '../../domain/card-code.js';
import { derivedUuid, OrganizationId } from '../../domain/ids.js';
import { register, webhookEndpoints, type WebhookEndpoints } from '../../domain/webhook-endpoints.js';
import type { WebhookUrl } from '../../domain/webhook-url.js';
import { cards as cardRows } from '../../projections/cards.js';
import { letter } from '../support/fixtures/world.js';
import { MemoryCheckpoints } from '../support/memory/checkpoints.js';
import { MemoryDeliveries } from '../support/memory/deliveries.js';
import { eventually } from '../support/time/eventually.js';
import { startProduction } from './processes.js';
import type { ProductionLog } from './production.js';
import type { Figure } from './report.js';
import { movedCard } from './seed.js';

const clock = new SystemClock();
const long = { within: 600_000 };
/** How many events a card of the stand-in has before it moves. */
const eventsBefore = 7;

const endpointsOf = (): WebhookEndpoints =>
  register({
    id: derivedUuid('bench endpoint'),
    url: 'https://receiver.invalid/cards' as WebhookUrl,
    events: [],
    description: null,
    key: 'bench',
    at: clock.instant(),
    maxEndpoints: 100,
  })(webhookEndpoints.initial).reduce(webhookEndpoints.evolve, webhookEndpoints.initial);

interface Relayed {
  readonly seconds: number;
  readonly made: number;
}

/**
 * Relays everything after a position. Returns how long that took, in seconds, and the number of deliveries.
 */
const relayFrom = async (
  { url, org, to }: ProductionLog,
  position: bigint,
  readModels: Pick<ReadModels, 'get'> | null = null,
): Promise<Relayed> => {
  const store = new EventStoreDbEventStore({ url, clock, entropy: new SystemEntropy() });
  const ended = new AbortController();
  try {
    const deliveries = new MemoryDeliveries();
    const checkpoints = new MemoryCheckpoints();
    await deliveries.relayMemory.rememberEndpoints(OrganizationId.parse(org), position, endpointsOf());
    await checkpoints.save('relay', { position, state: { rebuiltTo: '0' } });
    const queue = { announce: () => Promise.resolve(), listen: () => Promise.resolve() };
    const policy = { backoff: [60_000], disableAfter: 20 };
    const keep = 30 * 86_400_000;
    const began = performance.now();
    const running = runRelay(
      { store, deliveries, queue, checkpoints, clock, policy, keep, knownCards: 1_000_000, readModels },
      ended.signal,
      (error) => process.stderr.write(`${String(error)}\n`),
    );
    await eventually(async () => ((await checkpoints.load('relay'))?.position ?? 0n) >= BigInt(to), long);
    const seconds = (performance.now() - began) / 1_000;
    ended.abort();
    await running;
    return { seconds, made: (await deliveries.log.depth(clock.now())).pending };
  } finally {
    ended.abort();
    await store.close();
  }
};

const rowsAtOnce = 1_000;

/** Rows of these cards in MongoDB, as the projector makes them of cards that have begun. */
const showCards = async (database: MongoDatabase, org: string, codes: readonly CardCode[]): Promise<void> => {
  const store = mongoProjectionStore({ database, clock });
  const { generation } = await store.active(cardRows);
  const document = { org, recipient: letter.recipient, reference: 'order-1', status: 'in_production' };
  for (let at = 0; at < codes.length; at += rowsAtOnce) {
    const documents = codes.slice(at, at + rowsAtOnce).map((code, index) => {
      const position = BigInt(at + index + 1);
      return { key: code, created: position, position, document: { ...document, code, steps: [] } };
    });
    const checkpoint = BigInt(at + documents.length);
    await store.save([{ projection: cardRows, generation, documents, checkpoint }]);
  }
};

/** The codes of cards that move. */
const movedCards = (cards: number, moved: number): readonly CardCode[] => [
  ...new Set(Array.from({ length: moved }, (_, index) => movedCard(index, cards))),
];

const figure = (what: string, events: number, seconds: number): Figure => ({
  what,
  value: events / seconds,
  unit: 'events/s',
  ratio: null,
  comparedWith: null,
  target: '≥ 5000 events/s',
  met: events / seconds >= 5_000,
});

/** Throws if not every public event became a delivery. */
const checked = ({ seconds, made }: Relayed, moved: number): number => {
  if (made !== moved / 6) throw new Error(`${made} deliveries were made instead of ${moved / 6}`);
  return seconds;
};

/** As a relay that looks up the cards that it does not know in MongoDB. */
const measureWithRows = async (
  log: ProductionLog,
  cards: number,
  moved: number,
): Promise<readonly Figure[]> => {
  const server = process.env['MONGODB_URL'] ?? '';
  if (server === '') {
    process.stderr.write('skipped: set MONGODB_URL to measure the relay with rows of cards\n');
    return [];
  }
  const name = `bench_${randomBytes(6).toString('hex')}`;
  const database = new MongoDatabase(server.replace(/^(mongodb(\+srv)?:\/\/[^/?]+).*$/, `$1/${name}`), clock);
  try {
    await showCards(database, log.org, movedCards(cards, moved));
    const readModels = mongoReadModels({ database, clock });
    const seconds = checked(await relayFrom(log, BigInt(log.from), readModels), moved);
    return [figure('the same, with rows of the cards in MongoDB', moved, seconds)];
  } finally {
    await database.dropAll();
    await database.close();
  }
};

/**
 * How fast the relay is if every event is of another card than those before it: one that has just started and
 * knows none of the cards, and one that has seen all of them begin.
 */
export const measureRelay = async (cards: number): Promise<Figure[]> => {
  const moved = 6 * Math.floor(Math.min(60_000, cards) / 6);
  const unknown = await startProduction({ cards, moved });
  try {
    const seconds = checked(await relayFrom(unknown, BigInt(unknown.from)), moved);
    const withRows = await measureWithRows(unknown, cards, moved);
    unknown.stop();
    const seen = Math.min(30_000, cards);
    const known = await startProduction({ cards: seen, moved: 6 });
    const all = await relayFrom(known, 0n).finally(known.stop);
    return [
      figure(
        `events relayed from a stand-in of EventStoreDB with ${cards.toLocaleString('en-US')} cards in production, right after a start`,
        moved,
        seconds,
      ),
      ...withRows,
      figure(
        'the same, of cards that the relay has seen begin',
        seen * eventsBefore + known.events,
        all.seconds,
      ),
    ];
  } finally {
    unknown.stop();
  }
};
