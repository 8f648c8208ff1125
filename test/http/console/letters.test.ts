import { expect } from 'chai';
import type { Locator } from 'playwright-core';
import { firstHandwritings } from '../../../domain/catalogue.js';
import { layOut, panel } from '../../../domain/letter-layout.js';
import { describeInBrowser } from '../../support/http/browser.js';
import { aCard, startTestService, type RunningService, type Tenant } from '../../support/http/service.js';
import { memberOf, type Visitor } from '../../support/http/visitor.js';
import { sampleOf } from '../../support/runner/effort.js';

const words =
  'Dear Ada thank you so much for everything, it was wonderful — naïve Zoë “and” you’re a hero… 100% & €20; AVA To. Wfi ffl'.split(
    ' ',
  );

/** Numbers that are the same in every run. */
const drawn = (): (() => number) => {
  let seed = 7;
  return () => {
    seed = (seed * 1_103_515_245 + 12_345) % 2_147_483_648;
    return seed / 2_147_483_648;
  };
};

const messages = (count: number): readonly string[] => {
  const next = drawn();
  return Array.from({ length: count }, () => {
    const parts = Array.from({ length: 3 + Math.floor(next() * 70) }, () => {
      const word = words[Math.floor(next() * words.length)] ?? '';
      return `${word}${next() < 0.05 ? '\n' : ' '}`;
    });
    return parts.join('').slice(0, 500).trim();
  });
};

/** Breaks lines as the layout says, by widths that the browser measures. */
const measure = `(({ hand, messages, width, room, sizes }) => {
  const svg = document.createElementNS('http://www.w3.org/2000/svg', 'svg');
  svg.setAttribute('class', 'sheet ' + hand.toLowerCase());
  const group = svg.appendChild(document.createElementNS(svg.namespaceURI, 'g'));
  const text = group.appendChild(document.createElementNS(svg.namespaceURI, 'text'));
  document.body.append(svg);
  text.setAttribute('font-size', '1000');
  text.setAttributeNS('http://www.w3.org/XML/1998/namespace', 'xml:space', 'preserve');
  const known = new Map();
  const widthOf = (part) => {
    if (!known.has(part)) { text.textContent = part; known.set(part, text.getComputedTextLength() / 1000); }
    return known.get(part);
  };
  const broken = (message, size) => message.split('\\n').flatMap((paragraph) => {
    const lines = [''];
    for (const word of paragraph.split(' ').filter((part) => part !== '')) {
      const longer = lines.at(-1) === '' ? word : lines.at(-1) + ' ' + word;
      if (widthOf(longer) * size <= width || lines.at(-1) === '') lines[lines.length - 1] = longer;
      else lines.push(word);
    }
    return lines;
  });
  return messages.map((message) => {
    for (const size of sizes) {
      const lines = broken(message, size);
      if (lines.length <= room[size] || size === sizes.at(-1)) return { lines, size, fits: lines.length <= room[size] };
    }
  });
})`;

const isAscending = (numbers: readonly number[]): boolean =>
  numbers.every((number, at) => number >= (numbers[at - 1] ?? number));

describeInBrowser('letters in a browser', (browser) => {
  let service: RunningService;
  let tenant: Tenant;
  let owner: Visitor;

  before(async function () {
    this.timeout(60_000);
    service = await startTestService();
    tenant = await service.tenant();
    owner = await memberOf(service, tenant.org, 'owner');
  });
  after(() => service.stop());

  const pageAs = async ({ cookie }: Visitor) => {
    const context = await browser().newContext();
    const [name = '', value = ''] = cookie?.split('=') ?? [];
    await context.addCookies([{ name, value, url: service.baseUrl }]);
    return context.newPage();
  };

  it('break where the layout breaks them: 1,000 messages in each of six hands', async function () {
    this.timeout(120_000);
    const page = await pageAs(owner);
    await page.goto(`${service.baseUrl}/console/${tenant.org}/settings`);
    await page.evaluate('document.fonts.ready');
    const all = messages(1_000);
    const sizes = Array.from({ length: 11 }, (_, at) => 24 - at);
    const room = Object.fromEntries(sizes.map((size) => [size, Math.floor(panel.height / (1.3 * size))]));
    for (const hand of sampleOf(firstHandwritings, 2)) {
      await page.evaluate(`document.fonts.load('24px ${hand.toLowerCase()}', 'Aē')`);
      const given = JSON.stringify({ hand, messages: all, width: panel.width, room, sizes });
      const found = await page.evaluate<readonly object[]>(`${measure}(${given})`);
      const ours = all.map((message) => {
        const { lines, size, fits } = layOut(message, hand);
        return { lines, size, fits };
      });
      for (const [at, layout] of ours.entries())
        expect(found[at], `${hand}, message ${at}`).to.deep.equal(layout);
    }
    await page.context().close();
  });

  /** The boxes of a front, an inside and an envelope, which are as large as they are beside each other. */
  const trueSizes = async (parts: Locator) => {
    const boxes = await Promise.all((await parts.all()).map((part) => part.boundingBox()));
    const inches = (boxes[0]?.width ?? 0) / 5;
    expect(inches).to.be.above(35);
    expect(
      boxes.map((box) => [box?.width, box?.height].map((size = 0) => Math.round((size / inches) * 4) / 4)),
    ).to.deep.equal([
      [5, 7],
      [5, 7],
      [7.25, 5.25],
    ]);
    return boxes;
  };

  it('are shown while a message is typed, and need no script', async () => {
    const page = await pageAs(owner);
    const complaints: string[] = [];
    page.on('console', (message) => complaints.push(message.text()));
    page.on('pageerror', (error) => complaints.push(error.message));
    await page.goto(`${service.baseUrl}/console/${tenant.org}/cards/new`);
    await page.getByLabel('Message').fill('Thank you, Ada.');
    await page.locator('#preview svg text').getByText('Thank you, Ada.').waitFor();
    await page.getByText('15 of 500 characters').waitFor();
    await trueSizes(page.locator('#preview .piece > section > :is(img, svg, .cover)'));
    expect(complaints).to.deep.equal([]);
    await page.context().close();
  });

  it('are shown between the front and the envelope in the same hand, all as large as they are on a table', async () => {
    const { recipient } = aCard() as { readonly recipient: object };
    const name = 'Ada Augusta King, Countess of Lovelace';
    const line1 = 'The Second House of the Analytical Engines on M Wy';
    const { id } = await tenant.api('/api/v1/cards', {
      body: aCard({
        design_id: 'card:welcome-home',
        handwriting: 'Architect',
        recipient: { ...recipient, name, line1 },
      }),
    });
    const page = await pageAs(owner);
    for (const width of [1280, 700, 390]) {
      await page.setViewportSize({ width, height: 800 });
      await page.goto(`${service.baseUrl}/cards/${id}`);
      await page.evaluate('document.fonts.ready');
      const parts = page.locator('.piece > section > :is(img, svg)');
      const boxes = await trueSizes(parts);
      const paper = boxes[2] ?? { x: 0, width: 0 };
      const lines = await page.locator('.piece svg.architect').last().locator('text').all();
      expect(await Promise.all(lines.map((line) => line.textContent()))).to.include.members([name, line1]);
      for (const line of lines) {
        const { x = 0, width: wide = 0 } = (await line.boundingBox()) ?? {};
        expect([paper.x, x, x + wide, paper.x + paper.width]).to.satisfy(isAscending);
      }
    }
    await page.context().close();
  });
});
