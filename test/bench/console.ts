import { once } from 'node:events';
import { createServer } from 'node:http';
import { join } from 'node:path';
import { browserProgram } from '../support/http/browser.js';
import { spreadCodes } from './cards.js';
import { paintsOf } from './paint.js';
import { caughtUp, load, startService, type StartedService } from './processes.js';
import { atMost, type Figure } from './report.js';
import { seed } from './seed.js';
import { largestTenant, tenantSettings } from './tenant.js';

const form = 'application/x-www-form-urlencoded';

/** Enters as the operator by a link, and returns the session's cookie. */
export const enter = async (service: StartedService): Promise<string> => {
  const { url } = await service.operate('/console-links', {});
  const { pathname } = new URL(String(url));
  const response = await fetch(`${service.url}${pathname}`, {
    method: 'POST',
    headers: { 'content-type': form, 'sec-fetch-site': 'same-origin' },
    body: 'do=enter&form=bench',
    redirect: 'manual',
  });
  return response.headers.getSetCookie()[0]?.split(';')[0] ?? '';
};

interface Speed {
  readonly p50: number;
  readonly p99: number;
  readonly perSecond: number;
}

const round = { warm: 1, measured: 3 };

/** A service whose organization has this many cards, and who looks at them. */
interface Visited {
  readonly service: StartedService;
  readonly cookie: string;
  readonly org: string;
  readonly cards: number;
}

const visit = async (directory: string, org: string, cards: number): Promise<Visited> => {
  const service = await startService(directory, tenantSettings);
  await caughtUp(service);
  return { service, cookie: await enter(service), org, cards };
};

/** Where each page is: the same one, or one of many. */
type Pages = Readonly<Record<string, (visited: Visited) => readonly string[]>>;

/** Home, the list at its beginning and deep inside, the order page. */
const pages: Pages = {
  'home page': ({ org }) => [`/console/${org}`],
  'page with the newest 50 cards': ({ org }) => [`/console/${org}/cards`],
  'page with 50 cards from anywhere': ({ org, cards }) =>
    spreadCodes(cards).map((code) => `/console/${org}/cards?before=${code}`),
  'order page': ({ cards }) => spreadCodes(cards).map((code) => `/cards/${code}`),
};

const floor: Pages = { floor: () => ['/console/house/floor'] };

/** One visitor, then ten at once. */
const speedOf = async (visited: Visited, paths: readonly string[]): Promise<Speed> => {
  const { service, cookie } = visited;
  const wanted = { url: service.url, paths, method: 'GET' as const, token: '', cookie };
  await load({ ...wanted, connections: 1, seconds: round.warm });
  const { p50, p99, failed } = await load({ ...wanted, connections: 1, seconds: round.measured });
  const many = await load({ ...wanted, connections: 10, seconds: round.measured });
  if (failed + many.failed > 0) throw new Error(`${paths[0] ?? ''}: some requests failed`);
  return { p50, p99, perSecond: many.requestsPerSecond };
};

const written = (count: number): string => count.toLocaleString('en-US');

interface Measured {
  readonly cards: number;
  readonly speed: Speed;
}

const figuresOf = (name: string, few: Measured, lots: Measured): readonly Figure[] => {
  const { p50, p99, perSecond } = lots.speed;
  const ratio = few.speed.perSecond / perSecond;
  return [
    {
      what: `console: ${name}, ${written(lots.cards)} cards, one visitor`,
      value: p50,
      unit: 'ms',
      ratio: null,
      comparedWith: null,
      target: 'p50 ≤ 10, p99 ≤ 40',
      met: p50 <= 10 && p99 <= 40,
      p50,
      p99,
    },
    {
      what: 'the same, ten visitors',
      value: perSecond,
      unit: 'pages/s',
      ratio,
      comparedWith: `the time at ${written(few.cards)}`,
      target: '≥ 300, ≤ 1.3',
      met: perSecond >= 300 && ratio <= 1.3,
    },
  ];
};

