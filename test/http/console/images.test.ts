import { expect } from 'chai';
import { existsSync, mkdirSync, readFileSync, statSync } from 'node:fs';
import { describeInBrowser, isTakingImages } from '../../support/http/browser.js';
import { startLively, type Lively } from '../../support/http/lively.js';
import { looking } from '../../support/http/watched.js';
import { read } from '../../support/runner/repository.js';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';

/** An image of a page in the documentation, and what its page must show for it to be true. */
interface Image {
  readonly scheme: 'light' | 'dark';
  readonly size: readonly [width: number, height: number];
  readonly at: (lively: Lively) => string;
  readonly shows: readonly string[];
}

const home = ({ tenant }: Lively): string => `/console/${tenant.org}`;
const card = ({ cards }: Lively): string => `/cards/${cards.atWork}`;
const ofHome = ['credits', 'Needs attention', 'Held', 'Latest cards'];
const ofCard = ['Production', 'Envelope', 'Inside', 'History', 'Details', 'at work'];

/** By their names in docs/images. */
const images: Readonly<Record<string, Image>> = {
  'console-home': { scheme: 'light', size: [1280, 860], at: home, shows: ofHome },
  'console-home-dark': { scheme: 'dark', size: [1280, 860], at: home, shows: ofHome },
  'console-card': { scheme: 'light', size: [1280, 1040], at: card, shows: ofCard },
  'console-card-phone': { scheme: 'dark', size: [360, 800], at: card, shows: ofCard },
  'console-keys': {
    scheme: 'light',
    size: [1280, 800],
    at: ({ tenant }) => `/console/${tenant.org}/keys`,
    shows: ['Integrations', 'Keys'],
  },
  'console-deliveries': {
    scheme: 'light',
    size: [1280, 860],
    at: ({ tenant }) => `/console/${tenant.org}/deliveries`,
    shows: ['Integrations', 'Deliveries', 'Delivered', 'CRM'],
  },
  'console-hook': {
    scheme: 'light',
    size: [1280, 1040],
    at: ({ tenant, hook }) => `/console/${tenant.org}/hooks/${hook}`,
    shows: ['Template', 'Dear {{first_name}}'],
  },
};

const largest = 200 * 1024;
const folder = fileURLToPath(new URL('../../../../docs/images', import.meta.url));
const placeOf = (name: string): string => join(folder, `${name}.png`);

describeInBrowser('the images of the console', (browser) => {
  let lively: Lively;
  before(async function () {
    this.timeout(120_000);
    lively = await startLively();
    if (!isTakingImages) return;
    mkdirSync(folder, { recursive: true });
    for (const [name, { scheme, size, at }] of Object.entries(images)) {
      const [width, height] = size;
      const options = { colorScheme: scheme, viewport: { width, height } };
      const { baseUrl } = lively.service;
      await looking(browser(), { baseUrl, visitor: lively.owner, options }, async (context) => {
        const page = await context.newPage();
        await page.goto(`${baseUrl}${at(lively)}`);
        await page.screenshot({ path: placeOf(name) });
      });
    }
  });
  after(() => lively.stop());

  for (const [name, { at, shows, size }] of Object.entries(images))
    it(`are small, named in the documentation, and of a page that is still like this: ${name}`, async () => {
      expect(existsSync(placeOf(name)), 'take it with IMAGES=write').to.equal(true);
      expect(statSync(placeOf(name)).size).to.be.below(largest);
      // The width and the height of a PNG are at a fixed place.
      const bytes = readFileSync(placeOf(name));
      expect([bytes.readUInt32BE(16), bytes.readUInt32BE(20)]).to.deep.equal(size);
      expect(read('docs/console.md')).to.include(`images/${name}.png`);
      const { text } = await lively.owner.get(at(lively));
      for (const shown of shows) expect(text).to.include(shown);
    });

  it('have one in the README', () => {
    expect(read('README.md')).to.include('docs/images/console-home.png');
  });
});
