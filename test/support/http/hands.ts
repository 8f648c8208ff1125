import type { Page } from 'playwright-core';

/** How somebody uses a page. */
export interface Hand {
  /** Follows a link, presses a button, or unfolds something, and waits for the page after it. */
  readonly press: (name: RegExp) => Promise<void>;
  readonly type: (label: RegExp, text: string) => Promise<void>;
  /** Chooses one of several by its value. */
  readonly choose: (label: RegExp, value: string) => Promise<void>;
  /** Waits until the page says something. */
  readonly see: (text: string) => Promise<void>;
}

const see = (page: Page) => (text: string) => page.getByText(text).first().waitFor();

/** In the order in which they are meant: a menu may have a link of the same name. */
const pressable = ['button', 'summary', 'a'] as const;

/** Clicks, and needs no script on the page. */
export const mouseOn = (page: Page): Hand => ({
  press: async (name) => {
    for (const tag of pressable) {
      const [found] = await page.locator(tag).filter({ hasText: name, visible: true }).all();
      if (found !== undefined) return found.click();
    }
    throw new Error(`Nothing is called ${String(name)}`);
  },
  choose: async (label, value) => {
    await page.getByLabel(label).and(page.locator('select')).first().selectOption(value);
  },
  type: (label, text) => page.getByLabel(label).and(page.locator('input, textarea')).first().fill(text),
  see: see(page),
});

/** More often than there is anything to move on to. */
const maxTabs = 150;

const focused =
  '(({ tagName, textContent, labels }) => [tagName, (labels?.[0]?.textContent ?? textContent).trim()])(document.activeElement)';

/** Presses nothing but keys. */
export const keyboardOn = (page: Page): Hand => {
  const moveTo = async (tags: readonly string[], name: RegExp): Promise<string> => {
    for (let at = 0; at < maxTabs; at++) {
      await page.keyboard.press('Tab');
      const [tag = '', text = ''] = await page.evaluate<readonly string[]>(focused);
      if (tags.includes(tag) && name.test(text)) return tag;
    }
    throw new Error(`Tab does not lead to ${String(name)}`);
  };
  return {
    press: async (name) => {
      const tag = await moveTo(['A', 'BUTTON', 'SUMMARY'], name);
      const isDone = tag === 'SUMMARY' ? Promise.resolve() : page.waitForEvent('load');
      await page.keyboard.press('Enter');
      await isDone;
    },
    type: async (label, text) => {
      await moveTo(['INPUT', 'TEXTAREA'], label);
      await page.keyboard.press('ControlOrMeta+A');
      await page.keyboard.type(text);
    },
    choose: async (label, value) => {
      await moveTo(['SELECT'], label);
      await page.keyboard.type(value);
    },
    see: see(page),
  };
};
