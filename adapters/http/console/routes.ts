import { z } from 'zod';
import { pathParameters, type Route, route } from '../server/route.js';
import type { PageRequest } from './context.js';
import type { ConsoleDeps } from './deps.js';
import { pageUrl, paths, placeOf } from '../web/paths.js';

/** Redirects the root path to the console, or to the documentation if there is no console. */
const startRoute = ({ baseUrl }: Pick<ConsoleDeps, 'baseUrl'>, path: string): Route =>
  route('GET /', {
    id: 'getStart',
    summary: 'The way to the pages',
    access: { kind: 'public' },
    failure: 'internal_error',
    hidden: true,
    handle: () => {
      const { prefix } = placeOf(baseUrl());
      const headers = { location: pageUrl(prefix, path) };
      return Promise.resolve({ status: 303, type: 'text/html; charset=utf-8', text: '', headers });
    },
  });

/** Loads the pages when the first of them is asked for: most processes never show one. */
const answer = async (deps: ConsoleDeps, path: string, isForm: boolean, request: PageRequest) => {
  const [{ answer: answerWith }, pages] = await Promise.all([import('./answer.js'), import('./pages.js')]);
  const page = Object.values(pages).find((each) => each.path === path);
  if (page === undefined) throw new Error(`No page is at ${path}: add it to pages.ts`);
  return answerWith(deps, page, isForm)(request);
};

const routesAt = (deps: ConsoleDeps, path: string): readonly Route[] =>
  (['GET', 'POST'] as const).map((method) =>
    route(`${method} ${path}`, {
      id: `${method.toLowerCase()} ${path}`,
      summary: 'A page of the console',
      access: { kind: 'page' },
      params: z.object(Object.fromEntries(pathParameters(path).map((name) => [name, z.string()]))),
      failure: 'internal_error',
      undecodable: 'as-is',
      hidden: true,
      rehearses: true,
      handle: (request) => answer(deps, path, method === 'POST', request as PageRequest),
    }),
  );

/** The pages that need no sign-in: cards name their addresses. */
const publicPages = [paths.collection, paths.collectionCard];

/** The routes of all pages; without a console, of the public ones. */
export const pageRoutes = (deps: ConsoleDeps): readonly Route[] => [
  startRoute(deps, deps.hasConsole ? paths.start : '/docs'),
  ...(deps.hasConsole ? Object.values(paths) : publicPages).flatMap((path) => routesAt(deps, path)),
];
