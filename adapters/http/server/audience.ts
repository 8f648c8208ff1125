import type { Route } from './route.js';

/** Of whom a listener or a document is: of customers and the public, or of the people who run the service. */
export type Audience = 'everybody' | 'public' | 'operator';

const operatorsPaths: ReadonlySet<string> = new Set(['/readyz', '/metrics']);

/** Whether a route is for an audience. `/healthz`, which tells nothing but the version, is for both. */
export const isFor =
  (audience: Audience) =>
  ({ access, path }: Pick<Route, 'access' | 'path'>): boolean => {
    if (audience === 'everybody' || path === '/healthz') return true;
    return (access.kind === 'operator' || operatorsPaths.has(path)) === (audience === 'operator');
  };
