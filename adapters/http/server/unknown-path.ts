import { DomainError } from '../../../domain/errors.js';
import { nearestOf } from '../../../domain/nearest.js';
import { truncate } from '../../../domain/text.js';

/** Where paths begin, and the usual mistakes there. */
const root = /^\/*(?:(?:api|operator)\/)?(?:v\d+\/)?/i;
const partsAfterRoot = (path: string): readonly string[] => path.replace(root, '').split('/');

/** API keys and tokens of hooks, which no refusal repeats. */
const secret = /[\w-]{43,}/g;
const shown = (path: string): string => truncate(path.replace(secret, '…'), 100);

/** Where paths of the service begin. */
const first = /^\/(?:api|operator|console|docs)(?:\/|$)/;

/** How a path comes that a proxy passes on as it is; `below`: the path of BASE_URL. */
const isUnstripped = (path: string, below: string): boolean =>
  below !== '' && path.startsWith(below) && first.test(path.slice(below.length));

/**
 * The refusal of a path that no route has. It proposes the nearest one. `below`: the path of BASE_URL, '' if
 * it has none.
 */
export const unknownPath = (
  method: string,
  path: string,
  routes: readonly string[],
  below: string,
): DomainError => {
  const sent = partsAfterRoot(path);
  const isOffice = path.startsWith('/operator');
  const audience = routes.filter((route) => route.startsWith('/operator') === isOffice);
  const meant = nearestOf(audience, (route) => {
    const parts = partsAfterRoot(route);
    // An id that the route takes is no difference.
    const compared = sent.map((part, at) => (part !== '' && parts[at]?.startsWith(':') ? parts[at] : part));
    return [compared.join('/'), parts.join('/')];
  });
  const filled = meant?.replaceAll(
    /:\w+/g,
    (name) => sent[partsAfterRoot(meant).indexOf(name)] || `{${name.slice(1)}}`,
  );
  const nearest = filled === undefined ? 'All paths are listed at /docs.' : `Did you mean ${shown(filled)}?`;
  const next = isUnstripped(path, below) ? `The proxy must strip ${below}, the path of BASE_URL.` : nearest;
  return new DomainError('not_found', `Unknown path: ${method} ${shown(path)}. ${next}`);
};
