import { expect } from 'chai';
import { expectNoFault } from '../../support/http/accessibility.js';
import { describeInBrowser } from '../../support/http/browser.js';
import { startTestService, type RunningService } from '../../support/http/service.js';
import { looking } from '../../support/http/watched.js';
import { drawn, sampleOf } from '../../support/runner/effort.js';

/** Every page of the documentation of a whole service, found by its links. */
const pagesOf = async ({ baseUrl }: RunningService): Promise<readonly string[]> => {
  const found = new Set<string>();
  const left = ['/docs', '/docs/search?q=card'];
  for (let path = left.pop(); path !== undefined; path = left.pop()) {
    if (found.has(path) || path.endsWith('.md')) continue;
    found.add(path);
    const text = await (await fetch(baseUrl + path)).text();
    left.push(...[...text.matchAll(/<a [^>]*href="(\/docs[^"#]*)/g)].map(([, link = '']) => link));
  }
  return [...found];
};

/** The pages that are written by hand, and some of those that are made from descriptions in one way. */
const ofEachKind = (pages: readonly string[], colorScheme: string): readonly string[] =>
  ['/docs/errors/', '/docs/operator/', '/docs/reference/', ''].flatMap((start, at, starts) => {
    const alike = pages.filter((path) => starts.find((each) => path.startsWith(each)) === start);
    return start === '' ? alike : drawn(alike, 3, { of: `${colorScheme} ${at}` });
  });

describeInBrowser('every page of the documentation', (browser) => {
  let service: RunningService;
  let pages: readonly string[];
  before(async function () {
    this.timeout(60_000);
    service = await startTestService();
    pages = await pagesOf(service);
    expect(pages.length).to.be.above(70);
  });
  after(() => service.stop());

  for (const colorScheme of ['light', 'dark'] as const)
    it(`has no accessibility fault: ${colorScheme}`, async function () {
      this.timeout(900_000);
      await looking(browser(), { baseUrl: service.baseUrl, options: { colorScheme } }, async (context) => {
        const page = await context.newPage();
        const session = await context.newCDPSession(page);
        const isDark = colorScheme === 'dark';
        for (const path of sampleOf(ofEachKind(pages, colorScheme), 4, { of: colorScheme, thoroughly: 12 })) {
          await page.setViewportSize({ width: 1280, height: 900 });
          await page.goto(service.baseUrl + path);
          await expectNoFault(page, session, {
            isDark,
            address: path,
            widths: isDark ? [1280] : [1280, 320],
          });
        }
      });
    });

  it('has nothing beside the screen, from the smallest telephone on, without scripts', async function () {
    this.timeout(300_000);
    await looking(
      browser(),
      { baseUrl: service.baseUrl, options: { javaScriptEnabled: false } },
      async (context) => {
        const page = await context.newPage();
        const session = await context.newCDPSession(page);
        for (const path of sampleOf(pages, 8, { of: 'width', thoroughly: 32 })) {
          await page.goto(service.baseUrl + path);
          for (const width of [320, 360, 640, 1280]) {
            await page.setViewportSize({ width, height: 800 });
            const { cssContentSize } = await session.send('Page.getLayoutMetrics');
            expect(cssContentSize.width, `${path} at ${width}`).to.be.at.most(width);
          }
        }
      },
    );
  });
});
