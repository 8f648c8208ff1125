import { EventStoreDbEventStore } from '../../adapters/eventstoredb/event-store.js';
import { SystemClock } from '../../adapters/system/clock.js';
import { SystemEntropy } from '../../adapters/system/entropy.js';
import { runRelay } from '../../application/relay.js';
import { derivedUuid, OrganizationId } from '../../domain/ids.js';
import { register, webhookEndpoints, type WebhookEndpoints } from '../../domain/webhook-endpoints.js';
import type { WebhookUrl } from '../../domain/webhook-url.js';
import { MemoryCheckpoints } from '../support/memory/checkpoints.js';
import { MemoryDeliveries } from '../support/memory/deliveries.js';
import { eventually } from '../support/time/eventually.js';
import { startProduction } from './processes.js';
import type { ProductionLog } from './production.js';
import type { Figure } from './report.js';

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
    most: 100,
  })(webhookEndpoints.initial).reduce(webhookEndpoints.evolve, webhookEndpoints.initial);

/** Relays everything after a position. Returns how long that took, in seconds, and the number of deliveries. */
const relayFrom = async (
  { url, org, to }: ProductionLog,
  position: bigint,
): Promise<{ readonly seconds: number; readonly made: number }> => {
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
      { store, deliveries, queue, checkpoints, clock, policy, keep, knownCards: 1_000_000 },
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

const figure = (what: string, events: number, seconds: number): Figure => ({
  what,
  value: events / seconds,
  unit: 'events/s',
  ratio: null,
  comparedWith: null,
  target: '≥ 5000 events/s',
  met: events / seconds >= 5_000,
});

/**
 * How fast the relay is if every event is of another card than those before it: one that has just started and
 * knows none of the cards, and one that has seen all of them begin.
 */
export const measureRelay = async (cards: number): Promise<Figure[]> => {
  const moved = 6 * Math.floor(Math.min(60_000, cards) / 6);
  const unknown = await startProduction({ cards, moved });
  const { seconds, made } = await relayFrom(unknown, BigInt(unknown.from)).finally(unknown.stop);
  if (made !== moved / 6) throw new Error(`${made} deliveries were made instead of ${moved / 6}`);
  const seen = Math.min(30_000, cards);
  const known = await startProduction({ cards: seen, moved: 6 });
  const all = await relayFrom(known, 0n).finally(known.stop);
  return [
    figure(
      `events relayed from a stand-in of EventStoreDB with ${cards.toLocaleString('en-US')} cards in production, right after a start`,
      moved,
      seconds,
    ),
    figure(
      'the same, of cards that the relay has seen begin',
      seen * eventsBefore + known.events,
      all.seconds,
    ),
  ];
};
