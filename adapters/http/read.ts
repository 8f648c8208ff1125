import { Ajv2020, type ErrorObject, type ValidateFunction } from 'ajv/dist/2020.js';
import { DomainError, type Captured, type ErrorCode } from '../../domain/errors.js';
import { isPlainObject } from '../../domain/plain-object.js';
import { annotations, extensionKeywords, formats, type JsonSchema, type Schema } from './schema.js';

export type Json = string | number | boolean | null | readonly Json[] | { readonly [name: string]: Json };
export type JsonObject = { readonly [name: string]: Json };

const asNumber = /^-?\d+$/;

/**
 * Values that come as text (from the path or the query) are turned into what the schema wants; a blank that
 * is no text is omitted.
 */
const fromText = (schema: JsonSchema, value: string): unknown => {
  if (value === '' && schema.type !== 'string') return undefined;
  if (schema.type === 'integer') return asNumber.test(value) && value !== '-0' ? Number(value) : value;
  if (schema.type === 'boolean') return value === 'true' ? true : value === 'false' ? false : value;
  return value;
};

const normaliseString = (schema: JsonSchema, value: unknown): unknown => {
  if (typeof value === 'number' && schema['x-number'] === 'text' && Number.isFinite(value))
    return String(value);
  if (typeof value !== 'string') return value;
  const trimmed = value.trim();
  return trimmed === '' && schema['x-blank'] !== 'refused' ? undefined : trimmed;
};

const normaliseNumber = (schema: JsonSchema, value: unknown): unknown => {
  if (typeof value !== 'number') return value;
  if (value === 0 && schema['x-zero'] === 'default') return schema.default;
  return schema['x-clamp'] !== undefined && value > schema['x-clamp'] ? schema['x-clamp'] : value;
};

const own = (value: Readonly<Record<string, unknown>>, name: string): unknown =>
  Object.hasOwn(value, name) ? value[name] : undefined;

/** The properties of a schema as a list, made once: they are walked on every request. */
const propertyLists = new WeakMap<object, readonly (readonly [string, JsonSchema])[]>();
const propertiesOf = ({ properties }: JsonSchema): readonly (readonly [string, JsonSchema])[] => {
  if (properties === undefined) return [];
  const known = propertyLists.get(properties);
  if (known !== undefined) return known;
  const entries = Object.entries(properties);
  propertyLists.set(properties, entries);
  return entries;
};

const normaliseObject = (
  schema: JsonSchema,
  value: Readonly<Record<string, unknown>>,
  text: boolean,
): Record<string, unknown> => {
  const result: Record<string, unknown> = {};
  if (schema.additionalProperties === true) Object.assign(result, value);
  for (const [name, property] of propertiesOf(schema)) {
    const read = normalise(property, own(value, name), text);
    if (read !== undefined) result[name] = read;
    else delete result[name];
  }
  return result;
};

/**
 * Null, blank and absent become undefined; strings are trimmed; fields that the schema does not name go.
 * (decision 7)
 */
const normalise = (schema: JsonSchema, value: unknown, text: boolean): unknown => {
  if (value === null || value === undefined) return undefined;
  const sent = text && typeof value === 'string' ? fromText(schema, value.trim()) : value;
  if (sent === undefined) return undefined;
  if (schema.type === 'string') return normaliseString(schema, sent);
  if (schema.type === 'integer' || schema.type === 'number') return normaliseNumber(schema, sent);
  if (schema.type === 'object' && isPlainObject(sent)) return normaliseObject(schema, sent, text);
  if (schema.type === 'array' && Array.isArray(sent))
    return sent.map((item: unknown) => normalise(schema.items ?? {}, item, text) ?? item);
  return sent;
};

/** What was left out reads as the schema's default, else as null. */
const complete = (schema: JsonSchema, value: unknown): unknown => {
  if (value === undefined) return schema.default ?? null;
  if (!isPlainObject(value) || schema.properties === undefined) return value;
  const whole: Record<string, unknown> = schema.additionalProperties === true ? { ...value } : {};
  for (const [name, property] of propertiesOf(schema)) whole[name] = complete(property, own(value, name));
  return whole;
};

const makeAjv = (): Ajv2020 => {
  const ajv = new Ajv2020({
    allErrors: true,
    verbose: true,
    ownProperties: true,
    strict: true,
    strictTypes: false,
    allowUnionTypes: true,
  });
  for (const keyword of extensionKeywords) ajv.addKeyword(keyword);
  for (const name of annotations) ajv.addFormat(name, true);
  return ajv;
};

let ajv: Ajv2020 | null = null;
const compiled = new WeakMap<JsonSchema, ValidateFunction>();

/** The validator of a schema, compiled once. */
export const validatorOf = (schema: JsonSchema): ValidateFunction => {
  const known = compiled.get(schema);
  if (known !== undefined) return known;
  ajv ??= makeAjv();
  for (const [name, accepts] of formats) if (!(name in ajv.formats)) ajv.addFormat(name, accepts);
  const validate = ajv.compile(schema);
  compiled.set(schema, validate);
  return validate;
};

interface Fault {
  /** Where in the order of the schema's properties. */
  readonly order: readonly number[];
  readonly property: string;
  readonly refusal: DomainError;
}

const article = (type: string): string =>
  type === 'integer'
    ? 'a whole number'
    : type === 'object'
      ? 'an object'
      : type === 'array'
        ? 'a list'
        : type === 'boolean'
          ? 'true or false'
          : `a ${type}`;

