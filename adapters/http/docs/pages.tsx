import { errorCodes } from '../../../domain/errors.js';
import type { Route } from '../route.js';
import type { Entry } from './find.js';
import { errorPage, errorsPage } from './errors.js';
import { eventsPage } from './events.js';
import { groupsOf } from './groups.js';
import { guides } from './guides/all.js';
import { homePage } from './home.js';
import { operatorPage } from './operator.js';
import type { Context, DocsPage } from './page.js';
import { guideNames, guidePlace } from './places.js';
import { recordedPage } from './recorded.js';
import { referencePage } from './reference.js';
import { entriesOf } from './search.js';

/** All pages of the documentation, each made when it is first asked for. */
export interface Pages {
  readonly context: Context;
  readonly at: (path: string) => DocsPage;
  readonly entries: () => Promise<readonly Entry[]>;
}

export const contextOf = (routes: readonly Route[], baseUrl: string): Context => ({
  baseUrl,
  hasConsole: routes.some(({ path }) => path === '/console'),
  ...groupsOf(routes),
});

type Makers = ReadonlyMap<string, () => DocsPage>;

const makersOf = (context: Context): Makers => {
  const all: (readonly [string, () => DocsPage])[] = [
    ['/docs', () => homePage(context)],
    ...guideNames.map(
      (name) =>
        [
          guidePlace(name).path,
          (): DocsPage => ({
            ...guidePlace(name),
            for: 'customers',
            shape: 'guide',
            parts: guides[name](context),
          }),
        ] as const,
    ),
    ...(['customers', 'operators'] as const).flatMap((audience) =>
      context[audience].map((group) => [group.path, () => referencePage(group, context, audience)] as const),
    ),
    ['/docs/errors', () => errorsPage(context)],
    ...errorCodes.map((code) => [`/docs/errors/${code}`, () => errorPage(code, context)] as const),
    ['/docs/events', () => eventsPage()],
    ['/docs/operator', () => operatorPage(context)],
    ['/docs/operator/recorded-events', () => recordedPage(context.baseUrl)],
  ];
  return new Map(all);
};

/** The pages about a table of routes, on a service that is at `baseUrl`. */
export const pagesOf = (routes: readonly Route[], baseUrl: string): Pages => {
  const context = contextOf(routes, baseUrl);
  const makers = makersOf(context);
  const at = (path: string): DocsPage => {
    const make = makers.get(path);
    if (make === undefined) throw new Error(`There is no page at ${path}.`);
    return make();
  };
  let known: Promise<readonly Entry[]> | null = null;
  return {
    context,
    at,
    entries: () =>
      (known ??= entriesOf([...makers.values()]).catch((error: unknown) => {
        // The next reader tries again.
        known = null;
        throw error;
      })),
  };
};