/** Both take turns at each page, so that what else the machine does falls on both. */
const measurePages = async (asked: Pages, few: Visited, lots: Visited): Promise<Figure[]> => {
  const figures: Figure[] = [];
  for (const [name, pathsOf] of Object.entries(asked)) {
    const measured = async (visited: Visited): Promise<Measured> => ({
      cards: visited.cards,
      speed: await speedOf(visited, pathsOf(visited)),
    });
    figures.push(...figuresOf(name, await measured(few), await measured(lots)));
  }
  return figures;
};

/** The page of the floor with so many cards on it, a quarter of them in each status, and with few. */
export const measureFloor = async (directory: string, many: number): Promise<Figure[]> => {
  const visited: Visited[] = [];
  try {
    for (const cards of [Math.max(100, many / 10), many]) {
      const own = join(directory, `floor-${visited.length}`);
      const { org } = await seed(own, cards, { produced: 'to the floor' });
      visited.push(await visit(own, org, cards));
    }
    const [few, lots] = visited;
    return few === undefined || lots === undefined ? [] : await measurePages(floor, few, lots);
  } finally {
    await Promise.all(visited.map(({ service }) => service.stop()));
  }
};

/** A page of one word: what the browser itself takes on this machine. */
const startEmptyPage = async (): Promise<{ readonly url: string; readonly stop: () => void }> => {
  const server = createServer((_, response) =>
    response.writeHead(200, { 'content-type': 'text/html' }).end('<!doctype html><p>Home'),
  ).listen(0, '127.0.0.1');
  await once(server, 'listening');
  const address = server.address();
  if (address === null || typeof address === 'string') throw new Error('no port');
  return { url: `http://127.0.0.1:${address.port}`, stop: () => server.close() };
};

/**
 * The first contentful paint of home for somebody who comes from signing in, and that of a page of one word:
 * what lies between them is ours. No figure without a browser.
 */
const measurePaint = async ({ service, cookie, org }: Visited): Promise<readonly Figure[]> => {
  const program = browserProgram();
  if (program === null) return [];
  const empty = await startEmptyPage();
  try {
    const [ours = 0, least = 0] = await paintsOf(program, [
      { cookie, url: service.url, before: '/console/sign-in', to: `/console/${org}` },
      { cookie, url: empty.url, before: '/before', to: '/' },
    ]);
    const what =
      'console: first contentful paint of home, nothing cached, processor 4 × as slow, median of 9';
    const comparedWith = `a page of one word (${Math.round(least)} ms)`;
    return [{ ...atMost(what, ours, 300), ratio: ours / least, comparedWith }];
  } finally {
    empty.stop();
  }
};

/** Milliseconds until it says its address. */
const startOf = async (directory: string, CONSOLE: 'on' | 'off'): Promise<number> => {
  const service = await startService(directory, { CONSOLE });
  await service.stop();
  return service.readyAfter;
};

/** Compares the fastest of some starts: what else the machine does only adds to them. */
const measureStart = async (directory: string): Promise<Figure> => {
  const times: Record<'on' | 'off', number[]> = { on: [], off: [] };
  await startOf(directory, 'on');
  for (let turn = 0; turn < 12; turn++)
    for (const setting of ['on', 'off'] as const) times[setting].push(await startOf(directory, setting));
  const value = Math.min(...times.on) - Math.min(...times.off);
  return atMost('start of the service with CONSOLE=on, longer than with off by', value, 50);
};

/** The pages of the console with few and with many cards stored, as the server answers them. */
export const measureConsole = async (directory: string, many: number): Promise<Figure[]> => {
  const little = join(directory, 'console-few');
  const { org } = await seed(little, 1_000, { produced: false, deliveries: 1_000 });
  const tenant = await largestTenant(directory, many);
  const few = await visit(little, org, 1_000);
  const lots = await visit(tenant.directory, tenant.org, many);
  const figures: Figure[] = [];
  try {
    figures.push(...(await measurePages(pages, few, lots)), ...(await measurePaint(lots)));
  } finally {
    await Promise.all([few.service.stop(), lots.service.stop()]);
  }
  return [...figures, await measureStart(little)];
};
