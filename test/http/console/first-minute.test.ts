import { expect } from 'chai';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describeInBrowser } from '../../support/http/browser.js';
import { mouseOn } from '../../support/http/hands.js';
import { looking } from '../../support/http/watched.js';
import { start, type Running } from '../../support/servers/programs.js';
import { eventually } from '../../support/time/eventually.js';

/** From the start of the process on, with what its browser takes. */
const aMinute = 60_000;

describeInBrowser('the first minute of a newcomer', (browser) => {
  let directory: string;
  let service: Running;
  let began: number;

  before(async () => {
    directory = await mkdtemp(join(tmpdir(), 'card-first-minute-'));
    began = performance.now();
    service = start('serve', [], { PORT: '0', DATA_DIR: directory });
  });
  after(async () => {
    service.kill('SIGKILL');
    await service.ended;
    await rm(directory, { recursive: true, force: true });
  });

  it('takes the printed link, one click, and a card that is sent and seen, without scripts', async function () {
    this.timeout(2 * aMinute);
    const link = await eventually(() => /^Console .*: (http\S+)$/m.exec(service.out())?.[1] ?? false, {
      what: 'the link to the console',
      within: aMinute,
    });
    const { origin } = new URL(link);
    const options = { javaScriptEnabled: false };
    await looking(browser(), { baseUrl: origin, options }, async (context) => {
      const page = await context.newPage();
      const { press, type, choose, see } = mouseOn(page);
      await page.goto(link);
      await press(/as (the|its) owner/);
      await see('credits, 1 for each card');
      await press(/^Send a card$/);
      await type(/^Name/, 'Ada Lovelace');
      await type(/^Street/, '12 Analytical Way');
      await type(/^City/, 'Springfield');
      await choose(/^State/, 'IL');
      await type(/^ZIP/, '62701');
      await type(/^Message/, 'Thank you, Ada.');
      await press(/^Send the card$/);
      await page.getByRole('heading', { name: 'Card for Ada Lovelace' }).waitFor();
      expect(new URL(page.url()).pathname).to.match(/^\/cards\/HC-/);
    });
    expect(performance.now() - began).to.be.below(aMinute);
  });
});
