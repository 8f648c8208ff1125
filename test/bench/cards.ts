import type { ChildProcess } from 'node:child_process';
import { join } from 'node:path';
import type { Load, LoadResult } from './load.js';
import {
  caughtUp,
  load,
  memoryOf,
  processorTimeOf,
  startBare,
  startService,
  type Started,
  type StartedService,
} from './processes.js';
import type { Figure } from './report.js';
import { seed, seededCode, type Seeded } from './seed.js';

const plenty = 100_000_000;
const unlimited = { RATE_LIMIT_PER_MINUTE: '1000000000' };

export const aCard = JSON.stringify({
  recipient: {
    name: 'Ada Lovelace',
    line1: '12 Analytical Way',
    city: 'Springfield',
    state: 'IL',
    zip: '62701',
  },
  message: 'Thank you for everything, Ada. It was a pleasure to work with you this year.',
});

const atLeast = (ratio: number, target: number) => ({ target: `≥ ${target}`, met: ratio >= target });
const atMost = (ratio: number, target: number) => ({ target: `≤ ${target}`, met: ratio <= target });

export const organizationOf = async (
  service: StartedService,
): Promise<{ readonly org: string; readonly key: string }> => {
  const { id } = await service.operate('/organizations', { name: 'Bench' });
  const org = String(id);
  await service.operate(`/organizations/${org}/credits`, { amount: plenty });
  await service.operate(`/organizations/${org}/designs`, { name: 'Thanks' });
  const { key } = await service.operate(`/organizations/${org}/keys`, {
    scopes: ['cards:send', 'cards:read'],
  });
  return { org, key: String(key) };
};

/** The results of one kind of request over several rounds. */
class Tally {
  readonly #rounds: LoadResult[] = [];
  #processor = 0;

  /** Puts load on a process for a while. */
  async add(child: ChildProcess, wanted: Load): Promise<void> {
    const before = processorTimeOf(child);
    const done = await load(wanted);
    const after = processorTimeOf(child);
    if (done.failed > 0) throw new Error(`${done.failed} requests to ${wanted.url} failed`);
    this.#processor += before === null || after === null ? Number.NaN : after - before;
    this.#rounds.push(done);
  }

  get requestsPerSecond(): number {
    return this.#mean(({ requestsPerSecond }) => requestsPerSecond);
  }

