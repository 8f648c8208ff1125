import type { z } from 'zod';
import { DomainError } from '../../../domain/errors.js';
import { nearest } from '../../../domain/nearest.js';
import { isPlainObject } from '../../../domain/plain-object.js';
import { truncate } from '../../../domain/text.js';
import { jsonSchemaOf, type JsonSchema } from './json-schema.js';

/** The names that a schema declares, each with its nested names; null if anything may be inside. */
export type KnownNames = ReadonlyMap<string, KnownNames | null>;

const namesIn = ({ properties = {} }: JsonSchema): KnownNames =>
  new Map(
    Object.entries(properties).map(([name, inside]) => [
      name,
      inside.properties === undefined ? null : namesIn(inside),
    ]),
  );

const remembered = new WeakMap<z.ZodObject, KnownNames>();

/** The names that a schema declares. Computed once. */
export const knownNames = (schema: z.ZodObject): KnownNames => {
  const before = remembered.get(schema);
  if (before !== undefined) return before;
  const names = namesIn(jsonSchemaOf(schema));
  remembered.set(schema, names);
  return names;
};

/** A name that a request has and its operation does not know. */
export interface IgnoredName {
  /** With the names of the objects around it: `recipient.zipp`. */
  readonly name: string;
  /** The name that was probably meant, in the same form; null if none is near. */
  readonly meant: string | null;
}

/** How many unknown names a response lists. (decision 64: what was ignored is told) */
export const maxNamed = 10;

const none: readonly IgnoredName[] = [];

const collect = (known: KnownNames, sent: object, path: string, found: IgnoredName[]): void => {
  for (const name of Object.keys(sent)) {
    if (found.length >= maxNamed) return;
    const inside = known.get(name);
    if (inside === undefined) {
      const meant = nearest(name, known.keys());
      found.push({ name: path + name, meant: meant && path + meant });
    } else if (inside !== null) {
      const value = (sent as Readonly<Record<string, unknown>>)[name];
      if (isPlainObject(value)) collect(inside, value, `${path}${name}.`, found);
    }
  }
};

/** Whether a schema declares a name, such as `recipient.zip`. */
export const isDeclared = (schema: z.ZodObject, name: string): boolean => {
  let inside: KnownNames | null | undefined = knownNames(schema);
  for (const part of name.split('.')) inside = inside?.has(part) === true ? inside.get(part) : undefined;
  return inside !== undefined;
};

/** Whether an object has only names that are known, which costs a look-up for each. */
const knowsAll = (known: KnownNames, sent: object): boolean => {
  for (const name in sent) {
    const inside = known.get(name);
    if (inside === undefined) return false;
    if (inside === null) continue;
    const value = (sent as Readonly<Record<string, unknown>>)[name];
    if (isPlainObject(value) && !knowsAll(inside, value)) return false;
  }
  return true;
};

/** The names in a body or a query that the schema does not declare: the first ten, in the order sent. */
export const ignoredNames = (schema: z.ZodObject, sent: object): readonly IgnoredName[] => {
  const known = knownNames(schema);
  if (knowsAll(known, sent)) return none;
  const found: IgnoredName[] = [];
  collect(known, sent, '', found);
  return found;
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

/** The value of the header `x-ignored-fields`. */
export const ignoredFieldsHeader = (names: readonly IgnoredName[]): string =>
  names.map(({ name }) => shown(name).replace(beyondHeader, percentEncoded)).join(', ');

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
