import axe from 'axe-core';
import { expect } from 'chai';
import type { CDPSession, Page } from 'playwright-core';

interface Looked {
  readonly isDark: boolean;
  readonly address: string;
  readonly widths?: readonly number[];
}

/**
 * Expects no accessibility fault on the page that is open, wide and narrow, with everything unfolded. In the
 * dark nothing differs but colours.
 */
export const expectNoFault = async (
  page: Page,
  session: CDPSession,
  { isDark, address, widths = [1280, 360] }: Looked,
): Promise<void> => {
  const rules = isDark ? `{ runOnly: ['color-contrast'] }` : '';
  // The policy of the page forbids scripts from elsewhere; the debugger may still run one.
  await session.send('Runtime.evaluate', { expression: axe.source });
  for (const width of widths) {
    await page.setViewportSize({ width, height: 800 });
    const found = await session.send('Runtime.evaluate', {
      expression: `document.querySelectorAll('details').forEach((each) => { each.open = true; });
        axe.run(${rules}).then(({ violations }) => JSON.stringify(violations.map(({ id, nodes }) => [id, nodes[0].html])))`,
      awaitPromise: true,
    });
    expect(String(found.result.value), `${address} ${width}`).to.equal('[]');
  }
};
