import { join } from 'node:path';
import { load, memoryOf, startBare, startService, type StartedService } from './processes.js';
import type { Figure } from './report.js';
import { seed, type Seeded } from './seed.js';

const seconds = 8;
const plenty = 100_000_000;
const unlimited = { RATE_LIMIT_PER_MINUTE: '1000000000' };

const aCard = JSON.stringify({
  recipient: { name: 'Ada Lovelace', line1: '12 Analytical Way', city: 'Springfield', state: 'IL', zip: '62701' },
  message: 'Thank you for everything, Ada. It was a pleasure to work with you this year.',
});

const atLeast = (ratio: number, target: number) => ({ target: `≥ ${target}`, met: ratio >= target });
const atMost = (ratio: number, target: number) => ({ target: `≤ ${target}`, met: ratio <= target });

const organizationOf = async (service: StartedService): Promise<{ readonly org: string; readonly key: string }> => {
  const { id } = await service.operate('/organizations', { name: 'Bench' });
  const org = String(id);
  await service.operate(`/organizations/${org}/credits`, { amount: plenty });
  await service.operate(`/organizations/${org}/designs`, { name: 'Thanks' });
  const { key } = await service.operate(`/organizations/${org}/keys`, { scopes: ['cards:send', 'cards:read'] });
  return { org, key: String(key) };
};

/** POST /api/v1/cards, durable, on a fresh database, against a stock Express app that parses the same body and answers 201. */
export const measureSends = async (directory: string): Promise<Figure[]> => {
  const figures: Figure[] = [];
  const bare = await startBare();
  const service = await startService(join(directory, 'fresh'), unlimited);
  try {
    const { key } = await organizationOf(service);
    for (const connections of [10, 64]) {
      const common = { method: 'POST' as const, token: key, body: aCard, connections };
      for (const url of [bare.url, service.url]) await load({ ...common, url: `${url}/api/v1/cards`, seconds: 3 });
      const stock = await load({ ...common, url: `${bare.url}/api/v1/cards`, seconds });
      figures.push({
        what: `bare Express, ${connections} connections`,
        value: stock.requestsPerSecond,
        unit: 'req/s',
        ratio: null,
        comparedWith: null,
        target: null,
        met: null,
        p50: stock.p50,
        p99: stock.p99,
      });
      for (const keyed of [false, true]) {
        const sent = await load({ ...common, url: `${service.url}/api/v1/cards`, seconds, keyed });
        if (sent.failed > 0) throw new Error(`${sent.failed} sends failed`);
        const ratio = sent.requestsPerSecond / stock.requestsPerSecond;
        const target = connections === 64 ? atLeast(ratio, keyed ? 0.6 : 0.8) : { target: null, met: null };
        figures.push({
          what: `POST /cards durable${keyed ? ', with Idempotency-Key' : ''}, ${connections} connections`,
          value: sent.requestsPerSecond, unit: 'req/s', ratio, comparedWith: 'bare Express', ...target, p50: sent.p50, p99: sent.p99,
        }); // prettier-ignore
      }
    }
    const memory = memoryOf(service.child);
    if (memory !== null)
      figures.push({ what: 'memory after these sends', value: memory, unit: 'MiB', ratio: null, comparedWith: null, target: null, met: null });
  } finally {
    await bare.stop();
    await service.stop();
  }
  return figures;
};

interface Reads {
  readonly lookup: number;
  readonly list: number;
  readonly memory: number | null;
}

const caughtUp = async (service: StartedService): Promise<void> => {
  for (;;) {
    const response = await fetch(`${service.url}/readyz`);
    if (response.ok) return;
    await new Promise((resolve) => setTimeout(resolve, 250));
  }
};

const readsWith = async (directory: string, cards: number): Promise<Reads> => {
  const { key } = await seed(directory, cards, { produced: false });
  const service = await startService(directory, unlimited);
  try {
    await caughtUp(service);
    const page = await fetch(`${service.url}/api/v1/cards?limit=1`, { headers: { authorization: `Bearer ${key}` } });
    const { data } = (await page.json()) as { readonly data: readonly { readonly id: string }[] };
    const measure = async (path: string): Promise<number> => {
      const common = { url: `${service.url}${path}`, method: 'GET' as const, token: key, connections: 10 };
      await load({ ...common, seconds: 2 });
      const done = await load({ ...common, seconds });
      if (done.failed > 0) throw new Error(`${done.failed} reads failed`);
      return done.requestsPerSecond;
    };
    return { lookup: await measure(`/api/v1/cards/${data[0]?.id}`), list: await measure('/api/v1/cards?limit=50'), memory: memoryOf(service.child) };
  } finally {
    await service.stop();
  }
};

/** Lookup and list of 50, with few and with many cards stored: the time of one request may hardly grow. */
export const measureReads = async (directory: string, many: number): Promise<Figure[]> => {
  const few = await readsWith(join(directory, 'few'), 1_000);
  const lots = await readsWith(join(directory, 'many'), many);
  const counted = many.toLocaleString('en-US');
  const figure = (what: string, small: number, large: number): Figure[] => {
    const ratio = small / large;
    return [
      { what: `${what}, 1,000 cards stored`, value: small, unit: 'req/s', ratio: null, comparedWith: null, target: null, met: null },
      { what: `${what}, ${counted} cards stored`, value: large, unit: 'req/s', ratio, comparedWith: 'the time at 1,000', ...atMost(ratio, 1.5) },
    ];
  };
  const memory: Figure[] =
    lots.memory === null
      ? []
      : [{ what: `memory with ${counted} cards stored`, value: lots.memory, unit: 'MiB', ratio: null, comparedWith: null, target: null, met: null }];
  return [...figure('lookup', few.lookup, lots.lookup), ...figure('list of 50', few.list, lots.list), ...memory];
};

/** Every read model from nothing, and the start of the service, on cards that went through all their steps. */
export const measureRebuild = async (directory: string, cards: number): Promise<Figure[]> => {
  const path = join(directory, 'produced');
  const { events }: Seeded = await seed(path, cards, { produced: true });
  const first = await startService(path, unlimited);
  const began = performance.now();
  await caughtUp(first);
  const rebuilt = performance.now() - began + first.readyAfter;
  const building = memoryOf(first.child);
  await first.stop();
  const again = await startService(path, unlimited);
  const ready = performance.now();
  await caughtUp(again);
  const startup = again.readyAfter + performance.now() - ready;
  await again.stop();
  const rate = events / (rebuilt / 1000);
  const none = { ratio: null, comparedWith: null };
  return [
    {
      what: `rebuild of every read model, ${events.toLocaleString('en-US')} events, start of the process included`,
      value: rate,
      unit: 'events/s',
      ...none,
      ...atLeast(rate, 50_000),
    },
    { what: `start until ready, ${events.toLocaleString('en-US')} events`, value: startup / 1000, unit: 's', ...none, ...atMost(startup / 1000, 5) },
    ...(building === null ? [] : [{ what: 'memory after the rebuild', value: building, unit: 'MiB', ...none, target: null, met: null }]),
  ];
};
