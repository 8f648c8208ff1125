import type { JsonSchema } from '../../../adapters/http/schema/json-schema.js';

type Content = Readonly<Record<string, { readonly schema: JsonSchema; readonly example?: unknown }>>;

export interface DocumentedParameter {
  readonly name: string;
  readonly in: 'path' | 'query' | 'header';
  readonly description?: string;
  readonly schema: JsonSchema;
}

export interface DocumentedOperation {
  readonly method: string;
  readonly path: string;
  readonly operationId: string;
  readonly summary: string;
  readonly description?: string;
  readonly deprecated?: boolean;
  readonly tags: readonly string[];
  readonly security: readonly Readonly<Record<string, readonly string[]>>[];
  readonly 'x-scope'?: string | null;
  readonly 'x-codeSamples'?: readonly { readonly label: string; readonly source: string }[];
  readonly parameters?: readonly DocumentedParameter[];
  readonly requestBody?: { readonly content: Content };
  readonly responses: Readonly<
    Record<string, { readonly description: string; readonly headers: object; readonly content?: Content }>
  >;
}

/** The OpenAPI document as a client reads it. */
export interface Document {
  readonly openapi: string;
  readonly paths: Readonly<Record<string, Readonly<Record<string, DocumentedOperation>>>>;
  readonly webhooks?: {
    readonly cardEvent: {
      readonly post: {
        readonly tags: readonly string[];
        readonly parameters: readonly DocumentedParameter[];
        readonly security: DocumentedOperation['security'];
      };
    };
  };
  readonly components: {
    readonly schemas: Readonly<Record<string, JsonSchema>>;
    readonly securitySchemes: Readonly<Record<string, unknown>>;
  };
}

export const readDocument = async (baseUrl: string, path = '/openapi.json'): Promise<Document> =>
  (await (await fetch(`${baseUrl}${path}`)).json()) as Document;

export const operationsOf = ({ paths }: Document): readonly DocumentedOperation[] =>
  Object.entries(paths).flatMap(([path, methods]) =>
    Object.entries(methods).map(([method, operation]) => ({
      ...operation,
      method: method.toUpperCase(),
      path,
    })),
  );
