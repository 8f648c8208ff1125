import type { ErrorCode } from '../../domain/errors.js';

/**
 * JSON Schema 2020-12 as OpenAPI 3.1 uses it, with what the service adds. One object is both the document's
 * and the validator's.
 * `x-error-code`: the code of a value that breaks the schema; `x-error-codes`: the code by keyword
 * (`required`, `maxLength`, …). Both are inherited by what is inside. `x-blank` refused: an empty string is a
 * value and may break the schema; otherwise it counts as omitted.
 * `x-number` text: a JSON number is taken as its text. `x-clamp`: a larger number becomes this one. `x-zero`
 * default: 0 becomes the default.
 * `x-hint`: completes the sentence "{param} must be …".
 */
export interface JsonSchema {
  readonly type?: string | readonly string[];
  readonly properties?: Readonly<Record<string, JsonSchema>>;
  readonly required?: readonly string[];
  readonly additionalProperties?: boolean | JsonSchema;
  readonly items?: JsonSchema;
  readonly anyOf?: readonly JsonSchema[];
  readonly enum?: readonly (string | number | boolean | null)[];
  readonly const?: string | number | boolean | null;
  readonly format?: string;
  readonly pattern?: string;
  readonly minLength?: number;
  readonly maxLength?: number;
  readonly minimum?: number;
  readonly maximum?: number;
  readonly minItems?: number;
  readonly maxItems?: number;
  readonly default?: string | number | boolean | null;
  readonly title?: string;
  readonly description?: string;
  readonly examples?: readonly unknown[];
  readonly 'x-error-code'?: ErrorCode;
  readonly 'x-error-codes'?: Readonly<Partial<Record<string, ErrorCode>>>;
  readonly 'x-blank'?: 'refused';
  readonly 'x-number'?: 'text';
  readonly 'x-clamp'?: number;
  readonly 'x-zero'?: 'default';
  readonly 'x-hint'?: string;
}

export const extensionKeywords = [
  'x-error-code',
  'x-error-codes',
  'x-blank',
  'x-number',
  'x-clamp',
  'x-zero',
  'x-hint',
];

declare const shape: unique symbol;
/** A schema, and the type of what it lets through. */
export type Schema<T> = JsonSchema & { readonly [shape]?: T };

/** A field that may be left out; it then reads as null. */
export interface Optional<T> {
  readonly optional: Schema<T>;
}
export const optional = <T>(schema: Schema<T>): Optional<T> => ({ optional: schema });

type Field = Schema<unknown> | Optional<unknown>;
type Fields = Readonly<Record<string, Field>>;
type Read<F> = F extends Optional<infer T> ? T | null : F extends Schema<infer T> ? T : never;
export type ObjectOf<F extends Fields> = { readonly [Name in keyof F]: Read<F[Name]> };
/** What a schema lets through. */
export type Infer<S> = S extends Schema<infer T> ? T : never;

interface Common {
  readonly description?: string;
  readonly examples?: readonly unknown[];
  /**
   * The code of a value that breaks the schema. Inherited from the object around it; `invalid_parameter`
   * where nothing is said.
   */
  readonly code?: ErrorCode;
  readonly codes?: Readonly<Partial<Record<string, ErrorCode>>>;
  /** Completes "{param} must be …". */
  readonly hint?: string;
}

interface TextRules extends Common {
  readonly minLength?: number;
  /** In code points. */
  readonly maxLength?: number;
  readonly pattern?: string;
  readonly format?: string;
  readonly blank?: 'refused';
  readonly number?: 'text';
  readonly default?: string;
}

const common = ({ code, codes, hint, ...rest }: Common): JsonSchema => ({
  ...rest,
  ...(code === undefined ? {} : { 'x-error-code': code }),
  ...(codes === undefined ? {} : { 'x-error-codes': codes }),
  ...(hint === undefined ? {} : { 'x-hint': hint }),
});

export const text = ({
  blank,
  number,
  minLength,
  maxLength,
  pattern,
  format,
  default: fallback,
  ...rest
}: TextRules = {}): Schema<string> => ({
  type: 'string',
  ...(minLength === undefined && blank !== 'refused' ? {} : { minLength: minLength ?? 1 }),
  ...(maxLength === undefined ? {} : { maxLength }),
  ...(pattern === undefined ? {} : { pattern }),
  ...(format === undefined ? {} : { format }),
  ...(fallback === undefined ? {} : { default: fallback }),
  ...(blank === undefined ? {} : { 'x-blank': blank }),
  ...(number === undefined ? {} : { 'x-number': number }),
  ...common(rest),
});

