import { Ajv2020 } from 'ajv/dist/2020.js';

/** What the service adds to JSON Schema. (adapters/http/schema/json-schema.ts) */
const extensions = ['x-error-code', 'x-error-codes', 'x-blank', 'x-number', 'x-clamp', 'x-hint'];
/** Formats say what a value holds; they are not checked. */
const formats = ['date-time', 'uri', 'uuid', 'date'];

/** A validator of JSON Schema that knows the service's own keywords. */
export const validator = (): Ajv2020 =>
  new Ajv2020({
    allErrors: true,
    strict: true,
    // To compile the schema of schemas takes ten times as long as all of ours.
    meta: false,
    validateSchema: false,
    strictTypes: false,
    allowUnionTypes: true,
    keywords: [...extensions, 'components'],
    formats: Object.fromEntries(formats.map((name) => [name, true])),
  });

type Node = Readonly<Record<string, unknown>>;

const isNode = (value: unknown): value is Node => typeof value === 'object' && value !== null;

interface Shown {
  readonly schema: Node;
  readonly examples: readonly unknown[];
}

/** Every schema inside a document that shows examples. */
const shownIn = (value: unknown): readonly Shown[] => {
  if (!isNode(value)) return [];
  const { examples, ...schema } = value;
  const inside = Object.values(schema).flatMap(shownIn);
  return Array.isArray(examples) ? [{ schema, examples }, ...inside] : inside;
};

/** Throws if an example in an OpenAPI document breaks the schema that shows it. */
export const assertExamples = (document: {
  readonly components?: unknown;
  readonly paths?: unknown;
}): void => {
  const shown = [...new Map(shownIn(document).map((each) => [JSON.stringify(each), each])).entries()];
  const ajv = validator();
  const validate = ajv.compile({
    components: document.components,
    properties: Object.fromEntries(shown.map(([name, { schema }]) => [name, { items: schema }])),
  });
  if (!validate(Object.fromEntries(shown.map(([name, { examples }]) => [name, examples]))))
    throw new Error(`an example breaks its schema: ${ajv.errorsText(validate.errors)}`);
};
