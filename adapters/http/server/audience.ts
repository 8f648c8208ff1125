import type { Route } from './route.js';

/** The audience of a listener or a document: customers and the public, the operators, or all. */
export type Audience = 'all' | 'public' | 'operator';

const operatorsPaths: ReadonlySet<string> = new Set(['/readyz', '/metrics']);

/** Whether a route is for an audience. `/healthz`, which shows nothing but the version, is for both. */
export const isFor =
  (audience: Audience) =>
  ({ access, path }: Pick<Route, 'access' | 'path'>): boolean => {
    if (audience === 'all' || path === '/healthz') return true;
    return (access.kind === 'operator' || operatorsPaths.has(path)) === (audience === 'operator');
  };
