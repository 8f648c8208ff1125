import { expect } from 'chai';
import type { BrowserContext, BrowserContextOptions, Page } from 'playwright-core';
import { describeInBrowser } from '../../support/http/browser.js';
import { keys, startHttp, type TestService } from '../../support/http/http.js';
import { newTraces, testRoutes } from '../../support/http/http-routes.js';
import { looking } from '../../support/http/watched.js';

describeInBrowser('the documentation in a browser', (browser) => {
  let service: TestService;
  before(async () => {
    service = await startHttp(testRoutes(newTraces()));
  });
  after(() => service.close());

  /** Lets somebody read; no page may complain, or ask another host for something. */
  const read = (
    options: BrowserContextOptions,
    test: (page: Page, context: BrowserContext) => Promise<void>,
    excused: RegExp | null = null,
  ): Promise<void> =>
    looking(
      browser(),
      { baseUrl: service.base, options },
      async (context) => test(await context.newPage(), context),
      excused,
    );
  const open = (page: Page, path: string) => page.goto(`${service.base}${path}`);
  const wide = { viewport: { width: 1280, height: 900 } };

  it('is read without scripts on a telephone: contents, the next page, a search, another language', async () => {
    const telephone = { javaScriptEnabled: false, viewport: { width: 360, height: 800 } };
    await read(telephone, async (page) => {
      await open(page, '/docs/quick-start');
      await page.getByRole('button', { name: 'Menu' }).click();
      await page.getByRole('link', { name: 'Idempotency and retries' }).first().click();
      await page.waitForURL('**/docs/idempotency');
      await page.getByRole('link', { name: 'Next Cards and their life' }).click();
      await page.waitForURL('**/docs/cards');
      await page.getByRole('searchbox').fill('sendCard About');
      await page.getByRole('searchbox').press('Enter');
      await page.getByRole('link', { name: 'About sendCard' }).click();
      await page.waitForURL('**/docs/reference/cards#sendCard');
      const samples = page.locator('#sendCard .languages');
      await samples.getByText('curl -X', { exact: false }).or(samples.getByText('curl')).first().waitFor();
      await samples.locator('label', { hasText: 'Python' }).click();
      await samples.locator('.in-python').waitFor({ state: 'visible' });
      expect(await samples.locator('.in-curl').isVisible()).to.equal(false);
    });
  });

  it('finds while a word is typed, and is searched by keyboard alone', async () => {
    await read(wide, async (page) => {
      await open(page, '/docs');
      await page.keyboard.press('/');
      await page.keyboard.type('idempot');
      await page.locator('#found a[href="/docs/idempotency"]').waitFor();
      await page.keyboard.press('ArrowDown');
      await page.keyboard.press('Enter');
      await page.waitForURL('**/docs/idempotency');
    });
  });

  it('marks the page and the part that is read', async () => {
    await read(wide, async (page) => {
      await page.setViewportSize({ width: 1500, height: 700 });
      await open(page, '/docs/quick-start#contact');
      await page.locator('.toc a[href="#contact"][aria-current="location"]').waitFor();
      expect(await page.locator('.side [aria-current="page"]').textContent()).to.equal('Quick start');
    });
  });

  it('copies a sample to the clipboard', async () => {
    await read(wide, async (page, context) => {
      await context.grantPermissions(['clipboard-read', 'clipboard-write']);
      await open(page, '/docs/quick-start');
      const sample = page.locator('#first-card pre').first();
      await page.locator('#first-card .copy').first().click();
      await page.locator('#first-card .copy', { hasText: 'Copied' }).waitFor();
      expect(await page.evaluate('navigator.clipboard.readText()')).to.equal(await sample.textContent());
    });
  });

  it('copies a page as Markdown, and leads there without a script', async () => {
    await read(wide, async (page, context) => {
      await context.grantPermissions(['clipboard-read', 'clipboard-write']);
      await open(page, '/docs/quick-start');
      await page.getByRole('link', { name: 'Copy as Markdown' }).click();
      await page.getByRole('link', { name: 'Copied' }).waitFor();
      expect(await page.evaluate('navigator.clipboard.readText()')).to.match(/^# Quick start\n\n/);
    });
    const follow = async (page: Page): Promise<void> => {
      await open(page, '/docs/quick-start');
      await page.getByRole('link', { name: 'Markdown', exact: true }).click();
      await page.waitForURL('**/docs/quick-start.md');
    };
    // What is text alone names no icon, so the browser asks for one.
    await read({ ...wide, javaScriptEnabled: false }, follow, /Failed to load resource.*404/);
  });

  it('shows every sample in the language that was chosen for one, on the next page too', async () => {
    await read(wide, async (page) => {
      await open(page, '/docs/reference/cards');
      await page.locator('#sendCard .languages label', { hasText: 'Node' }).click();
      await page.locator('#listCards .in-node').waitFor({ state: 'visible' });
      await open(page, '/docs/reference/account');
      await page.locator('#getAccount .in-node').waitFor({ state: 'visible' });
    });
  });

  it('sends a call with the key, and shows the response as text', async () => {
    await read(wide, async (page) => {
      await open(page, '/docs/reference/cards');
      const section = page.locator('#getCard');
      await section.locator('.try summary').click();
      await page.fill('#key', ` ${keys.all} `);
      await section.locator('[data-name="code"]').fill('<b>/ü');
      await section.getByRole('button', { name: 'Send GET' }).click();
      await section.locator('.response pre').waitFor();
      expect(await section.locator('.response p').textContent()).to.match(/^200 OK, request req_/);
      expect(JSON.parse((await section.locator('.response pre').textContent()) ?? '')).to.deep.equal({
        echo: { code: '<b>/ü' },
      });
      expect(await section.locator('.response b').count()).to.equal(0);
    });
  });

  it('sends a request body, and shows a refusal', async () => {
    const refused = /422/;
    await read(
      wide,
      async (page) => {
        await open(page, '/docs/reference/cards');
        const section = page.locator('#sendCard');
        await section.locator('.try summary').click();
        await page.fill('#key', keys.all);
        expect(JSON.parse(await section.locator('textarea').inputValue())).to.have.keys(
          'recipient',
          'message',
        );
        await section.locator('textarea').fill('{"message": 1}');
        await section.getByRole('button', { name: 'Send POST' }).click();
        await section.locator('.response pre').waitFor();
        expect(await section.locator('.response p').textContent()).to.match(/^422 /);
        expect(await section.locator('.response pre').textContent()).to.include(
          '"code": "invalid_recipient"',
        );
      },
      refused,
    );
  });

  it('does not store the key', async () => {
    await read(wide, async (page) => {
      await open(page, '/docs/reference/cards');
      await page.fill('#key', keys.all);
      await page.reload();
      const kept = await page.evaluate(
        '[...Object.values(localStorage), ...Object.values(sessionStorage), document.cookie, location.href].join(" ")',
      );
      expect(kept).not.to.include('hck_');
    });
  });
});
