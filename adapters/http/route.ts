import { z } from 'zod';
import type { KeyHolder } from '../../application/authenticate.js';
import type { Scope } from '../../domain/api-key.js';
import type { ErrorCode } from '../../domain/errors.js';
import type { JsonObject } from './read.js';
import type { JsonSchema } from './json-schema.js';

/**
 * Who may call: the holder of a key (with a scope, or any), the operator, the holder of a token in the path,
 * anybody.
 */
export type Access =
  | { readonly kind: 'key'; readonly scope: Scope | null }
  | { readonly kind: 'operator' }
  | { readonly kind: 'hook' }
  | { readonly kind: 'public' };

export type KeyCaller = KeyHolder & { readonly kind: 'key' };
export type Caller = KeyCaller | { readonly kind: 'operator' } | { readonly kind: 'none' };
type CallerOf<A extends Access> = A extends { kind: 'key' }
  ? KeyCaller
  : A extends { kind: 'operator' }
    ? { readonly kind: 'operator' }
    : { readonly kind: 'none' };

/** One request as a handler sees it: authenticated, counted, authorised, parsed. */
export interface HttpRequest<C = Caller, Params = object, Query = object> {
  /** `req_…`, also in the answer's header. */
  readonly id: string;
  readonly caller: C;
  /** Path parameters, decoded and trimmed. */
  readonly params: Params;
  readonly query: Query;
  /**
   * The body as sent, without dangerous keys; empty where the route declares none. Read it with `readAll` or
   * `readFields`.
   */
  readonly body: JsonObject;
  /**
   * For routes with access `hook`, whose token is checked before the body is read (decision 46): reads it
   * now. Throws as decision 6 says.
   */
  readBody(): Promise<JsonObject>;
  /** Every value of a header, in order, as sent (bytes above 127 as Latin-1). */
  header(name: string): readonly string[];
  /** Aborts when the client goes away, and for an event stream when the service stops. */
  readonly signal: AbortSignal;
}

export interface ServerSentEvent {
  readonly id?: string;
  readonly event?: string;
  /** Sent as JSON. */
  readonly data: unknown;
}

type Headers = Readonly<Record<string, string>>;
export interface JsonAnswer {
  readonly status: number;
  readonly body: object;
  readonly headers?: Headers;
}
export interface TextAnswer {
  readonly status: number;
  readonly type: string;
  readonly text: string;
  readonly headers?: Headers;
}
/**
 * A stream of server-sent events: ends when the iteration does, when the client goes away, or when the
 * service stops.
 */
export interface StreamAnswer {
  readonly status: 200;
  readonly events: AsyncIterable<ServerSentEvent>;
  readonly headers?: Headers;
}
export type Answer = JsonAnswer | TextAnswer | StreamAnswer;

export interface DocumentedHeader {
  readonly description: string;
  readonly schema: JsonSchema;
}

/** A successful answer. `schema` null: no JSON (say `type` then). */
export interface DocumentedAnswer {
  readonly description: string;
  readonly schema: z.ZodType | null;
  readonly type?: string;
  readonly headers?: Readonly<Record<string, DocumentedHeader>>;
}

/** What the OpenAPI document says of an operation besides what the route's own fields say. */
export interface Operation {
  readonly operationId: string;
  readonly summary: string;
  readonly description?: string;
  readonly tags: readonly string[];
  /** Request headers besides Authorization. */
  readonly headers?: Readonly<Record<string, DocumentedHeader>>;
  readonly responses: Readonly<Record<number, DocumentedAnswer>>;
  /**
   * The codes that the handler can answer. Those of the pipeline (key, rate, scope, body, failure) are added.
   */
  readonly errors: readonly ErrorCode[];
}

export type Method = 'GET' | 'POST' | 'PUT' | 'PATCH' | 'DELETE';

/**
 * One row of the route table. Express routes, Allow, the OpenAPI document and the validators all come from
 * it.
 */
export interface Route {
  readonly method: Method;
  /** As Express writes it: `/api/v1/cards/:code`. Case-sensitive, strict about the trailing slash. */
  readonly path: string;
  readonly access: Access;
  readonly params: z.ZodObject;
  readonly query: z.ZodObject;
  /** Null: a body is ignored. */
  readonly body: z.ZodObject | null;
  /** The code of a 500. (spec: Codes) */
  readonly failure: ErrorCode;
  /**
   * What a path answers whose percent-encoding is broken, once the caller is admitted; `as-is` passes the
   * undecoded text. (decision 4)
   */
  readonly undecodable: ErrorCode | 'as-is';
  /**
   * True: the path with nothing in place of its last parameter is this route too; the parameter's schema then
   * refuses. (decision 4)
   */
  readonly blank: boolean;
  /** True: not in the OpenAPI document. */
  readonly hidden: boolean;
  readonly operation: Operation;
  handle(request: HttpRequest): Promise<Answer>;
}

interface Definition<A extends Access, Params extends z.ZodObject, Query extends z.ZodObject> {
  readonly method: Method;
  readonly path: string;
  readonly access: A;
  readonly params?: Params;
  readonly query?: Query;
  readonly body?: z.ZodObject;
  readonly failure: ErrorCode;
  readonly undecodable?: ErrorCode | 'as-is';
  readonly blank?: boolean;
  readonly hidden?: boolean;
  readonly operation: Operation;
  handle(request: HttpRequest<CallerOf<A>, z.output<Params>, z.output<Query>>): Promise<Answer>;
}

const nothing = z.object({});

/** Parameters of the path in order: `/cards/:code` has `code`. */
export const pathParameters = (path: string): readonly string[] =>
  [...path.matchAll(/:(\w+)/g)].map(([, name]) => name ?? '');

/** Declares a route. The types of caller, params and query follow from the definition. */
export const route = <
  const A extends Access,
  Params extends z.ZodObject = z.ZodObject,
  Query extends z.ZodObject = z.ZodObject,
>(
  definition: Definition<A, Params, Query>,
): Route => {
  const { path, params } = definition;
  const declared = Object.keys(params?.shape ?? {});
  const used = pathParameters(path);
  if (declared.length !== used.length || used.some((name) => !declared.includes(name)))
    throw new Error(
      `${definition.method} ${path} declares the parameters ${declared.join(', ') || '(none)'}`,
    );
  return {
    query: nothing,
    body: null,
    undecodable: 'not_found',
    blank: false,
    hidden: false,
    ...definition,
    params: params ?? nothing,
  };
};

/** `/api/v1/cards/{code}`, as OpenAPI, logs and metrics write a path. */
export const templateOf = (path: string): string => path.replaceAll(/:(\w+)/g, '{$1}');
