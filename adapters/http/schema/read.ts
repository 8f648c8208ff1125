import { z } from 'zod';
import { DomainError, unwrap, type Captured } from '../../../domain/errors.js';
import { countCharacters, isBlank, truncate } from '../../../domain/text.js';
import { NumberText } from '../../../domain/plain-object.js';
import { nearest } from '../../../domain/nearest.js';
import { jsonSchemaOf, type JsonSchema } from './json-schema.js';

export type Json =
  string | number | NumberText | boolean | null | readonly Json[] | { readonly [name: string]: Json };
export type JsonObject = { readonly [name: string]: Json };

/** Objects as they were sent, where keys were removed from them because they could reach a prototype. */
export const asSent = new WeakMap<object, JsonObject>();

/**
 * Null becomes undefined, strings are trimmed, and empty if nothing of them shows; numbers are doubles. An
 * item of a list stays where it is. (decision 7: null and blanks count as left out)
 */
const tidied = (value: unknown): unknown => {
  if (value === null) return undefined;
  if (typeof value === 'string') return isBlank(value) ? '' : value.trim();
  if (typeof value !== 'object') return value;
  if (value instanceof NumberText) return Number(value.text);
  if (Array.isArray(value)) return value.map((item: unknown) => tidied(item) ?? item);
  const tidy: Record<string, unknown> = {};
  for (const [name, inside] of Object.entries(value)) tidy[name] = tidied(inside);
  return tidy;
};

/** A value that its schema refused, and how the document describes it. */
interface RefusedValue {
  readonly param: string;
  readonly value: unknown;
  readonly schema: JsonSchema;
  readonly isRequired: boolean;
  readonly isBlank: boolean;
  /** The place of an item in the list that `param` names; absent for any other value. */
  readonly item: number | undefined;
}

const nouns: Readonly<Record<string, string>> = {
  integer: 'a whole number',
  object: 'an object',
  array: 'a list',
  boolean: 'true or false',
};

const rangeOf = ({ minimum, maximum }: JsonSchema): string =>
  [minimum === undefined ? '' : ` from ${minimum}`, maximum === undefined ? '' : ` to ${maximum}`].join('');

/** Completes "{param} must be …". */
const rule = ({ schema, value }: RefusedValue): string => {
  const { 'x-hint': hint, enum: values, maxLength, minItems, maxItems } = schema;
  if (hint !== undefined) return hint;
  if (values !== undefined) return `one of ${values.join(', ')}`;
  if (maxLength !== undefined && typeof value === 'string') return `at most ${maxLength} characters long`;
  if (minItems !== undefined && Array.isArray(value) && value.length < minItems)
    return `a list of at least ${minItems}`;
  if (maxItems !== undefined && Array.isArray(value) && value.length > maxItems)
    return `a list of at most ${maxItems}`;
  if (schema['x-number'] === 'text') return 'a string or a number';
  const type = typeof schema.type === 'string' ? schema.type : 'value of the documented form';
  return `${nouns[type] ?? `a ${type}`}${type === 'integer' ? rangeOf(schema) : ''}`;
};

const maxShownLength = 100;

/** The end of a refusal: the value where it can't be personal, else its kind or its length. */
const shown = (value: unknown, { enum: values, type, maxLength = Infinity }: JsonSchema): string => {
  if (Array.isArray(value)) return type === 'array' ? `, not ${value.length}` : ', not a list';
  if (value === null || typeof value === 'boolean') return `, not ${value}`;
  const sent = value instanceof NumberText ? value.text : value;
  if (typeof sent !== 'string' && typeof sent !== 'number') return ', not an object';
  const kind = value instanceof NumberText ? 'number' : typeof sent;
  const text = String(sent);
  if (values !== undefined || type === 'integer' || type === 'boolean')
    return `, not \`${truncate(text, maxShownLength)}\``;
  if (kind !== type) return `, not a ${kind}`;
  const length = countCharacters(text);
  return length > maxLength ? `, not ${length}` : '';
};

const textsIn = ({ enum: values = [] }: JsonSchema): readonly string[] =>
  values.filter((value) => typeof value === 'string');

const sentenceFor = (refused: RefusedValue): string => {
  const { param, value, schema, isRequired, isBlank, item } = refused;
  if (value === undefined)
    return `\`${param}\` is required${schema['x-hint'] === undefined ? '' : `: ${schema['x-hint']}`}.`;
  if (isBlank) return `\`${param}\` is empty: fill it in${isRequired ? '' : ', or leave it out'}.`;
  const meant =
    schema.enum === undefined || typeof value !== 'string' ? null : nearest(value, textsIn(schema));
  const proposal = meant === null ? '' : ` Did you mean \`${meant}\`?`;
  const name = item === undefined ? param : `${param}[${item}]`;
  return `\`${name}\` must be ${rule(refused)}${shown(value, schema)}.${proposal}`;
};

/**
 * The refusal of a field, made from the first of its issues. Issues come in the order in which the schema
 * declares the fields inside.
 */
