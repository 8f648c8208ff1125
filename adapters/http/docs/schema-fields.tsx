import type { JsonSchema } from '../schema/json-schema.js';
import type { Html } from '../web/prose.js';
import { line } from './text.js';

/** A field as a reader sees it. */
export interface Field {
  readonly name: string;
  readonly schema: JsonSchema;
  readonly required: boolean;
}

const concrete = (schema: JsonSchema): JsonSchema =>
  schema.anyOf?.find((candidate) => candidate.type !== 'null') ?? schema;

/** The fields of an object; fields inside objects and lists have dotted names. */
export const fieldsOf = (schema: JsonSchema, prefix = ''): readonly Field[] =>
  Object.entries(schema.properties ?? {}).flatMap(([name, property]) => {
    const here = {
      name: `${prefix}${name}`,
      schema: property,
      required: schema.required?.includes(name) === true,
    };
    const inside = concrete(property);
    return [
      here,
      ...fieldsOf(inside, `${prefix}${name}.`),
      ...(inside.items === undefined ? [] : fieldsOf(concrete(inside.items), `${prefix}${name}[].`)),
    ];
  });

const typeOf = (schema: JsonSchema): string => {
  if (schema.anyOf !== undefined) return schema.anyOf.map(typeOf).join(' or ');
  if (schema.const !== undefined) return `always ${JSON.stringify(schema.const)}`;
  const type = typeof schema.type === 'string' ? schema.type : (schema.type?.join(' or ') ?? 'any');
  if (schema.items !== undefined) return `list of ${typeOf(schema.items)}`;
  return schema.format === undefined ? type : `${type} (${schema.format})`;
};

const valuesOf = ({ enum: values }: JsonSchema): string | null =>
  values?.map((value) => `\`${value}\``).join(', ') ?? null;

const rangeOf = ({ minimum, maximum }: JsonSchema): string => {
  const to =
    maximum === undefined || maximum === Number.MAX_SAFE_INTEGER
      ? ''
      : ` to ${maximum.toLocaleString('en-US')}`;
  return minimum === undefined || (minimum === 0 && to === '') ? '' : `From ${minimum}${to}.`;
};

/** Limits of a schema that its description does not name. */
const limits = (schema: JsonSchema): string =>
  [
    valuesOf(schema) === null ? '' : `One of ${valuesOf(schema)}.`,
    schema.items === undefined || valuesOf(schema.items) === null ? '' : `Any of ${valuesOf(schema.items)}.`,
    rangeOf(schema),
    schema.maxLength === undefined || schema.description?.includes(`${schema.maxLength} characters`) === true
      ? ''
      : `At most ${schema.maxLength} characters.`,
  ]
    .filter(Boolean)
    .join(' ');

interface FieldsProps {
  readonly fields: readonly Field[];
  /** `sent`: shows which of them a request needs. */
  readonly are: 'sent' | 'returned';
}

/** Fields with their types, descriptions and limits. Nested ones are indented. */
export const Fields = ({ fields, are }: FieldsProps): Html =>
  fields.length === 0 ? null : (
    <dl class="fields">
      {fields.map(({ name, schema, required }) => (
        <div>
          <dt>
            <code>{name}</code> <span class="type">{typeOf(schema)}</span>
            {are === 'sent' && required ? <span class="required"> required</span> : null}
          </dt>
          <dd>{line([schema.description ?? '', limits(concrete(schema))].join(' ').trim())}</dd>
        </div>
      ))}
    </dl>
  );
