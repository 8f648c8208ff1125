import { existsSync } from 'node:fs';
import { delimiter, join } from 'node:path';
import { chromium, type Browser } from 'playwright-core';
import { marker } from '../runner/engines.js';

const names = ['chromium', 'chromium-browser', 'google-chrome', 'google-chrome-stable', 'chrome'];

/** `IMAGES=write npm test -- test/http/console/images.test.ts` takes the images of the documentation anew. */
export const isTakingImages = process.env['IMAGES'] === 'write';

/** The browser's program: the one in CHROMIUM, else the first on the PATH, else null. */
export const browserProgram = (): string | null => {
  const named = process.env['CHROMIUM'] ?? '';
  if (named !== '') return named;
  const folders = (process.env['PATH'] ?? '').split(delimiter).filter((folder) => folder !== '');
  return (
    folders.flatMap((folder) => names.map((name) => join(folder, name))).find((path) => existsSync(path)) ??
    null
  );
};

export const startBrowser = (program: string): Promise<Browser> =>
  chromium.launch({ executablePath: program, args: ['--no-sandbox'] });

/**
 * A suite in a headless browser, skipped if none is installed. `open` returns the browser, inside hooks and
 * tests only.
 */
export const describeInBrowser = (title: string, body: (open: () => Browser) => void): void => {
  const program = browserProgram();
  if (program === null) {
    describe.skip(`${title} ${marker(['CHROMIUM'])}`, () => it('has a browser', () => undefined));
    return;
  }
  describe(title, () => {
    let browser: Browser | null = null;
    before(async () => {
      browser = await startBrowser(program);
    });
    after(async () => {
      await browser?.close();
    });
    body(() => {
      if (browser === null) throw new Error('the browser is open inside tests only');
      return browser;
    });
  });
};
