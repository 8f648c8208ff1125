import { z } from 'zod';
import { DomainError, errorCodes } from '../../../domain/errors.js';
import { asyncApiDocument } from '../document/asyncapi.js';
import type { Audience } from '../server/access.js';
import { sharedDocument, type SharedDocument } from '../server/documents.js';
import { openApiDocument } from '../document/openapi.js';
import { jsonType } from '../server/respond.js';
import { route, type Route } from '../server/route.js';
import { optionalText, unlistedParam } from '../schema/fields.js';
import { findAsset } from '../web/assets.js';
import type { Drawn } from './rendered.js';
import { groupsOf, orderOf } from './groups.js';
import { asMarkdown, errorsPlace, homePlace, indexPath, listPaths, searchPath } from './places.js';

/** A route that the documents leave out. */
const hidden = (id: string, summary: string) =>
  ({ id, summary, access: { kind: 'public' }, failure: 'internal_error', hidden: true }) as const;

const shown = (
  path: string,
  id: string,
  summary: string,
  make: () => SharedDocument | Promise<SharedDocument>,
): Route =>
  route(`GET ${path}`, {
    ...hidden(id, summary),
    handle: async () => {
      const document = await make();
      // Below `/api` and `/operator` nothing is cached, and nothing has an ETag. (decision 10)
      const isUncached = /^\/(api|operator)\//.test(path);
      return isUncached ? { type: document.type, bytes: document.plain } : { document };
    },
  });

/** The pages of the documentation that are the same for every reader. */
const pathsOf = (routes: readonly Route[]): readonly string[] => {
  const groups = groupsOf(routes);
  const served = (['customers', 'operators'] as const).filter((kind) => groups[kind].length > 0);
  const places = [homePlace, errorsPlace, ...served.flatMap((kind) => orderOf(groups, kind))];
  return [...new Set(places.map(({ path }) => path))];
};

const assets = route('GET /assets/:name', {
  ...hidden('getAsset', 'A file that pages load'),
  params: z.object({ name: unlistedParam }),
  handle: ({ params }) => {
    const document = findAsset(params.name);
    if (document === null) throw new DomainError('not_found', 'There is no such file.');
    return Promise.resolve({ document });
  },
});

const errorPages = (pages: () => Promise<Drawn>): Route =>
  route('GET /docs/errors/:code', {
    ...hidden('getErrorPage', 'A page about an error code'),
    params: z.object({ code: unlistedParam }),
    handle: async ({ params }) => {
      if (!errorCodes.some((known) => known === params.code.replace(/\.md$/, '')))
        throw new DomainError(
          'not_found',
          `There is no such error code. All codes are listed at ${errorsPlace.path}.`,
        );
      return { document: await (await pages()).document(`/docs/errors/${params.code}`) };
    },
  });

const search = (pages: () => Promise<Drawn>): Route =>
  route(`GET ${searchPath}`, {
    ...hidden('searchDocs', 'What the documentation says about some words'),
    query: z.object({ q: optionalText('Words to look for.') }),
    handle: async ({ query }) => (await pages()).search((query.q ?? '').slice(0, 200)),
  });

/**
 * The documentation that the service serves about itself. (decision 11: where `docs` leads) Customers' pages
 * are at `publicUrl`, if these routes are for operators alone.
 */
export const docsRoutes = (
  routes: readonly Route[],
  baseUrl: () => string,
  publicUrl: () => string,
): readonly Route[] => {
  // Documents are made when they are first needed: a free port is known only after `listen`.
  const json = (make: (base: string) => object) => {
    let made: SharedDocument | undefined;
    return () => (made ??= sharedDocument(jsonType, JSON.stringify(make(baseUrl()))));
  };
  const openApi = (audience: Audience) => json((base) => openApiDocument(routes, base, audience));
  const has = (kind: Route['access']['kind']) => routes.some(({ access }) => access.kind === kind);
  // Most processes never show a page: the renderer is loaded for the first reader.
  let pagesDrawn: Drawn | undefined;
  const pages = async () => {
    const { drawn } = await import('./rendered.js');
    return (pagesDrawn ??= drawn(routes, baseUrl(), publicUrl()));
  };
  return [
    shown('/openapi.json', 'getOpenApi', 'The OpenAPI document', openApi('all')),
    ...(has('key')
      ? [shown('/api/openapi.json', 'getApi', 'The OpenAPI document for customers', openApi('public'))]
      : []),
    ...(has('operator')
      ? [
          shown(
            '/operator/openapi.json',
            'getOperatorApi',
            'The OpenAPI document of the operator API',
            openApi('operator'),
          ),
        ]
      : []),
    shown(
      '/asyncapi.json',
      'getAsyncApi',
      'The AsyncAPI document of the event stream',
      json(asyncApiDocument),
    ),
    ...pathsOf(routes)
      .flatMap((path) => [path, asMarkdown(path)])
      .concat(indexPath, listPaths)
      .map((path) =>
        shown(path, 'getDocs', 'A page of the documentation', async () => (await pages()).document(path)),
      ),
    search(pages),
    assets,
    errorPages(pages),
  ];
};
