import { expect } from 'chai';
import type { Browser, BrowserContext, BrowserContextOptions } from 'playwright-core';
import type { Visitor } from './visitor.js';

interface Looked {
  readonly baseUrl: string;
  /** Whose session the browser has; nobody's if it is left out. */
  readonly visitor?: Visitor;
  readonly options?: BrowserContextOptions;
}

/** What a page complained about (reports of its policy too), and what it asked of others. */
const watch = (context: BrowserContext, baseUrl: string): readonly string[] => {
  const complaints: string[] = [];
  context.on('console', (message) => complaints.push(message.text()));
  context.on('weberror', (error) => complaints.push(error.error().message));
  context.on('request', (request) => {
    if (!request.url().startsWith(baseUrl) && !request.url().startsWith('data:'))
      complaints.push(request.url());
  });
  return complaints;
};

/**
 * Lets somebody look at pages with a fresh browser, and fails if any of them complained or asked another
 * service for something. `excused`: what the test itself brings about.
 */
export const looking = async (
  browser: Browser,
  { baseUrl, visitor, options }: Looked,
  look: (context: BrowserContext) => Promise<void>,
  excused: RegExp | null = null,
): Promise<void> => {
  const context = await browser.newContext(options);
  try {
    const [name = '', value = ''] = visitor?.cookie?.split('=') ?? [];
    if (name !== '') await context.addCookies([{ name, value, url: baseUrl }]);
    const complaints = watch(context, baseUrl);
    await look(context);
    expect(complaints.filter((each) => excused?.test(each) !== true)).to.deep.equal([]);
  } finally {
    await context.close();
  }
};
