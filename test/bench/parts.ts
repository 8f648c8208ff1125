import { statSync } from 'node:fs';
import { join } from 'node:path';
import { organizationOf, aCard } from './cards.js';
import { caughtUp, load, memoryOf, processorTimeOf, startService, type StartedService } from './processes.js';
import type { Figure } from './report.js';
import { seed } from './seed.js';
import { personalSeal as inTheClear } from './without/no-sealing.js';

/**
 * What a part costs is measured by services that lack it (`without/`, or a setting), which take turns with
 * the whole one.
 */
const parts = ['sealing', 'macs', 'notary', 'requests', 'public_events', 'console'] as const;
const everyPart = parts.join(',');
const preloaded = join(import.meta.dirname, 'without/without.js');

const startWithout = (directory: string, without: string): Promise<StartedService> =>
  startService(directory, {
    RATE_LIMIT_PER_MINUTE: '1000000000',
    BENCH_WITHOUT: without,
    CONSOLE: without.split(',').includes('console') ? 'off' : 'on',
    NODE_OPTIONS: `--import=${preloaded}`,
  });

const none = { ratio: null, comparedWith: null, target: null, met: null };

/** Until everything that was written is in the read models and, where there is a notary, in the tree. */
const settled = async ({
  service,
  without,
}: {
  readonly service: StartedService;
  readonly without: string;
}): Promise<void> => {
  await caughtUp(service);
  while (!without.includes('notary')) {
    const metrics = await (await fetch(`${service.url}/metrics`)).text();
    if (/^log_events_unsigned 0$/m.test(metrics)) return;
    await new Promise((resolve) => setTimeout(resolve, 500));
  }
};

interface Sends {
  readonly service: StartedService;
  readonly key: string;
  readonly without: string;
  readonly rates: number[];
  /** Processor time of each round, in milliseconds. */
  readonly costs: number[];
}

/** As many as there are services, so that each of them comes first once: who does is at a disadvantage. */
const rounds = parts.length + 2;
const sendsPerRound = 4_000;

const send = async ({ service, key, rates, costs }: Sends): Promise<void> => {
  const before = processorTimeOf(service.child) ?? Number.NaN;
  const { requestsPerSecond, failed } = await load({
    url: `${service.url}/api/v1/cards`,
    method: 'POST',
    token: key,
    body: aCard,
    connections: 64,
    seconds: 60,
    amount: sendsPerRound,
  });
  if (failed > 0) throw new Error(`${failed} sends failed`);
  await caughtUp(service);
  rates.push(requestsPerSecond);
  costs.push((processorTimeOf(service.child) ?? Number.NaN) - before);
};

/**
 * Sends to the whole service and to services that lack a part, in turns. Their processor time is that of all
 * threads until the read models have caught up; the notary, which rests while there is work, follows later
 * (`notary` says what it takes).
 */
export const measurePartsOfSends = async (directory: string): Promise<Figure[]> => {
  const all: Sends[] = [];
  try {
    for (const without of ['', ...parts, everyPart]) {
      const service = await startWithout(join(directory, `without-${without}`), without);
      const { key } = await organizationOf(service);
      all.push({ service, without, key, rates: [], costs: [] });
    }
    for (const one of all) await send(one);
    for (let round = 0; round < rounds; round += 1)
      for (const one of [...all.slice(round), ...all.slice(0, round)]) await send(one);
    /** Without the first one, which warms up. */
    const median = (values: readonly number[]): number =>
      values.slice(1).toSorted((a, b) => a - b)[Math.floor(rounds / 2)] ?? Number.NaN;
    return sendFigures(
      all.map(({ without, rates, costs }) => ({
        without,
        rate: median(rates),
        cost: (median(costs) * 1_000) / sendsPerRound,
      })),
    );
  } finally {
    for (const { service } of all) await service.stop();
  }
};

interface SendCost {
  readonly without: string;
  readonly rate: number;
  readonly cost: number;
}

