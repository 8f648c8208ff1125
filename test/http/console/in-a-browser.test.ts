import axe from 'axe-core';
import { expect } from 'chai';
import type { BrowserContext, Page } from 'playwright-core';
import { describeInBrowser } from '../../support/http/browser.js';
import { aCard, startTestService, type RunningService, type Tenant } from '../../support/http/service.js';
import { receiverSettings } from '../../support/http/receiver.js';
import { makeUndelivered, type Undelivered } from '../../support/http/undelivered.js';

describeInBrowser('the console in a browser', (browser) => {
  let service: RunningService;
  let tenant: Tenant;
  let card: string;
  let hook: string;
  let undelivered: Undelivered;

  before(async () => {
    service = await startTestService(receiverSettings);
    tenant = await service.tenant();
    undelivered = await makeUndelivered(tenant);
    const send = async (changes: object): Promise<string> =>
      (await tenant.api('/api/v1/cards', { body: aCard(changes) })).id;
    await send({ message: 'Thank you 🎉' });
    await send({ reference: 'a-reference-that-is-as-long-as-can-be-40' });
    const office = `/operator/v1/organizations/${tenant.org}`;
    hook = (await service.operator(`${office}/hooks`, { body: { label: 'Shop', template: 'Dear {{nick}}' } }))
      .id;
    card = await send({ message: 'Dear Ada,\nthank you for everything.' });
  });
  after(() => service.stop());

  /** A browser without scripts in which somebody has entered as the operator. */
  const enter = async (context: BrowserContext): Promise<Page> => {
    const { body } = await service.operator('/operator/v1/console-links', { method: 'POST' });
    const page = await context.newPage();
    await page.goto(String(body['url']));
    await page.getByRole('button', { name: 'Open as operator' }).click();
    return page;
  };

  const paths = (): readonly string[] => [
    '/console/sign-in',
    '/console/choose',
    '/console/me',
    `/console/${tenant.org}`,
    `/console/${tenant.org}/cards`,
    `/console/${tenant.org}/keys`,
    `/console/${tenant.org}/hooks`,
    `/console/${tenant.org}/hooks/${hook}`,
    `/console/${tenant.org}/webhooks`,
    `/console/${tenant.org}/webhooks/${undelivered.endpoint}`,
    `/console/${tenant.org}/deliveries`,
    `/console/${tenant.org}/deliveries/${undelivered.delivery}`,
    `/cards/${card}`,
  ];

  it('is used without scripts: enter, find a card by its code, cancel it, sign out', async () => {
    const context = await browser().newContext({ javaScriptEnabled: false });
    const page = await enter(context);
    await page.getByRole('link', { name: 'Cards', exact: true }).click();
    await page.getByLabel('Code or reference').fill(card.toLowerCase());
    await page.getByRole('button', { name: 'Find' }).click();
    await page.getByRole('link', { name: `Open ${card}` }).click();
    await page.getByText('Cancel this card').click();
    await page.getByRole('button', { name: 'Cancel the card' }).click();
    await page.getByText('Cancelled, 1 credit returned').waitFor();
    expect(new URL(page.url()).pathname).to.equal(`/cards/${card}`);
    await page.getByRole('link', { name: 'Operator' }).click();
    await page.getByRole('button', { name: 'Sign out', exact: true }).click();
    await page.getByRole('heading', { name: 'Sign in' }).waitFor();
    await context.close();
  });

  it('makes and revokes a key, and makes, changes, tries and pauses a hook, without scripts', async () => {
    const context = await browser().newContext({ javaScriptEnabled: false });
    const page = await enter(context);
    await page.goto(`${service.baseUrl}/console/${tenant.org}`);
    await page.getByRole('link', { name: 'Integrations' }).click();
    await page.getByLabel('Label').fill('Made without scripts');
    await page.getByRole('button', { name: 'Make the key' }).click();
    await page.getByText('It is shown only now').waitFor();
    await page.getByRole('link', { name: 'I have stored it' }).click();
    await page.getByText('Revoke', { exact: true }).first().click();
    await page.getByRole('button', { name: 'Revoke for ever' }).first().click();
    await page.getByText('The key is revoked').waitFor();
    await page.getByRole('link', { name: 'Inbound hooks' }).click();
    await page.getByLabel('Label').fill('Form tool');
    await page.getByRole('button', { name: 'Make the hook' }).click();
    await page.getByRole('link', { name: 'I have stored it' }).click();
    await page.getByLabel('Template').fill('Dear {{first_name}}, welcome!');
    await page.getByRole('button', { name: 'Preview' }).click();
    await page.getByText('Dear Ada, welcome!').waitFor();
    await page.getByRole('button', { name: 'Save' }).click();
    await page.getByText('Saved, for calls from now on.').waitFor();
    await page.getByRole('button', { name: 'Pause' }).click();
    await page.getByRole('button', { name: 'Resume' }).waitFor();
    await context.close();
  });

  it('has a button that copies what is shown once, where scripts run', async () => {
    const context = await browser().newContext({ permissions: ['clipboard-read', 'clipboard-write'] });
    const page = await enter(context);
    await page.goto(`${service.baseUrl}/console/${tenant.org}/keys`);
    await page.getByRole('button', { name: 'Make the key' }).click();
    const shown = await page.locator('.secret code').textContent();
    await page.locator('.secret').getByRole('button', { name: 'Copy' }).click();
    await page.locator('.secret').getByRole('button', { name: 'Copied' }).waitFor();
    expect(await page.evaluate('navigator.clipboard.readText()')).to.equal(shown);
    await context.close();
  });

  for (const colorScheme of ['light', 'dark'] as const)
    it(`has no accessibility fault, no complaint and nothing beside the screen: ${colorScheme}`, async () => {
      const context = await browser().newContext({ colorScheme, viewport: { width: 320, height: 800 } });
      const page = await enter(context);
      const complaints: string[] = [];
      page.on('console', (message) => complaints.push(message.text()));
      page.on('request', (request) => {
        if (!/^(data:|http:\/\/127\.0\.0\.1)/.test(request.url())) complaints.push(request.url());
      });
      const session = await context.newCDPSession(page);
      for (const path of paths()) {
        await page.goto(`${service.baseUrl}${path}`);
        await session.send('Runtime.evaluate', { expression: axe.source });
        const found = await session.send('Runtime.evaluate', {
          expression:
            'axe.run().then(({ violations }) => JSON.stringify([document.documentElement.scrollWidth <= 320, violations.map(({ id, nodes }) => [id, nodes[0].html])]))',
          awaitPromise: true,
        });
        expect(JSON.parse(String(found.result.value)), path).to.deep.equal([true, []]);
      }
      expect(complaints).to.deep.equal([]);
      await context.close();
    });
});
