import { EventStoreDbEventStore } from '../../adapters/eventstoredb/event-store.js';
import { SystemClock } from '../../adapters/system/clock.js';
import { SystemEntropy } from '../../adapters/system/entropy.js';
import { runRelay } from '../../application/relay.js';
import { derivedUuid, OrganizationId } from '../../domain/ids.js';
import { register, webhookEndpoints } from '../../domain/webhook-endpoints.js';
import type { WebhookUrl } from '../../domain/webhook-url.js';
import { MemoryCheckpoints } from '../support/memory/checkpoints.js';
import { MemoryDeliveries } from '../support/memory/deliveries.js';
import { eventually } from '../support/time/eventually.js';
import { startProduction } from './processes.js';
import type { Figure } from './report.js';

const clock = new SystemClock();
const long = { within: 600_000 };

/** How fast the relay reads a log in which every event is of another card than those before it. */
export const measureRelay = async (cards: number): Promise<Figure[]> => {
  const moved = 6 * Math.floor(Math.min(60_000, cards) / 6);
  const { url, org, from, to, events, stop } = await startProduction({ cards, moved });
  const store = new EventStoreDbEventStore({ url, clock, entropy: new SystemEntropy() });
  const ended = new AbortController();
  try {
    const deliveries = new MemoryDeliveries();
    const checkpoints = new MemoryCheckpoints();
    const id = derivedUuid('bench endpoint');
    const endpoint = {
      id,
      url: 'https://receiver.invalid/cards' as WebhookUrl,
      events: [],
      description: null,
      key: 'bench',
      at: clock.instant(),
    };
    const endpoints = register(endpoint)(webhookEndpoints.initial).reduce(
      webhookEndpoints.evolve,
      webhookEndpoints.initial,
    );
    await deliveries.relayMemory.rememberEndpoints(OrganizationId.parse(org), BigInt(from), endpoints);
    await checkpoints.save('relay', { position: BigInt(from), state: { rebuiltTo: '0' } });
    const queue = { announce: () => Promise.resolve(), listen: () => Promise.resolve() };
    const policy = { backoff: [60_000], disableAfter: 20 };
    const began = performance.now();
    const running = runRelay(
      { store, deliveries, queue, checkpoints, clock, policy, keep: 30 * 86_400_000 },
      ended.signal,
      (error) => process.stderr.write(`${String(error)}\n`),
    );
    await eventually(async () => ((await checkpoints.load('relay'))?.position ?? 0n) >= BigInt(to), long);
    const perSecond = Math.round(events / ((performance.now() - began) / 1_000));
    ended.abort();
    await running;
    const { pending } = await deliveries.log.depth(clock.now());
    if (pending !== moved / 6) throw new Error(`${pending} deliveries were made instead of ${moved / 6}`);
    return [
      {
        what: `events relayed from a stand-in of EventStoreDB with ${cards.toLocaleString('en-US')} cards in production`,
        value: perSecond,
        unit: 'events/s',
        ratio: null,
        comparedWith: null,
        target: '≥ 5000 events/s',
        met: perSecond >= 5_000,
      },
    ];
  } finally {
    ended.abort();
    await store.close();
    stop();
  }
};
