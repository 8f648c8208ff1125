import { Ajv2020, type ValidateFunction } from 'ajv/dist/2020.js';
import { annotations, extensionKeywords, type JsonSchema } from '../../adapters/http/schema.js';

type Content = Readonly<Record<string, { readonly schema: JsonSchema }>>;

export interface DocumentedParameter {
  readonly name: string;
  readonly in: 'path' | 'query' | 'header';
  readonly schema: JsonSchema;
}

export interface DocumentedOperation {
  readonly method: string;
  readonly path: string;
  readonly operationId: string;
  readonly summary: string;
  readonly tags: readonly string[];
  readonly security: readonly Readonly<Record<string, readonly string[]>>[];
  readonly 'x-scope'?: string | null;
  readonly parameters?: readonly DocumentedParameter[];
  readonly requestBody?: { readonly content: Content };
  readonly responses: Readonly<Record<string, { readonly description: string; readonly headers: object; readonly content?: Content }>>;
}

/** The OpenAPI document as a client reads it. */
export interface Document {
  readonly openapi: string;
  readonly paths: Readonly<Record<string, Readonly<Record<string, DocumentedOperation>>>>;
  readonly components: { readonly schemas: Readonly<Record<string, JsonSchema>> };
}

export const readDocument = async (baseUrl: string): Promise<Document> => (await (await fetch(`${baseUrl}/openapi.json`)).json()) as Document;

export const operationsOf = ({ paths }: Document): readonly DocumentedOperation[] =>
  Object.entries(paths).flatMap(([path, methods]) =>
    Object.entries(methods).map(([method, operation]) => ({ ...operation, method: method.toUpperCase(), path })),
  );

/** Nothing may be in an answer that the document does not name: closes every object that does not say that it is open. */
const closed = (schema: unknown): unknown => {
  if (Array.isArray(schema)) return schema.map(closed);
  if (typeof schema !== 'object' || schema === null) return schema;
  const inside = Object.fromEntries(
    Object.entries(schema).map(([name, value]) => [name, name === 'enum' || name === 'examples' ? (value as unknown) : closed(value)]),
  );
  return 'properties' in inside && !('additionalProperties' in inside) && inside['type'] === 'object' ? { ...inside, additionalProperties: false } : inside;
};

/** Says what is wrong with an answer by the document; null where nothing is. Every declared field must be there. (decision 24) */
export type Conformance = (operationId: string, reply: { readonly status: number; readonly text: string }) => string | null;

export const conformanceTo = (document: Document): Conformance => {
  const ajv = new Ajv2020({ strict: false, allErrors: true });
  for (const name of annotations) ajv.addFormat(name, true);
  for (const keyword of extensionKeywords) ajv.addKeyword(keyword);
  ajv.addSchema({ $id: 'document', components: closed(document.components) as object });
  const validators = new Map<string, ValidateFunction | null>();
  const operations = operationsOf(document);
  const validatorOf = (operationId: string, status: number): ValidateFunction | null => {
    const name = `${operationId} ${status}`;
    const known = validators.get(name);
    if (known !== undefined) return known;
    const schema = operations.find((operation) => operation.operationId === operationId)?.responses[status]?.content?.['application/json']?.schema;
    const absolute = schema === undefined ? null : (JSON.parse(JSON.stringify(closed(schema)).replaceAll('"#/components', '"document#/components')) as object);
    const validate =
      absolute === null
        ? null
        : ajv.compile(
            status >= 400 ? JSON.parse(JSON.stringify(absolute).replaceAll('"additionalProperties":false', '"additionalProperties":true')) : absolute,
          );
    validators.set(name, validate);
    return validate;
  };
  return (operationId, { status, text }) => {
    const validate = validatorOf(operationId, status);
    if (validate === null) return `${operationId} does not document ${status}: ${text}`;
    return validate(JSON.parse(text)) ? null : `${operationId} ${status}: ${ajv.errorsText(validate.errors)} in ${text}`;
  };
};
