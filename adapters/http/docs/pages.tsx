import { errorCodes } from '../../../domain/errors.js';
import type { Route } from '../server/route.js';
import { indexed, type Indexed } from './find.js';
import { errorPage, errorsPage } from './errors.js';
import { eventsPage } from './events.js';
import { groupsOf } from './groups.js';
import { guides } from './guides/all.js';
import { homePage } from './home.js';
import { operatorPage } from './operator.js';
import type { Context, DocsPage } from './page.js';
import {
  errorsPlace,
  eventsPlace,
  guideNames,
  guidePlace,
  homePlace,
  operatorPlace,
  recordedPlace,
  searchPath,
} from './places.js';
import { recordedPage } from './recorded.js';
import { referencePage } from './reference.js';
import { entriesOf } from './search.js';

/** All pages of the documentation, each made when it is first asked for. */
export interface Pages {
  readonly context: Context;
  readonly has: (path: string) => boolean;
  readonly at: (path: string) => DocsPage;
  /** The search index. */
  readonly entries: () => Promise<readonly Indexed[]>;
}

const contextOf = (routes: readonly Route[], baseUrl: string, publicUrl: string): Context => {
  const groups = groupsOf(routes);
  return {
    baseUrl,
    customersAt: groups.customers.length === 0 ? publicUrl : null,
    hasConsole: routes.some(({ path }) => path === '/console'),
    ...groups,
  };
};

type Makers = ReadonlyMap<string, () => DocsPage>;

type Maker = readonly [path: string, make: () => DocsPage];

const referenceOf = (audience: DocsPage['for'], context: Context): readonly Maker[] =>
  (audience === 'customers' ? context.customers : context.operators).map((group) => [
    group.path,
    () => referencePage(group, context, audience),
  ]);

const customersPages = (context: Context): readonly Maker[] => [
  [homePlace.path, () => homePage(context)],
  ...guideNames.map((name): Maker => {
    const place = guidePlace(name);
    return [place.path, () => ({ ...place, for: 'customers', shape: 'guide', parts: guides[name](context) })];
  }),
  ...referenceOf('customers', context),
  [eventsPlace.path, eventsPage],
];

const operatorsPages = (context: Context): readonly Maker[] => [
  [operatorPlace.path, () => operatorPage(context)],
  ...referenceOf('operators', context),
  [recordedPlace.path, () => recordedPage(context.baseUrl)],
];

const makersOf = (context: Context): Makers =>
  new Map([
    ...(context.customersAt === null ? customersPages(context) : []),
    [errorsPlace.path, () => errorsPage(context)],
    ...errorCodes.map((code): Maker => [`${errorsPlace.path}/${code}`, () => errorPage(code, context)]),
    ...(context.operators.length === 0 ? [] : operatorsPages(context)),
  ]);

/**
 * The pages about a table of routes, on a service that is at `baseUrl`. Without customers' pages, the
 * operators' begin with the page about operators; customers' pages are at `publicUrl`.
 */
export const pagesOf = (routes: readonly Route[], baseUrl: string, publicUrl: string): Pages => {
  const context = contextOf(routes, baseUrl, publicUrl);
  const makers = makersOf(context);
  const at = (path: string): DocsPage => {
    const make = makers.get(
      path === homePlace.path && context.customersAt !== null ? operatorPlace.path : path,
    );
    if (make === undefined) throw new Error(`There is no page at ${path}.`);
    return make();
  };
  let known: Promise<readonly Indexed[]> | null = null;
  return {
    context,
    has: (path) => makers.has(path) || path === homePlace.path || path === searchPath,
    at,
    entries: () =>
      (known ??= entriesOf([...makers.values()])
        .then(indexed)
        .catch((error: unknown) => {
          // The next reader tries again.
          known = null;
          throw error;
        })),
  };
};