const sendFigures = ([whole, ...others]: readonly SendCost[]): Figure[] => {
  if (whole === undefined) return [];
  return [
    { what: 'sends, the whole, 64 connections', value: whole.rate, unit: 'req/s', ...none },
    {
      what: 'its processor time for each, all threads, until lists show it',
      value: whole.cost,
      unit: 'µs',
      ...none,
    },
    ...others.flatMap(({ without, rate, cost }): Figure[] => {
      const name = without === everyPart ? 'all of them' : without;
      return [
        {
          what: `sends, without ${name}`,
          value: rate,
          unit: 'req/s',
          ...none,
          ratio: rate / whole.rate,
          comparedWith: 'the whole',
        },
        {
          what: `processor time that ${name} ${without === everyPart ? 'take' : 'takes'} of each`,
          value: whole.cost - cost,
          unit: 'µs',
          ...none,
          ratio: (whole.cost - cost) / whole.cost,
          comparedWith: 'the whole',
        },
      ];
    }),
  ];
};

interface Rebuild {
  readonly seconds: number;
  readonly processor: number;
  readonly start: number;
  readonly memory: number | null;
  readonly disk: number;
  readonly events: number;
}

const files = ['events.db', 'read.db', 'keys.db'];

const sizeOf = (directory: string, names: readonly string[]): number =>
  names.reduce(
    (sum, name) => sum + (statSync(join(directory, name), { throwIfNoEntry: false })?.size ?? 0),
    0,
  );

const rebuildWithout = async (
  directory: string,
  cards: number,
  { without, produced }: { readonly without: string; readonly produced: boolean },
): Promise<Rebuild> => {
  const { events } = await seed(directory, cards, {
    produced,
    ...(without !== '' && { sealing: inTheClear() }),
  });
  const first = await startWithout(directory, without);
  const began = performance.now();
  await caughtUp(first);
  const seconds = (performance.now() - began + first.readyAfter) / 1_000;
  const processor = (processorTimeOf(first.child) ?? Number.NaN) / 1_000;
  await settled({ service: first, without });
  const memory = memoryOf(first.child);
  await first.stop();
  const again = await startWithout(directory, without);
  const ready = performance.now();
  await caughtUp(again);
  const start = (again.readyAfter + performance.now() - ready) / 1_000;
  await again.stop();
  return { seconds, processor, start, memory, disk: sizeOf(directory, files), events };
};

/**
 * Rebuild, start, disk and memory with and without all parts, and without sealing alone: of cards that went
 * through all their steps, and of cards that were only sent, each event of which is sealed.
 */
export const measurePartsOfRebuilds = async (directory: string, events: number): Promise<Figure[]> => {
  const figures: Figure[] = [];
  const kinds = [
    ['every step', true, Math.ceil(events / 15)],
    ['first events only', false, Math.ceil(events / 2)],
  ] as const;
  for (const [kind, produced, cards] of kinds) {
    const measured = async (name: string, without: string): Promise<Rebuild> =>
      rebuildWithout(join(directory, `rebuild-${name}-${kind}`), cards, { without, produced });
    const before = await measured('before', everyPart);
    const open = await measured('open', 'sealing');
    const after = await measured('after', '');
    const figure = (what: string, unit: string, of: (one: Rebuild) => number): readonly Figure[] => [
      { what: `${what}, ${kind}, without all parts`, value: of(before), unit, ...none },
      {
        what: `${what}, ${kind}, without sealing`,
        value: of(open),
        unit,
        ...none,
        ratio: of(open) / of(after),
        comparedWith: 'the whole',
      },
      {
        what: `${what}, ${kind}, the whole`,
        value: of(after),
        unit,
        ...none,
        ratio: of(after) / of(before),
        comparedWith: 'without all parts',
      },
    ];
    figures.push(
      ...figure(
        `rebuild of ${after.events.toLocaleString('en-US')} events`,
        'events/s',
        (one) => one.events / one.seconds,
      ),
      ...figure('its processor time, an event', 'µs', (one) => (one.processor * 1e6) / one.events),
      ...figure('start until ready', 's', ({ start }) => start),
      ...figure('disk, an event', 'bytes', (one) => one.disk / one.events),
      ...figure('memory after it', 'MiB', ({ memory }) => memory ?? Number.NaN),
    );
  }
  return figures;
};