  get latency(): { readonly p50: number; readonly p99: number } {
    return { p50: this.#mean(({ p50 }) => p50), p99: this.#mean(({ p99 }) => p99) };
  }

  /** Processor time of all threads for one request, in microseconds. */
  get processorTime(): number {
    return (this.#processor * 1_000) / this.#rounds.reduce((sum, { requests }) => sum + requests, 0);
  }

  #mean(of: (round: LoadResult) => number): number {
    return this.#rounds.reduce((sum, round) => sum + of(round), 0) / this.#rounds.length;
  }
}

const rounds = 3;
const secondsPerRound = 4;

/** Bare Express and the service take turns, so that a machine that is busy for a while slows both. */
const measureSendsAt = async (
  connections: number,
  bare: Started,
  service: StartedService,
  key: string,
): Promise<readonly Figure[]> => {
  const common = { method: 'POST' as const, token: key, body: aCard, connections };
  const stock = {
    tally: new Tally(),
    child: bare.child,
    wanted: { ...common, url: `${bare.url}/api/v1/cards` },
  };
  const sends = {
    tally: new Tally(),
    child: service.child,
    wanted: { ...common, url: `${service.url}/api/v1/cards` },
  };
  const keyed = { tally: new Tally(), child: service.child, wanted: { ...sends.wanted, keyed: true } };
  for (const { wanted } of [stock, sends, keyed]) await load({ ...wanted, seconds: 3 });
  for (let round = 0; round < rounds; round++) {
    for (const { tally, child, wanted } of [stock, sends, keyed])
      await tally.add(child, { ...wanted, seconds: secondsPerRound });
  }
  const at = `${connections} connections`;
  const compared = (what: string, { tally }: typeof sends, target: number | null): readonly Figure[] => {
    const ratio = tally.requestsPerSecond / stock.tally.requestsPerSecond;
    const aimed = target === null ? { target: null, met: null } : atLeast(ratio, target);
    const processor: Figure = {
      what: `processor time of that, all threads, for one request`,
      value: tally.processorTime,
      unit: 'µs',
      ratio: tally.processorTime / stock.tally.processorTime,
      comparedWith: 'bare Express',
      target: null,
      met: null,
    };
    return [
      {
        what: `${what}, ${at}`,
        value: tally.requestsPerSecond,
        unit: 'req/s',
        ratio,
        comparedWith: 'bare Express',
        ...aimed,
        ...tally.latency,
      },
      ...(Number.isNaN(tally.processorTime) ? [] : [processor]),
    ];
  };
  const none = { ratio: null, comparedWith: null, target: null, met: null };
  return [
    {
      what: `bare Express (parses the same body, answers 201, keeps nothing), ${at}`,
      value: stock.tally.requestsPerSecond,
      unit: 'req/s',
      ...none,
      ...stock.tally.latency,
    },
    ...compared(
      'POST /cards, answered when it is on disk; reads show it at once',
      sends,
      connections === 64 ? 0.8 : null,
    ),
    ...compared('the same with an Idempotency-Key', keyed, connections === 64 ? 0.6 : null),
  ];
};

/**
 * POST /api/v1/cards, durable, on a fresh database, against a stock Express app that parses the same body and
 * responds with 201.
 */
export const measureSends = async (directory: string): Promise<Figure[]> => {
  const bare = await startBare();
  const service = await startService(join(directory, 'fresh'), unlimited);
  try {
    const { key } = await organizationOf(service);
    const figures = [
      ...(await measureSendsAt(64, bare, service, key)),
      ...(await measureSendsAt(10, bare, service, key)),
    ];
    return [...figures, ...memoryFigure('memory of the service after these sends', service.child)];
  } finally {
    await bare.stop();
    await service.stop();
  }
};

const memoryFigure = (what: string, child: ChildProcess): readonly Figure[] => {
  const memory = memoryOf(child);
  return memory === null
    ? []
    : [{ what, value: memory, unit: 'MiB', ratio: null, comparedWith: null, target: null, met: null }];
};

interface Reads {
  readonly lookup: Tally;
  readonly newest: Tally;
  readonly anywhere: Tally;
  readonly memory: readonly Figure[];
}

/** Codes of cards from all over the data, in no order. */
export const spreadCodes = (cards: number): readonly string[] => {
  const count = 1_000;
  const stride = 618_033;
  return Array.from({ length: count }, (_, index) => seededCode((index * stride + 7) % cards));
};

const readsWith = async (directory: string, cards: number): Promise<Reads> => {
  const { key } = await seed(directory, cards, { produced: false });
  const service = await startService(directory, unlimited);
  try {
    await caughtUp(service);
    const codes = spreadCodes(cards);
    const measure = async (paths: readonly string[]): Promise<Tally> => {
      const wanted = { url: service.url, paths, method: 'GET' as const, token: key, connections: 10 };
      await load({ ...wanted, seconds: 2 });
      const tally = new Tally();
      await tally.add(service.child, { ...wanted, seconds: 5 });
      return tally;
    };
    return {
      lookup: await measure(codes.map((code) => `/api/v1/cards/${code}`)),
      newest: await measure(['/api/v1/cards?limit=50']),
      anywhere: await measure(codes.map((code) => `/api/v1/cards?limit=50&starting_after=${code}`)),
      memory: memoryFigure(`memory with ${cards.toLocaleString('en-US')} cards stored`, service.child),
    };
  } finally {
    await service.stop();
  }
};

/** Lookup and list of 50, with few and with many cards stored: the time of one request may hardly grow. */
export const measureReads = async (directory: string, many: number): Promise<Figure[]> => {
  const few = await readsWith(join(directory, 'few'), 1_000);
  const lots = await readsWith(join(directory, 'many'), many);
  const figure = (what: string, small: Tally, large: Tally): readonly Figure[] => {
    const ratio = small.requestsPerSecond / large.requestsPerSecond;
    const none = { ratio: null, comparedWith: null, target: null, met: null };
    return [
      {
        what: `${what}, 1,000 cards stored, 10 connections`,
        value: small.requestsPerSecond,
        unit: 'req/s',
        ...none,
        ...small.latency,
      },
      {
        what: `the same, ${many.toLocaleString('en-US')} cards stored`,
        value: large.requestsPerSecond,
        unit: 'req/s',
        ratio,
        comparedWith: 'the time at 1,000',
        ...atMost(ratio, 1.5),
        ...large.latency,
      },
    ];
  };
  return [
    ...figure('lookup of 1,000 cards from anywhere', few.lookup, lots.lookup),
    ...figure('list of the newest 50', few.newest, lots.newest),
    ...figure('list of 50 from anywhere', few.anywhere, lots.anywhere),
    ...lots.memory,
  ];
};

/**
 * Every read model from nothing, and the start of the service, on cards that went through all their steps.
 */
export const measureRebuild = async (directory: string, cards: number): Promise<Figure[]> => {
  const path = join(directory, 'produced');
  const { events }: Seeded = await seed(path, cards, { produced: true });
  const first = await startService(path, unlimited);
  const began = performance.now();
  await caughtUp(first);
  const rebuilt = performance.now() - began + first.readyAfter;
  const memory = memoryFigure('memory after the rebuild', first.child);
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
      what: `rebuild of every read model, ${events.toLocaleString('en-US')} events, from the start of the process until it says that it is ready`,
      value: rate,
      unit: 'events/s',
      ...none,
      ...atLeast(rate, 50_000),
    },
    {
      what: `start until ready with ${events.toLocaleString('en-US')} events`,
      value: startup / 1000,
      unit: 's',
      ...none,
      ...atMost(startup / 1000, 5),
    },
    ...memory,
  ];
};
