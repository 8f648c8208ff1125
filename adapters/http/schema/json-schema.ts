import { z } from 'zod';
import type { ErrorCode } from '../../../domain/errors.js';
import { isPlainObject } from '../../../domain/plain-object.js';

/**
 * JSON Schema 2020-12 as OpenAPI 3.1 uses it, with the keywords that the service adds. `x-error-code`: the
 * code of a value that breaks the schema, inherited by what is inside. `x-error-codes`: every code that the
 * field is refused with, if there are several. `x-blank` refused: an empty string is a value and may break
 * the schema; otherwise it counts as omitted. `x-number` text: a JSON number is read as its text. `x-clamp`:
 * a larger number becomes this one. `x-hint` completes the sentence "{param} must be …".
 */
export interface JsonSchema {
  readonly $ref?: string;
  readonly type?: string | readonly string[];
  readonly properties?: Readonly<Record<string, JsonSchema>>;
  readonly required?: readonly string[];
  readonly additionalProperties?: boolean | JsonSchema;
  readonly items?: JsonSchema;
  readonly anyOf?: readonly JsonSchema[];
  readonly enum?: readonly (string | number | boolean | null)[];
  readonly const?: string | number | boolean | null;
  readonly format?: string;
  readonly contentMediaType?: string;
  readonly contentSchema?: JsonSchema;
  readonly pattern?: string;
  readonly minLength?: number;
  readonly maxLength?: number;
  readonly minimum?: number;
  readonly maximum?: number;
  readonly minItems?: number;
  readonly maxItems?: number;
  readonly description?: string;
  readonly examples?: readonly unknown[];
  readonly 'x-error-code'?: ErrorCode;
  readonly 'x-error-codes'?: readonly ErrorCode[];
  readonly 'x-blank'?: 'refused';
  readonly 'x-number'?: 'text';
  readonly 'x-clamp'?: number;
  readonly 'x-hint'?: string;
}

type Node = Readonly<Record<string, unknown>>;

/**
 * Zod limits every integer to the range that a double holds exactly. A schema that states such a bound itself
 * keeps it.
 */
const safeBounds = { minimum: Number.MIN_SAFE_INTEGER, maximum: Number.MAX_SAFE_INTEGER } as const;

/** Objects in responses are `open`: they say that fields may be added, or clients would refuse these. */
type Objects = 'open' | 'closed';

/**
 * Writes `{ anyOf: [text, null] }` as `{ type: ['string', 'null'] }`, which readers and generators understand
 * better.
 */
const withoutAlternatives = (node: Node): Node => {
  const { anyOf, ...rest } = node;
  const [value, nothing] = Array.isArray(anyOf) ? (anyOf as readonly Node[]) : [];
  if (value === undefined || nothing?.['type'] !== 'null' || typeof value['type'] !== 'string') return node;
  return 'enum' in value || 'properties' in value
    ? node
    : { ...value, ...rest, type: [value['type'], 'null'] };
};

const tidy = (value: unknown, reference: (name: string) => unknown): unknown => {
  if (Array.isArray(value)) return value.map((item: unknown) => tidy(item, reference));
  if (!isPlainObject(value)) return value;
  if (typeof value['$ref'] === 'string') return reference(value['$ref'].slice('#/$defs/'.length));
  return withoutAlternatives(
    Object.fromEntries(Object.entries(value).map(([name, inside]) => [name, tidy(inside, reference)])),
  );
};

/** Converts types, with keywords that Zod leaves out of a schema, and without ones that it adds. */
const converted = (types: readonly z.ZodType[], objects: Objects) => {
  const all = z.object(Object.fromEntries(types.map((type, index) => [index, type])));
  const { properties = {}, $defs = {} } = z.toJSONSchema(all, {
    io: 'input',
    override: ({ zodSchema, jsonSchema }) => {
      const stated = z.globalRegistry.get(zodSchema);
      if (Array.isArray(stated?.['examples'])) jsonSchema.examples = stated['examples'];
      // Generators take a field with a default for one that is always there.
      delete jsonSchema.default;
      for (const name of ['minimum', 'maximum'] as const)
        if (jsonSchema[name] === safeBounds[name] && stated?.[name] === undefined) delete jsonSchema[name];
      if (isPlainObject(jsonSchema.additionalProperties)) jsonSchema.additionalProperties = true;
      if (objects === 'open' && jsonSchema.type === 'object') jsonSchema.additionalProperties ??= true;
    },
  });
  return {
    schemas: types.map((_, index) => properties[index]),
    components: $defs as Readonly<Record<string, Node>>,
  };
};

/**
 * The schemas of some types for one document. A type with an `id` becomes a component, with references to it
 * elsewhere.
 */
export const documented = (
  types: readonly z.ZodType[],
  objects: Objects,
): {
  readonly schemas: readonly (readonly [z.ZodType, JsonSchema])[];
  readonly components: Readonly<Record<string, JsonSchema>>;
} => {
  const { schemas, components } = converted(types, objects);
  const reference = (name: string) => ({ $ref: `#/components/schemas/${name}` });
  return {
    schemas: types.map((type, index) => [type, tidy(schemas[index], reference) as JsonSchema]),
    components: Object.fromEntries(
      Object.entries(components).map(([name, schema]) => [name, tidy(schema, reference) as JsonSchema]),
    ),
  };
};

/** Every type within a type, itself first. */
const within = (value: unknown, found: Set<z.ZodType>): ReadonlySet<z.ZodType> => {
  if (value instanceof z.ZodType) {
    if (found.has(value)) return found;
    found.add(value);
    for (const part of Object.values(value.def)) within(part, found);
  } else if (Array.isArray(value)) for (const item of value) within(item, found);
  else if (isPlainObject(value)) for (const item of Object.values(value)) within(item, found);
  return found;
};

/** Throws if two of the types, or two within them, have one `id`: a document could not tell them apart. */
export const assertUniqueIds = (types: readonly z.ZodType[]): void => {
  const owners = new Map<string, z.ZodType>();
  for (const type of within(types, new Set())) {
    const id = z.globalRegistry.get(type)?.id;
    if (id === undefined) continue;
    if (owners.has(id)) throw new Error(`Two schemas have the id ${id}`);
    owners.set(id, type);
  }
};

const known = new WeakMap<z.ZodType, JsonSchema>();

/** The schema of one type, without references. Computed once. */
export const jsonSchemaOf = (type: z.ZodType): JsonSchema => {
  const made = known.get(type);
  if (made !== undefined) return made;
  const { schemas, components } = converted([type], 'closed');
  const inlined = (name: string): unknown => tidy(components[name], inlined);
  const schema = tidy(schemas[0], inlined) as JsonSchema;
  known.set(type, schema);
  return schema;
};
