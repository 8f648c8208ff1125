import { expect } from 'chai';
import type { BrowserContext, BrowserContextOptions, Page } from 'playwright-core';
import sharp from 'sharp';
import { redAndBlue } from '../../support/artwork/upload.js';
import { expectNoFault } from '../../support/http/accessibility.js';
import { describeInBrowser } from '../../support/http/browser.js';
import { keyboardOn } from '../../support/http/hands.js';
import { mayLook, placesOf, type Place } from '../../support/http/console-pages.js';
import { startLively, type Lively } from '../../support/http/lively.js';
import { aCard } from '../../support/http/service.js';
import { memberOf, operatorOf, password, type Visitor } from '../../support/http/visitor.js';
import { printedPages } from '../../support/http/printed.js';
import { looking } from '../../support/http/watched.js';
import { eventually } from '../../support/time/eventually.js';
import { sampleOf } from '../../support/runner/effort.js';

describeInBrowser('the console in a browser', (browser) => {
  let lively: Lively;
  let operator: Visitor;
  let places: readonly Place[];

  before(async function () {
    this.timeout(120_000);
    lively = await startLively();
    operator = await operatorOf(lively.service);
    places = (await placesOf(lively)).filter(
      ({ address, page }) => address !== '/console' && page.file === undefined,
    );
  });
  after(() => lively.stop());

  /** Lets somebody look at the pages; none of them may complain. */
  const look = (
    visitor: Visitor | null,
    options: BrowserContextOptions,
    test: (page: Page, context: BrowserContext) => Promise<void>,
    excused: RegExp | null = null,
  ): Promise<void> => {
    const { baseUrl } = lively.service;
    const looked = { baseUrl, options, ...(visitor !== null && { visitor }) };
    return looking(browser(), looked, async (context) => test(await context.newPage(), context), excused);
  };

  /** Signs in whoever may see a page: an owner if one may. */
  const asWhoMay = async (place: Place, context: BrowserContext, owner: Visitor): Promise<void> => {
    const { cookie } = mayLook('owner', place) ? owner : operator;
    const [name = '', value = ''] = cookie?.split('=') ?? [];
    await context.addCookies([{ name, value, url: lively.service.baseUrl }]);
  };

  const open = (page: Page, path: string) => page.goto(`${lively.service.baseUrl}${path}`);

  const aPending = async (): Promise<string> =>
    (await lively.tenant.api('/api/v1/cards', { body: aCard({ arrive_on: '2026-06-10' }) })).id;

  /** What moves on a page, for people who asked for less of it. */
  const moving = (page: Page) =>
    page.evaluate<readonly string[]>(
      `[...document.querySelectorAll('*')].filter((each) => {
        const { transitionDuration, animationName } = getComputedStyle(each);
        return parseFloat(transitionDuration) > 0.01 || animationName !== 'none';
      }).map(({ outerHTML }) => outerHTML.slice(0, 80))`,
    );

  /** What a table has beside the screen. */
  const cutOff = (page: Page) =>
    page.evaluate<readonly string[]>(
      `[...document.querySelectorAll('.scroll')].filter(({ scrollWidth, clientWidth }) => scrollWidth > clientWidth)
        .map(({ ariaLabel }) => ariaLabel)`,
    );

  for (const colorScheme of ['light', 'dark'] as const)
    it(`has no accessibility fault on any page, unfolded, wide and narrow, and stands still for who asked for it: ${colorScheme}`, async function () {
      this.timeout(240_000);
      await look(null, { colorScheme, reducedMotion: 'reduce' }, async (page, context) => {
        const session = await context.newCDPSession(page);
        const isDark = colorScheme === 'dark';
        for (const place of sampleOf(places, 8, { of: colorScheme, thoroughly: 24 })) {
          const { address } = place;
          await asWhoMay(place, context, lively.owner);
          await page.setViewportSize({ width: 1280, height: 800 });
          await open(page, address);
          expect(await moving(page), address).to.deep.equal([]);
          await expectNoFault(page, session, { isDark, address });
        }
      });
    });

  it('has nothing beside the screen, from a telephone on, at twice the size, and whatever customers wrote', async function () {
    this.timeout(120_000);
    const long = 'x'.repeat(200);
    const hostile = '\u202E"><img src=x onerror=alert(1)></script>';
    const recipient = { name: `${hostile} ${long}`.slice(0, 60), line1: long.slice(0, 60) };
    const { id } = await lively.tenant.api('/api/v1/cards', {
      body: aCard({
        recipient: { ...recipient, city: long.slice(0, 40), state: 'IL', zip: '62701' },
        message: `${hostile} ${long}`,
        reference: long.slice(0, 40),
      }),
    });
    const office = `/operator/v1/organizations/${lively.tenant.org}`;
    await lively.service.operator(office, { method: 'PATCH', body: { name: long.slice(0, 100) } });
    await lively.service.operator(`${office}/keys`, {
      body: { label: long.slice(0, 60), scopes: ['cards:read'] },
    });
    await lively.service.operator(`${office}/designs`, { body: { name: long.slice(0, 60) } });
    await lively.service.operator(`${office}/hooks/${lively.hook}`, {
      method: 'PATCH',
      body: { label: long.slice(0, 60), signed_by: long.slice(0, 40), template: `${hostile} ${long}` },
    });
    await lively.tenant.api(`/api/v1/webhooks/${lively.endpoints.failing}`, {
      method: 'PATCH',
      body: { description: long.slice(0, 60) },
    });
    const person = await memberOf(
      lively.service,
      lively.tenant.org,
      'owner',
      'x@acme.example',
      long.slice(0, 100),
    );
    await look(null, { javaScriptEnabled: false }, async (page, context) => {
      const session = await context.newCDPSession(page);
      const more = places.slice(0, 1).map((any) => ({ ...any, address: `/cards/${id}` }));
      more.push(...places.filter((any) => any.address === '/console/house'));
      for (const place of [...sampleOf(places, 12, { of: 'width', thoroughly: 32 }), ...more]) {
        const { address } = place;
        await asWhoMay(place, context, person);
        await open(page, address);
        for (const width of [320, 360, 640, 1280]) {
          await page.setViewportSize({ width, height: 800 });
          const { cssContentSize } = await session.send('Page.getLayoutMetrics');
          expect(cssContentSize.width, `${address} at ${width}`).to.be.at.most(width);
          if (width <= 640) expect(await cutOff(page), `${address} at ${width}`).to.deep.equal([]);
        }
      }
    });
    await lively.service.operator(office, { method: 'PATCH', body: { name: 'Acme' } });
  });

  it('is used without scripts: sign in, find a card by code and by reference, cancel it, sign out', async () => {
    const card = await aPending();
    const telephone = { javaScriptEnabled: false, viewport: { width: 360, height: 800 } };
    await look(null, telephone, async (page) => {
      await open(page, '/console');
      await page.getByLabel('E-mail').fill('ada@acme.example');
      await page.getByLabel('Password').fill(password);
      await page.getByRole('button', { name: 'Sign in' }).click();
      await page.getByText('credits, 1 for each card').waitFor();
      await page.getByRole('button', { name: 'Menu' }).click();
      await page.getByRole('link', { name: 'Cards', exact: true }).click();
      await page.getByLabel('Code or reference').fill('order-1042');
      await page.getByRole('button', { name: 'Find' }).click();
      await page.getByText('Grace Hopper, Arlington VA').waitFor();
      await page.getByLabel('Code or reference').fill(card.toLowerCase());
      await page.getByRole('button', { name: 'Find' }).click();
      await page.getByRole('heading', { name: 'Card for' }).waitFor();
      await page.getByText('Cancel this card').click();
      await page.getByRole('button', { name: 'Cancel the card' }).click();
      await page.getByText('Cancelled, 1 credit returned').waitFor();
      expect(new URL(page.url()).pathname).to.equal(`/cards/${card}`);
      await page.getByRole('link', { name: 'Ada Byron' }).click();
      await page.getByRole('button', { name: 'Sign out', exact: true }).click();
      await page.getByRole('heading', { name: 'Sign in' }).waitFor();
    });
  });

  it('is used by the keyboard alone: sign in, find a card by reference and by code, open one from the list, cancel it', async () => {
    const card = await aPending();
    const { held } = lively.cards;
    await look(null, {}, async (page) => {
      const { press, type, see } = keyboardOn(page);
      await open(page, '/console/sign-in');
      await page.keyboard.press('Tab');
      expect(await page.evaluate('document.activeElement.textContent')).to.match(/Skip to content/);
      await page.keyboard.press('Enter');
      await type(/^E-mail/, 'ada@acme.example');
      await type(/^Password/, password);
      await page.keyboard.press('Enter');
      await see('credits, 1 for each card');
      await press(/^Cards$/);
      await page.getByRole('heading', { name: 'Cards', exact: true }).waitFor();
      await type(/^Code or reference/, 'order-1042');
      await press(/^Find$/);
      await see('Grace Hopper, Arlington VA');
      await type(/^Code or reference/, held.toLowerCase().replace('hc-', 'HC '));
      await press(/^Find$/);
      await page.getByRole('heading', { name: 'Card for Mae Jemison' }).waitFor();
      await press(/^Cards$/);
      await press(new RegExp(`^${card}`));
      await page.getByRole('heading', { name: 'Card for' }).waitFor();
      await press(/^Cancel this card/);
      await press(/^Cancel the card/);
      await see('Cancelled, 1 credit returned');
    });
  });

  it('sends a card whose design is chosen by its picture, without scripts and by the keyboard', async () => {
    await look(lively.owner, { javaScriptEnabled: false }, async (page) => {
      await open(page, `/console/${lively.tenant.org}/cards/new`);
      const { type, press, see } = keyboardOn(page);
      for (const [label, text] of Object.entries({
        Name: 'Ada Lovelace',
        Street: '12 Analytical Way',
        City: 'Springfield',
        ZIP: '62701',
        Message: 'Thank you, Ada.',
      }))
        await type(new RegExp(`^${label}`), text);
      await page.getByLabel('State').selectOption('IL');
      await page.locator('[name=design_id]:checked').focus();
      await page.keyboard.press('ArrowDown');
      const chosen = page.getByRole('radio', { name: 'Welcome Home collection', exact: true });
      while (!(await chosen.isChecked())) await page.keyboard.press('ArrowDown');
      await press(/^Preview$/);
      await see('Ready to send');
      await page.getByAltText('Welcome Home: its picture').waitFor();
      await press(/^Send the card$/);
      await page.getByRole('heading', { name: 'Card for Ada Lovelace' }).waitFor();
      await page.getByAltText('Welcome Home: its picture').waitFor();
    });
  });

  it('previews what is typed at most once a second, and what was typed last', async () => {
    await look(lively.owner, {}, async (page) => {
      await open(page, `/console/${lively.tenant.org}/cards/new`);
      const asked: { readonly at: number; readonly message: string | null }[] = [];
      page.on('request', (request) => {
        const message = new URLSearchParams(request.postData() ?? '').get('message');
        if (request.method() === 'POST') asked.push({ at: performance.now(), message });
      });
      await page.getByLabel('Message').pressSequentially('Thanks', { delay: 350 });
      await eventually(async () => asked.at(-1)?.message === 'Thanks');
      expect(asked).to.have.length.above(1);
      for (const [index, { at }] of asked.slice(1).entries())
        expect(at - (asked[index]?.at ?? 0), `before preview ${index + 1}`).to.be.above(900);
    });
  });

  it('takes a picture and saves the design without scripts, and tells what is wrong with a drawing', async () => {
    const jpeg = await sharp(Buffer.from(await (await redAndBlue()).arrayBuffer()))
      .jpeg()
      .toBuffer();
    const uploaded = async (page: Page): Promise<void> => {
      await open(page, `/console/${lively.tenant.org}/designs/new`);
      await page.getByLabel('Name').fill('By hand');
      const upload = async (name: string, mimeType: string, buffer: Buffer): Promise<void> => {
        await page.locator('input[type=file]').setInputFiles({ name, mimeType, buffer });
        await page.getByRole('button', { name: 'Upload' }).click();
      };
      const drawing = '<svg xmlns="http://www.w3.org/2000/svg" width="9" height="9"/>';
      await upload('drawing.png', 'image/png', Buffer.from(drawing));
      await page.getByRole('alert').getByText('This SVG is a drawing').waitFor();
      expect(await page.getByLabel('Name').inputValue()).to.equal('By hand');
      await upload('ours.jpg', 'image/jpeg', jpeg);
      await page.getByText('The front, as it will be printed').waitFor();
      await page.getByRole('button', { name: 'Save the design' }).click();
      await page.getByAltText('By hand: its picture').waitFor();
    };
    await look(lively.owner, { javaScriptEnabled: false }, uploaded, /status of 422/);
  });

  it('takes a picture that is dropped, shows how it is uploaded, and what is wrong with it', async () => {
    const drop = async (page: Page, name: string, bytes: Buffer): Promise<void> => {
      const carried = await page.evaluateHandle(
        `(() => {
          const carried = new DataTransfer();
          const bytes = Uint8Array.from(atob('${bytes.toString('base64')}'), (byte) => byte.charCodeAt(0));
          carried.items.add(new File([bytes], '${name}'));
          return carried;
        })()`,
      );
      await page.dispatchEvent('form.form', 'drop', { dataTransfer: carried });
    };
    const uploaded = async (page: Page): Promise<void> => {
      const address = `/console/${lively.tenant.org}/designs/new`;
      await open(page, address);
      await page.getByText('Or drop it here.').waitFor();
      await page.getByLabel('Name').fill('Dropped');
      await drop(page, 'text.png', Buffer.from('no picture'));
      await page.getByRole('button', { name: 'Upload' }).click();
      await page.getByRole('alert').getByText('no PNG, JPEG or WebP picture').waitFor();
      expect(await page.evaluate('document.activeElement.getAttribute("role")')).to.equal('alert');
      expect(await page.getByLabel('Name').inputValue()).to.equal('Dropped');
      await drop(page, 'ours.png', Buffer.from(await (await redAndBlue()).arrayBuffer()));
      await page.route(`**${address}`, async (route) => {
        await page.getByRole('progressbar', { name: 'Uploaded' }).waitFor();
        await route.continue();
      });
      await page.getByRole('button', { name: 'Upload' }).click();
      await page.getByText('The front, as it will be printed').waitFor();
      expect(new URL(page.url()).pathname).to.match(/\/designs\/new\/[0-9a-f-]{36}$/);
    };
    await look(lively.owner, {}, uploaded, /status of 422/);
  });

  it('shows what happens to a card while it is looked at, and copies its code', async () => {
    const card = await aPending();
    const permissions = ['clipboard-read', 'clipboard-write'];
    await look(lively.owner, { permissions }, async (page) => {
      await open(page, `/cards/${card}`);
      await page.locator('.facts').getByRole('button', { name: 'Copy' }).click();
      await page.getByText('Copied').waitFor();
      const refresh = page.waitForRequest((request) => 'x-refresh' in request.headers());
      expect(await page.evaluate('navigator.clipboard.readText()')).to.equal(card);
      await lively.service.operator(`/operator/v1/cards/${card}/queue`, { method: 'POST' });
      await lively.service.operator(`/operator/v1/cards/${card}/hold`, { body: { reason: 'A smudge' } });
      await page.getByText('Held, not charged. A smudge').waitFor();
      await refresh;
      await page.getByText('Queued for production').waitFor();
      expect(await page.locator('#status').textContent()).to.equal('Held');
      expect(await page.locator('#cancelling').textContent()).to.include('Nothing was charged.');
    });
  });

  it('keeps what is shown, and tries again, while the service can’t be reached', async () => {
    const card = await aPending();
    const watched = async (page: Page): Promise<void> => {
      await open(page, `/cards/${card}`);
      let refused = 0;
      await page.route(`**/cards/${card}`, (route) => {
        refused += 1;
        return route.abort();
      });
      await eventually(() => refused > 0);
      expect(await page.locator('#status').textContent()).to.equal('Pending');
      await page.unroute(`**/cards/${card}`);
      await lively.service.operator(`/operator/v1/cards/${card}/queue`, { method: 'POST' });
      await page.getByText('Queued for production').waitFor();
    };
    await look(lively.owner, {}, watched, /net::ERR_FAILED/);
  });

  it('prints the order page and the statement without what is around them', async () => {
    const { tenant, cards } = lively;
    const printed = {
      [`/cards/${cards.pending}`]: ['Card for', 'Inside', cards.pending],
      [`/console/${tenant.org}/credits`]: ['Credits', `Spent: ${cards.pending}`],
    };
    const unspaced = (text: string): string => text.replaceAll(' ', '');
    await look(lively.owner, {}, async (page) => {
      for (const [address, shown] of Object.entries(printed)) {
        await open(page, address);
        const text = printedPages(await page.pdf())
          .map((each) => each.text)
          .join('');
        for (const words of shown) expect(text, address).to.include(unspaced(words));
        for (const around of [
          'Handwritten Cards',
          'Ada Byron▾',
          'Integrations',
          'Request',
          'Cancel this card',
        ])
          expect(text, address).not.to.include(unspaced(around));
      }
    });
  });
});