/** One of these strings, exactly. */
export const oneOf = <const V extends string>(
  values: readonly V[],
  rules: Common & { readonly blank?: 'refused' } = {},
): Schema<V> => {
  const { blank, ...rest } = rules;
  return {
    type: 'string',
    enum: values,
    ...(blank === undefined ? {} : { 'x-blank': blank }),
    ...common(rest),
  };
};

export const whole = ({
  minimum,
  maximum,
  ...rest
}: Common & { readonly minimum?: number; readonly maximum?: number } = {}): Schema<number> => ({
  type: 'integer',
  ...(minimum === undefined ? {} : { minimum }),
  ...(maximum === undefined ? {} : { maximum }),
  ...common(rest),
});

/**
 * The `limit` of a list: absent, empty and 0 give 50, more than 200 gives 200, anything else that is no whole
 * number is refused. (decision 27)
 */
export const pageLimit: Schema<number> = {
  type: 'integer',
  minimum: 0,
  default: 50,
  description: 'How many rows to return. Absent, empty or 0 gives 50; more than 200 gives 200.',
  'x-clamp': 200,
  'x-zero': 'default',
  'x-error-code': 'invalid_parameter',
  'x-hint': 'a whole number from 0; 0 gives the default of 50, more than 200 gives 200',
};

export const flag = (rules: Common = {}): Schema<boolean> => ({ type: 'boolean', ...common(rules) });

export const always = <const V extends string | number | boolean>(
  value: V,
  rules: Common = {},
): Schema<V> => ({
  const: value,
  type: typeof value,
  ...common(rules),
});

export const list = <T>(
  items: Schema<T>,
  rules: Common & { readonly minItems?: number; readonly maxItems?: number } = {},
): Schema<readonly T[]> => {
  const { minItems, maxItems, ...rest } = rules;
  return {
    type: 'array',
    items,
    ...(minItems === undefined ? {} : { minItems }),
    ...(maxItems === undefined ? {} : { maxItems }),
    ...common(rest),
  };
};

/** For answers: the value, or null. Requests need no such thing: null is omitted there. */
export const nullable = <T>(schema: Schema<T>): Schema<T | null> => {
  if (
    schema.enum !== undefined ||
    schema.const !== undefined ||
    schema.properties !== undefined ||
    typeof schema.type !== 'string'
  )
    return {
      anyOf: [schema, { type: 'null' }],
      ...(schema.description === undefined ? {} : { description: schema.description }),
    };
  return { ...schema, type: [schema.type, 'null'] };
};

const isOptional = (field: Field): field is Optional<unknown> => 'optional' in field;

/**
 * An object. A field with a default may be left out. The order of the fields is the order in which refusals
 * are reported. (decision 2)
 */
export const object = <const F extends Fields>(
  fields: F,
  rules: Common & { readonly open?: boolean } = {},
): Schema<ObjectOf<F>> => {
  const { open, ...rest } = rules;
  const entries = Object.entries(fields);
  const required = entries
    .filter(([, field]) => !isOptional(field) && field.default === undefined)
    .map(([name]) => name);
  return {
    type: 'object',
    properties: Object.fromEntries(
      entries.map(([name, field]) => [name, isOptional(field) ? field.optional : field]),
    ),
    ...(required.length === 0 ? {} : { required }),
    ...(open === true ? { additionalProperties: true } : {}),
    ...common(rest),
  };
};

const names = new WeakMap<JsonSchema, string>();

/** Gives a schema a name among the document's components. */
export const component = <T>(name: string, schema: Schema<T>): Schema<T> => {
  names.set(schema, name);
  return schema;
};

export const componentName = (schema: JsonSchema): string | undefined => names.get(schema);

/** The form of every list. (decision 53) */
export const listOf = <T>(
  row: Schema<T>,
  cursor = 'Pass as `starting_after` for the next page; null on the last page.',
) =>
  object({
    object: always('list'),
    has_more: flag({ description: 'True when the page came back full.' }),
    next_cursor: nullable(text({ description: cursor })),
    data: list(row),
  });

type Predicate = (text: string) => boolean;
const known = new Map<string, Predicate>();

/**
 * Declares a string format whose rule is a predicate of the domain. Returns its name, for `text({ format })`.
 */
export const format = (name: string, accepts: Predicate): string => {
  known.set(name, accepts);
  return name;
};

/** Formats that say what an answer holds, without a rule that is checked. */
export const annotations = ['date-time', 'uri', 'email', 'uuid', 'date'] as const;
export const formats: ReadonlyMap<string, Predicate> = known;
