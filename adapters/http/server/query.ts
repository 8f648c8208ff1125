import { DomainError } from '../../../domain/errors.js';
import {
  ignoredFieldsHeader,
  ignoredNames,
  maxNamed,
  prefersStrict,
  unknownName,
} from '../schema/ignored.js';
import type { JsonObject } from '../schema/read.js';
import { hasKey } from './access.js';
import type { Exchange } from './exchange.js';
import type { Route } from './route.js';

/** Refuses a name that is sent twice. (decision 27: `limit`, and parameters that come twice) */
const assertOnce = (parameters: URLSearchParams): void => {
  const names = new Set<string>();
  for (const name of parameters.keys()) {
    if (names.has(name))
      throw new DomainError(
        'invalid_parameter',
        `\`${name}\` is given more than once in the query. Send it once.`,
        name,
      );
    names.add(name);
  }
};

const nothing: Readonly<Record<string, string>> = {};

/**
 * The query as text by name. Callers with a key or the operator token may send a name only once; callers of
 * hooks and pages may send anything.
 */
export const queryOf = (route: Route, search: string): Readonly<Record<string, string>> => {
  if (search === '') return nothing;
  const parameters = new URLSearchParams(search);
  if (hasKey(route)) assertOnce(parameters);
  return Object.fromEntries(parameters);
};

/**
 * Looks for names that the operation does not know. Throws for the first if the client wants that, or if it
 * is a query parameter below /operator. (decision 27: unknown parameters; decision 64: what was ignored is
 * told)
 */
export const noteIgnored = (exchange: Exchange, route: Route, query: object, body: JsonObject): void => {
  if (!hasKey(route)) return;
  const inQuery = query === nothing ? [] : ignoredNames(route.query, query);
  const inBody = route.body === null ? [] : ignoredNames(route.body.schema, body);
  exchange.ignored = inQuery.length === 0 ? inBody : [...inQuery, ...inBody].slice(0, maxNamed);
  exchange.strict = prefersStrict(exchange.request.headers.prefer);
  const [parameter] = inQuery;
  const [field] = inBody;
  if (parameter !== undefined && (exchange.strict || route.access.kind === 'operator'))
    throw unknownName(parameter, 'parameter');
  if (field !== undefined && exchange.strict) throw unknownName(field, 'field');
};

/** The headers that report unknown names. */
export const ignoredHeaders = ({ ignored, strict }: Exchange): Readonly<Record<string, string>> => ({
  ...(ignored.length > 0 && { 'x-ignored-fields': ignoredFieldsHeader(ignored) }),
  ...(strict && { 'preference-applied': 'handling=strict' }),
});