const refusalOf = (
  body: JsonSchema,
  field: string,
  sent: unknown,
  { path, ...issue }: z.core.$ZodIssue,
): DomainError => {
  let schema = body;
  let code = body['x-error-code'];
  let value: unknown = { [field]: sent };
  let param = '';
  let isRequired = false;
  let item: number | undefined;
  for (const step of [field, ...path]) {
    item = typeof step === 'number' ? step : undefined;
    const name = String(step);
    if (item === undefined) param = param === '' ? name : `${param}.${name}`;
    isRequired = schema.required?.includes(name) === true;
    value = (value as Readonly<Record<string, unknown>>)[name];
    schema = (item === undefined ? schema.properties?.[name] : schema.items) ?? {};
    code = schema['x-error-code'] ?? code;
  }
  const refusal: unknown = issue.code === 'custom' ? issue.params?.['refusal'] : undefined;
  return refusal instanceof DomainError
    ? new DomainError(refusal.code, refusal.message, refusal.param ?? param)
    : new DomainError(
        code ?? 'invalid_parameter',
        sentenceFor({
          param,
          value,
          schema,
          isRequired,
          isBlank: issue.code === 'too_small' && issue.origin === 'string',
          item,
        }),
        param,
      );
};

/**
 * Every field of a body, each read or refused on its own: so a later rule about an earlier field can still be
 * the first to refuse. (decision 2: of several wrong fields, one is reported)
 */
export type FieldsOf<S extends z.ZodObject> = {
  readonly [Name in keyof z.output<S>]-?: Captured<z.output<S>[Name]>;
};

type Sent = Readonly<Record<string, unknown>>;

const isRefused = (item: unknown, { enum: values, type }: JsonSchema): boolean =>
  values === undefined
    ? type === 'string' && typeof item !== 'string'
    : !(values as readonly unknown[]).includes(item);

/** A list as far as the first item that is refused: to find thousands of them takes long, and one is told. */
const asFarAsGood = (list: readonly unknown[], items: JsonSchema = {}): readonly unknown[] => {
  const refused = list.findIndex((item) => isRefused(item, items));
  return refused < 0 ? list : list.slice(0, refused + 1);
};

const sentFor = (schema: z.ZodObject, body: Sent): Sent => {
  const { properties = {} } = jsonSchemaOf(schema);
  const sent: Record<string, unknown> = {};
  for (const name in schema.shape) {
    const value = Object.hasOwn(body, name) ? body[name] : undefined;
    const isText = value instanceof NumberText && properties[name]?.['x-number'] === 'text';
    const tidy = isText ? value.text : tidied(value);
    sent[name] = Array.isArray(tidy) ? asFarAsGood(tidy, properties[name]?.items) : tidy;
  }
  return sent;
};

const readField = (schema: z.ZodObject, name: string, sent: Sent, body: Sent): Captured<unknown> => {
  const { data, error } = z.safeParse(schema.shape[name] as z.ZodType, sent[name]);
  const [issue] = error?.issues ?? [];
  return issue === undefined
    ? { value: data }
    : {
        refusal: refusalOf(
          jsonSchemaOf(schema),
          name,
          body[name] instanceof NumberText ? body[name] : sent[name],
          issue,
        ),
      };
};

/** Reads the fields of a body, each on its own. */
export const parseFields = <S extends z.ZodObject>(schema: S, body: Sent): FieldsOf<S> => {
  const sent = sentFor(schema, body);
  const whole: { readonly data?: Sent } = z.safeParse(schema, sent);
  const fields: Record<string, Captured<unknown>> = {};
  for (const name in schema.shape)
    fields[name] =
      whole.data === undefined ? readField(schema, name, sent, body) : { value: whole.data[name] };
  return fields as FieldsOf<S>;
};

/** Reads a body, or throws the first refusal in the order in which the schema declares its fields. */
export const parseValues = <S extends z.ZodObject>(schema: S, body: Sent): z.output<S> => {
  const sent = sentFor(schema, body);
  const { data, error } = z.safeParse(schema, sent);
  if (error === undefined) return data;
  for (const name in schema.shape) unwrap(readField(schema, name, sent, body));
  throw error;
};

/** The body of a request: its description in documents, and its values for the handler. */
export interface Body<Values = unknown> {
  readonly schema: z.ZodObject;
  readonly read: (sent: JsonObject) => Values;
}

/** A body whose values its handler gets, or that is refused. */
export const whole = <S extends z.ZodObject>(schema: S): Body<z.output<S>> => ({
  schema,
  read: (sent) => parseValues(schema, sent),
});

/**
 * Gives a refusal without `param` the name of the first field that the body declares to be refused with its
 * code; returns any other error as it is. So rules that run after the body was read need no field names. One
 * of several codes is no sign of its field if it is `invalid_parameter`, which is that of any field.
 */
export const atField = (body: z.ZodObject, error: unknown): unknown => {
  if (!(error instanceof DomainError) || error.param !== null) return error;
  const { code, message } = error;
  const { properties = {} } = jsonSchemaOf(body);
  const name = Object.keys(properties).find(
    (field) =>
      properties[field]?.['x-error-code'] === code ||
      (code !== 'invalid_parameter' && properties[field]?.['x-error-codes']?.includes(code) === true),
  );
  return name === undefined ? error : new DomainError(code, message, name);
};
