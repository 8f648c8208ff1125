import type { z } from 'zod';
import { DomainError } from '../../../domain/errors.js';
import { nearest } from '../../../domain/nearest.js';
import { isPlainObject } from '../../../domain/plain-object.js';
import { truncate } from '../../../domain/text.js';
import { jsonSchemaOf, type JsonSchema } from './json-schema.js';
import { asSent } from './read.js';

/** A name that a request has and its operation does not know. */
export interface IgnoredName {
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
export const ignoredNames = (schema: z.ZodObject, sent: object): readonly IgnoredName[] => {
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
export const unknownName = ({ name, meant }: IgnoredName, kind: 'field' | 'parameter'): DomainError =>
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
export const ignoredFieldsHeader = (names: readonly IgnoredName[]): string => {
  let left = maxHeaderBytes + ', '.length;
  return names
    .map(({ name }) => shown(name).replace(beyondHeader, percentEncoded))
    .filter((name) => (left -= name.length + ', '.length) >= 0)
    .join(', ');
};

const preference = /(?:^|,)\s*([!#$%&'*+.^_`|~\w-]+)\s*(?:=\s*("(?:[^"\\]|\\.)*"|[^\s;,]*))?/g;

/**
 * Whether a client prefers a refusal to ignored names: `Prefer: handling=strict`. Of several values of a
 * preference, the first counts. (RFC 7240)
 */
export const prefersStrict = (prefer: string | readonly string[] | undefined): boolean => {
  if (typeof prefer !== 'string') return false;
  for (const [, name, value = ''] of prefer.matchAll(preference))
    if (name?.toLowerCase() === 'handling') return value.replaceAll('"', '').toLowerCase() === 'strict';
  return false;
};
