import type { z } from 'zod';
import { DomainError } from '../../../domain/errors.js';
import { nearest } from '../../../domain/nearest.js';
import { isPlainObject } from '../../../domain/plain-object.js';
import { truncate } from '../../../domain/text.js';
import { jsonSchemaOf, type JsonSchema } from '../schema/json-schema.js';
import { asSent, type JsonObject } from '../schema/read.js';
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

/** A name that a request has and its operation does not know. */
interface IgnoredName {
  /** With the names of the objects around it: `recipient.zipp`. */
  readonly name: string;
  /** The name that was probably meant, in the same form; null if none is near. */
  readonly meant: string | null;
}

/** How many unknown names a response lists. (decision 64: what was ignored is told) */
export const maxNamed = 10;

/** The declaration of a name, which may be that of anything: `constructor`, for example. */
const declaredAs = ({ properties = {} }: JsonSchema, name: string): JsonSchema | undefined =>
  Object.hasOwn(properties, name) ? properties[name] : undefined;

const collect = (schema: JsonSchema, sent: object, path: string, found: IgnoredName[]): void => {
  for (const [name, value] of Object.entries(asSent.get(sent) ?? sent)) {
    if (found.length >= maxNamed) return;
    const inside = declaredAs(schema, name);
    if (inside === undefined) {
      const meant = nearest(name, Object.keys(schema.properties ?? {}));
      found.push({ name: path + name, meant: meant && path + meant });
    } else if (inside.properties !== undefined && isPlainObject(value))
      collect(inside, value, `${path}${name}.`, found);
  }
};

/** The names in a body or a query that the schema does not declare: the first ten, in the order sent. */
const ignoredNames = (schema: z.ZodObject, sent: object): readonly IgnoredName[] => {
  const found: IgnoredName[] = [];
  collect(jsonSchemaOf(schema), sent, '', found);
  return found;
};

/** Whether a schema declares a name, such as `recipient.zip`. */
export const isDeclared = (schema: z.ZodObject, name: string): boolean => {
  let inside: JsonSchema | undefined = jsonSchemaOf(schema);
  for (const part of name.split('.')) inside = inside && declaredAs(inside, part);
  return inside !== undefined;
};

/** Refuses a request for a name that it has. (decision 64: what was ignored is told) */
const unknownName = ({ name, meant }: IgnoredName, kind: 'field' | 'parameter'): DomainError =>
  new DomainError(
    'invalid_parameter',
    `There is no ${kind} \`${shown(name)}\`. ${meant === null ? 'Leave it out.' : `Did you mean \`${meant}\`?`}`,
    shown(name),
  );

const maxShownLength = 100;
const shown = (name: string): string => truncate(name, maxShownLength);

/** Characters that a header must escape: a comma and a percent sign would not be read back unchanged. */
const beyondHeader = /[^!#-$&-+\--~]/gu;

const percentEncoded = (character: string): string =>
  [...Buffer.from(character)].map((byte) => `%${byte.toString(16).toUpperCase().padStart(2, '0')}`).join('');

/** Some proxies take 4 KiB for all headers; a single name, encoded, has room. */
const maxHeaderBytes = 1_200;

/** The value of the header `x-ignored-fields`: as many of the names as it has room for. */
const ignoredFieldsHeader = (names: readonly string[]): string => {
  let left = maxHeaderBytes + ', '.length;
  return names
    .map((name) => shown(name).replace(beyondHeader, percentEncoded))
    .filter((name) => (left -= name.length + ', '.length) >= 0)
    .join(', ');
};

const preference = /(?:^|,)\s*([!#$%&'*+.^_`|~\w-]+)\s*(?:=\s*("(?:[^"\\]|\\.)*"|[^\s;,]*))?/g;

/**
 * Whether a client prefers a refusal to ignored names: `Prefer: handling=strict`. Of several values of a
 * preference, the first counts. (RFC 7240)
 */
const prefersStrict = (prefer: string | readonly string[] | undefined): boolean => {
  if (typeof prefer !== 'string') return false;
  for (const [, name, value = ''] of prefer.matchAll(preference))
    if (name?.toLowerCase() === 'handling') return value.replaceAll('"', '').toLowerCase() === 'strict';
  return false;
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
  exchange.ignored = [...inQuery, ...inBody].slice(0, maxNamed).map(({ name }) => name);
  exchange.strict = prefersStrict(exchange.request.headers.prefer);
  const [parameter] = inQuery;
  const [field] = inBody;
  if (parameter !== undefined && (exchange.strict || route.access.kind === 'operator'))
    throw unknownName(parameter, 'parameter');
  if (field !== undefined && exchange.strict) throw unknownName(field, 'field');
};

export const ignoredHeaders = ({ ignored, strict }: Exchange): Readonly<Record<string, string>> => ({
  ...(ignored.length > 0 && { 'x-ignored-fields': ignoredFieldsHeader(ignored) }),
  ...(strict && { 'preference-applied': 'handling=strict' }),
});
