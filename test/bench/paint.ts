import type { BrowserContext } from 'playwright-core';
import { startBrowser } from '../support/http/browser.js';

/** When the first contentful paint was, in milliseconds since the navigation began. */
const painted = `new Promise((resolve) => new PerformanceObserver((list) =>
  resolve(list.getEntriesByName('first-contentful-paint')[0].startTime)).observe({ type: 'paint', buffered: true }))`;

/** A page that a browser goes to from another one of the same server. */
interface Visit {
  readonly url: string;
  readonly cookie: string;
  readonly before: string;
  readonly to: string;
}

/** Nothing is cached, and the processor is four times as slow. */
const paintOf = async (context: BrowserContext, { url, before, to }: Visit): Promise<number> => {
  const page = await context.newPage();
  try {
    const session = await context.newCDPSession(page);
    await page.goto(`${url}${before}`);
    await session.send('Network.setCacheDisabled', { cacheDisabled: true });
    await session.send('Emulation.setCPUThrottlingRate', { rate: 4 });
    await page.goto(`${url}${to}`);
    return Number(await page.evaluate(painted));
  } finally {
    await page.close();
  }
};

const turns = 9;

const medianOf = (times: readonly number[]): number =>
  times.toSorted((a, b) => a - b)[Math.floor(times.length / 2)] ?? 0;

/** The median first contentful paint of each visit, in milliseconds: they take turns. */
export const paintsOf = async (program: string, visits: readonly Visit[]): Promise<readonly number[]> => {
  const browser = await startBrowser(program);
  try {
    const all = await Promise.all(
      visits.map(async (visit) => {
        const context = await browser.newContext();
        const [name = '', value = ''] = visit.cookie.split('=');
        await context.addCookies([{ name, value, url: visit.url }]);
        const times: number[] = [];
        return { visit, context, times };
      }),
    );
    for (let turn = 0; turn < turns; turn += 1)
      for (const { visit, context, times } of all) times.push(await paintOf(context, visit));
    return all.map(({ times }) => medianOf(times));
  } finally {
    await browser.close();
  }
};
