import { errorCodes } from '../../../domain/errors.js';
import type { Route } from '../server/route.js';
import { indexed, type Indexed } from './find.js';
import { errorPage, errorsPage } from './errors.js';
import { eventsPage } from './events.js';
import { groupsOf, type Group } from './groups.js';
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

type Maker = readonly [path: string, make: () => DocsPage];

const makersOf = (context: Context): ReadonlyMap<string, () => DocsPage> => {
  const { customers, operators, customersAt, baseUrl } = context;
  const reference =
    (audience: DocsPage['for']) =>
    (group: Group): Maker => [group.path, () => referencePage(group, baseUrl, audience)];
  const guide = (name: (typeof guideNames)[number]): Maker => {
    const place = guidePlace(name);
    return [place.path, () => ({ ...place, for: 'customers', shape: 'guide', parts: guides[name](context) })];
  };
  const forCustomers: readonly Maker[] = [
    [homePlace.path, () => homePage(context)],
    ...guideNames.map(guide),
    ...customers.map(reference('customers')),
    [eventsPlace.path, eventsPage],
  ];
  const forOperators: readonly Maker[] = [
    [operatorPlace.path, () => operatorPage(context)],
    ...operators.map(reference('operators')),
    [recordedPlace.path, () => recordedPage(baseUrl)],
  ];
  return new Map([
    ...(customersAt === null ? forCustomers : []),
    [errorsPlace.path, () => errorsPage(context)],
    ...errorCodes.map((code): Maker => [`${errorsPlace.path}/${code}`, () => errorPage(code, context)]),
    ...(operators.length === 0 ? [] : forOperators),
  ]);
};

/**
 * The pages about a table of routes, on a service that is at `baseUrl`, each made when it is asked for.
 * Without customers' pages, the operators' begin with the page about operators; customers' pages are at
 * `publicUrl`.
 */
export const pagesOf = (routes: readonly Route[], baseUrl: string, publicUrl: string) => {
  const groups = groupsOf(routes);
  const context: Context = {
    baseUrl,
    customersAt: groups.customers.length === 0 ? publicUrl : null,
    hasConsole: routes.some(({ path }) => path === '/console'),
    ...groups,
  };
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
    has: (path: string): boolean => makers.has(path) || path === homePlace.path || path === searchPath,
    at,
    /** The search index. */
    entries: (): Promise<readonly Indexed[]> =>
      (known ??= entriesOf([...makers.values()])
        .then(indexed)
        .catch((error: unknown) => {
          // The next reader tries again.
          known = null;
          throw error;
        })),
  };
};

export type Pages = ReturnType<typeof pagesOf>;
