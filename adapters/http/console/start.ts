import { pageUrl, placeOf } from '../web/url.js';
import { route, type Route } from '../server/route.js';

/** Redirects the root path to the console, or to the documentation if there is no console. */
export const startRoute = (
  { baseUrl }: { readonly baseUrl: () => string },
  path: string,
): readonly Route[] => [
  route('GET /', {
    id: 'getStart',
    summary: 'The way to the pages',
    access: { kind: 'public' },
    failure: 'internal_error',
    hidden: true,
    tags: ['console'],
    responses: { 303: { description: 'The way to the pages.', schema: null, type: 'text/html' } },
    handle: () => {
      const { prefix } = placeOf(baseUrl());
      const headers = { location: pageUrl(prefix, path) };
      return Promise.resolve({ status: 303, type: 'text/html; charset=utf-8', text: '', headers });
    },
  }),
];
