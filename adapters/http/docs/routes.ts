import { z } from 'zod';
import { DomainError } from '../../../domain/errors.js';
import type { ErrorCode } from '../../../domain/errors.js';
import { asyncApiDocument } from '../asyncapi.js';
import { sharedDocument, type SharedDocument } from '../documents.js';
import { openApiDocument } from '../openapi.js';
import { jsonType } from '../respond.js';
import { route, type Route } from '../route.js';
import { text } from '../fields.js';
import { findAsset } from '../web/assets.js';
import { documentOf, pageHeaders } from '../web/document.js';
import type { Html } from '../web/prose.js';
import { placeOf } from '../web/url.js';
import { errorArticle, isErrorCode } from './errors.js';
import { reference } from './reference.js';

/** The text of a page leads from the root of the service, wherever clients see that. */
const below = (prefix: string, html: string): string =>
  prefix === '' ? html : html.replaceAll(/ (href|src|data-path)="\//g, ` $1="${prefix}/`);

const page = (
  base: string,
  title: string,
  body: Html,
  modules: readonly ('pages.js' | 'docs.js')[] = [],
): SharedDocument => {
  const { prefix } = placeOf(base);
  const html = below(prefix, documentOf({ prefix: '', title, body, style: 'docs.css', modules }));
  return sharedDocument('text/html; charset=utf-8', html, pageHeaders({ forms: false }));
};

const shown = (path: string, operationId: string, summary: string, document: () => SharedDocument): Route =>
  route({
    method: 'GET',
    path,
    access: { kind: 'public' },
    failure: 'internal_error',
    hidden: true,
    operation: {
      operationId,
      summary,
      tags: ['docs'],
      responses: { 200: { description: summary, schema: null, type: 'text/html' } },
      errors: [],
    },
    handle: () => Promise.resolve({ document: document() }),
  });

/**
 * Computes a value when it is first needed, and again when the base URL has changed: a free port is known
 * only after `listen`.
 */
const remembered = <T>(baseUrl: () => string, make: (base: string) => T): (() => T) => {
  let last: { readonly base: string; readonly made: T } | null = null;
  return () => {
    const base = baseUrl();
    if (last?.base !== base) last = { base, made: make(base) };
    return last.made;
  };
};

/** The documentation that the service serves about itself. (decision 11: where `docs` leads) */
export const docsRoutes = (routes: readonly Route[], baseUrl: () => string): readonly Route[] => {
  const document = remembered(baseUrl, (base) =>
    sharedDocument(jsonType, JSON.stringify(openApiDocument(routes, base))),
  );
  const events = remembered(baseUrl, () => sharedDocument(jsonType, JSON.stringify(asyncApiDocument())));
  const home = remembered(baseUrl, (base) =>
    page(base, 'Handwritten Card Service API', reference(routes, base), ['docs.js', 'pages.js']),
  );
  const hasConsole = routes.some(({ path }) => path === '/console');
  const errorPages = remembered(baseUrl, (base) => {
    const made = new Map<ErrorCode, SharedDocument>();
    return (code: ErrorCode): SharedDocument => {
      const document =
        made.get(code) ??
        page(base, `${code}: an error of the Handwritten Card Service`, errorArticle(code, hasConsole));
      made.set(code, document);
      return document;
    };
  });
  return [
    shown('/openapi.json', 'getOpenApi', 'The OpenAPI document', document),
    shown('/asyncapi.json', 'getAsyncApi', 'The AsyncAPI document of the event stream', events),
    shown('/docs', 'getDocs', 'The documentation', home),
    route({
      method: 'GET',
      path: '/assets/:name',
      access: { kind: 'public' },
      params: z.object({ name: text({ code: 'not_found' }) }),
      failure: 'internal_error',
      hidden: true,
      operation: {
        operationId: 'getAsset',
        summary: 'A file that pages load',
        tags: ['docs'],
        responses: { 200: { description: 'The file.', schema: null, type: 'text/css' } },
        errors: ['not_found'],
      },
      handle: ({ params }) => {
        const document = findAsset(params.name);
        if (document === null) throw new DomainError('not_found', 'There is no such file.');
        return Promise.resolve({ document });
      },
    }),
    route({
      method: 'GET',
      path: '/docs/errors/:code',
      access: { kind: 'public' },
      params: z.object({ code: text({ code: 'not_found' }) }),
      failure: 'internal_error',
      hidden: true,
      operation: {
        operationId: 'getErrorPage',
        summary: 'A page about an error code',
        tags: ['docs'],
        responses: { 200: { description: 'The page.', schema: null, type: 'text/html' } },
        errors: ['not_found'],
      },
      handle: ({ params }) => {
        if (!isErrorCode(params.code))
          throw new DomainError(
            'not_found',
            'There is no such error code. All codes are listed at /docs#errors.',
          );
        return Promise.resolve({ document: errorPages()(params.code) });
      },
    }),
  ];
};