const rule = (schema: JsonSchema, keyword: string): string => {
  if (schema['x-hint'] !== undefined) return schema['x-hint'];
  if (schema.enum !== undefined) return `one of ${schema.enum.join(', ')}`;
  if (keyword === 'maxLength') return `at most ${schema.maxLength} characters`;
  if (keyword === 'minimum' || keyword === 'maximum')
    return [
      `a whole number`,
      schema.minimum === undefined ? '' : ` from ${schema.minimum}`,
      schema.maximum === undefined ? '' : ` to ${schema.maximum}`,
    ].join('');
  if (keyword === 'minItems') return `a list with at least ${schema.minItems} in it`;
  if (keyword === 'maxItems') return `a list with at most ${schema.maxItems} in it`;
  if (schema['x-number'] === 'text') return 'a string or a number';
  if (schema.format !== undefined) return `of the form ${schema.format}`;
  return typeof schema.type === 'string' ? article(schema.type) : 'as the documentation says';
};

/** What is wrong with the value of a schema, as a sentence. */
const complaint = (schema: JsonSchema, keyword: string, param: string, required: boolean): string => {
  if (keyword === 'required')
    return `\`${param}\` is required${schema['x-hint'] === undefined ? '' : `: ${schema['x-hint']}`}.`;
  if (keyword === 'minLength' && schema.minLength === 1)
    return `\`${param}\` is empty: fill it in${required ? '' : ', or leave it out'}.`;
  return `\`${param}\` must be ${rule(schema, keyword)}.`;
};

/**
 * Reads one of ajv's errors: which field, how early in the schema's order, and the code that the schema gives
 * it.
 */
const faultOf = (root: JsonSchema, error: ErrorObject): Fault => {
  const tokens =
    error.instancePath === ''
      ? []
      : error.instancePath
          .slice(1)
          .split('/')
          .map((token) => token.replaceAll('~1', '/').replaceAll('~0', '~'));
  if (error.keyword === 'required') tokens.push(String(error.params['missingProperty']));
  let node = root;
  let code: ErrorCode = root['x-error-code'] ?? 'invalid_parameter';
  const order: number[] = [];
  const names: string[] = [];
  let ofEach = '';
  let required = false;
  for (const token of tokens) {
    const inside = node.properties?.[token];
    order.push(inside === undefined ? Number(token) || 0 : Object.keys(node.properties ?? {}).indexOf(token));
    if (inside !== undefined) names.push(token);
    ofEach = inside === undefined ? 'Each of ' : '';
    required = node.required?.includes(token) === true;
    node = inside ?? node.items ?? {};
    code = node['x-error-code'] ?? code;
  }
  const param = names.join('.');
  const message = `${ofEach}${complaint(node, error.keyword, param, required)}`;
  return {
    order,
    property: names[0] ?? '',
    refusal: new DomainError(node['x-error-codes']?.[error.keyword] ?? code, message, param),
  };
};

const before = (a: Fault, b: Fault): number => {
  const length = Math.min(a.order.length, b.order.length);
  for (let at = 0; at < length; at++) {
    const difference = (a.order[at] ?? 0) - (b.order[at] ?? 0);
    if (difference !== 0) return difference;
  }
  return a.order.length - b.order.length;
};

/**
 * Every property of the schema, read or refused on its own: so a refusal of a later rule about an earlier
 * field can come first. (decision 2)
 */
export type FieldsOf<T> = { readonly [Name in keyof T]: Captured<T[Name]> };

const readWith = (
  schema: JsonSchema,
  raw: Readonly<Record<string, unknown>>,
  text: boolean,
): { readonly value: Readonly<Record<string, unknown>>; readonly faults: readonly Fault[] } => {
  const value = normaliseObject(schema, raw, text);
  const validate = validatorOf(schema);
  if (validate(value)) return { value, faults: [] };
  return { value, faults: (validate.errors ?? []).map((error) => faultOf(schema, error)).sort(before) };
};

/** Reads a body field by field. A field that was left out, null or blank is null, or its default. */
export const readFields = <T extends object>(schema: Schema<T>, body: JsonObject): FieldsOf<T> => {
  const { value, faults } = readWith(schema, body, false);
  return Object.fromEntries(
    propertiesOf(schema).map(([name, property]) => {
      const fault = faults.find((candidate) => candidate.property === name);
      return [
        name,
        fault === undefined ? { value: complete(property, own(value, name)) } : { refusal: fault.refusal },
      ];
    }),
  ) as FieldsOf<T>;
};

const readWhole = <T extends object>(
  schema: Schema<T>,
  raw: Readonly<Record<string, unknown>>,
  text: boolean,
): T => {
  const { value, faults } = readWith(schema, raw, text);
  const [first] = faults;
  if (first !== undefined) throw first.refusal;
  return complete(schema, value) as T;
};

/** Reads a body, or throws the first refusal in the order of the schema's properties. */
export const readAll = <T extends object>(schema: Schema<T>, body: JsonObject): T =>
  readWhole(schema, body, false);

/** Reads parameters of the path or the query, which come as text. */
export const readParameters = <T extends object>(
  schema: Schema<T>,
  raw: Readonly<Record<string, string>>,
): T => (propertiesOf(schema).length === 0 ? ({} as T) : readWhole(schema, raw, true));
