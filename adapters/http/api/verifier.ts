import { readFileSync } from 'node:fs';
import { sharedDocument } from '../server/documents.js';
import { route, type Route } from '../server/route.js';

/** The verifier of exports, for everyone: it needs nothing else. */
export const verifierRoutes = (): readonly Route[] => {
  const text = readFileSync(new URL('../../log-verifier/verify.mjs', import.meta.url), 'utf8');
  const document = sharedDocument('text/javascript; charset=utf-8', text);
  return [
    route('GET /log/verify.mjs', {
      id: 'getVerifier',
      summary: 'The program that checks exports',
      access: { kind: 'public' },
      failure: 'internal_error',
      hidden: true,
      handle: () => Promise.resolve({ document }),
    }),
  ];
};
