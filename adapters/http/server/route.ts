import type { Headers } from './respond.js';
import { z } from 'zod';
import type { ErrorCode } from '../../../domain/errors.js';
import { house } from '../../../domain/members.js';
import type { SharedDocument } from './documents.js';
import type { Body, JsonObject } from '../schema/read.js';
import type { Access, Caller, CallerOf, Subject } from './access.js';
import type { JsonSchema } from '../schema/json-schema.js';
import { readBody, readFile, readForm } from './bodies.js';
import { headerValues, type Abortable, type Exchange, type Matched } from './exchange.js';
import type { FileLimit, Upload } from './upload.js';

/**
 * One request as a handler sees it: authenticated, counted, authorised, parsed. It is a class so that a
 * request costs one object and no closures.
 */
export class HttpRequest<C = Caller, Params = object, Query = object> {
  /** `req_…`, also in the header of the response. */
  readonly id: string;
  /** Its place in a trace, from the client, or else made here. (docs/operations.md#traces) */
  readonly traceparent: string;

  constructor(
    private readonly exchange: Exchange,
    readonly caller: C,
    /** Path parameters, decoded and trimmed. */
    readonly params: Params,
    readonly query: Query,
    /** The body as sent, without dangerous keys; empty if the route declares none. */
    readonly sent: JsonObject,
    private readonly abortable: Abortable,
  ) {
    this.id = exchange.id;
    this.traceparent = exchange.traceparent;
  }

  /** The query as sent: for routes with access `page`. */
  get search(): string {
    return this.exchange.search;
  }

  /** When it came, by the clock by which Idempotency-Keys age. */
  get came(): number {
    return this.exchange.came;
  }

  /** The address of the other end of the connection. */
  get address(): string {
    return this.exchange.address;
  }

  /** Aborts when the client goes away, and when the service stops. */
  get signal(): AbortSignal {
    return this.abortable.signalOf(this.exchange);
  }

  /** Every value of a header, in order, as sent (bytes above 127 as Latin-1). `name` is in lower case. */
  header(name: string): readonly string[] {
    return headerValues(this.exchange.request.rawHeaders, name);
  }

  /**
   * Reads the body now: for routes with access `hook`, whose token is checked first. Throws the refusal of
   * the body. (decision 46: when the token is checked; decision 6: what counts as valid JSON)
   */
  readBody(): Promise<JsonObject> {
    return readBody(this.exchange);
  }

  /**
   * Reads the form that was sent: for routes with access `page`. Throws `unsupported_media_type`,
   * `body_too_large` and `invalid_body`.
   */
  readForm(): Promise<ReadonlyMap<string, string>> {
    return readForm(this.exchange);
  }

  /**
   * Reads a form with a file: for routes with access `page`. The rest of the file is discarded if the handler
   * leaves it. Throws `unsupported_media_type`, `body_too_large`, `invalid_body` and ClientGone.
   */
  readUpload(limit?: FileLimit): Promise<Upload> {
    return readFile(this.exchange, limit);
  }

  /** Sets the subject of the request in the log, where neither the caller nor the path names it. */
  concerns(subject: Subject): void {
    this.exchange.subject = subject;
  }

  /**
   * Takes one of the `most` places that the route has for its owner, an organization or an operator; it
   * is free again once the response is over. To be called before anything else is done. Throws `rate_limited`
   * if there is none.
   */
  takePlace(owner: string, most: number): void {
    const { template, caller } = this.exchange;
    const isOurs = caller.kind === 'operator' || owner === house;
    this.abortable.takePlace(this.exchange, { what: template ?? '', owner, isOurs }, most);
  }
}

export interface ServerSentEvent {
  readonly id?: string;
  readonly event?: string;
  /** Sent as JSON. */
  readonly data: unknown;
}

export interface JsonResponse {
  /** The lowest status that the route describes, if it is left out. */
  readonly status?: number;
  readonly body: object;
  readonly headers?: Headers;
}
export interface TextResponse {
  /** As of JSON. */
  readonly status?: number;
  readonly type: string;
  readonly text: string;
  readonly headers?: Headers;
}
/** A whole response whose body is bytes; null for a 304. */
export interface BytesResponse {
  readonly type: string;
  readonly bytes: Buffer | null;
  readonly headers?: Headers;
}
/**
 * A stream of server-sent events. It ends when the iteration ends, the client goes away, or the service
 * stops.
 */
export interface StreamResponse {
  readonly events: AsyncIterable<ServerSentEvent>;
  /**
   * `application/jsonl`: the data of each event on a line, and nothing else. A connection that ends before
   * the iteration does is then broken off, so that no client takes a part for the whole.
   */
  readonly type?: 'text/event-stream' | 'application/jsonl';
  /** Sent instead of a comment to show that the stream is alive; null for a comment. */
  readonly beat?: () => ServerSentEvent | null;
}
/**
 * Text in pieces that end at line breaks, or bytes, sent at the pace of the client. It ends when the
 * iteration ends; where that throws, or the service stops, the connection is dropped, so that no client takes
 * a part for the whole.
 */
export interface LinesResponse {
  readonly type: string;
  readonly lines: AsyncIterable<string | Uint8Array>;
  readonly headers?: Headers;
}
/** A document that clients may keep, and get compressed. */
export interface DocumentResponse {
  readonly document: SharedDocument;
}
export type RouteResponse =
  JsonResponse | TextResponse | BytesResponse | StreamResponse | LinesResponse | DocumentResponse;

export interface DocumentedHeader {
  readonly description: string;
  readonly schema: JsonSchema;
}

/** A successful response. `schema` is null if it isn't JSON; `type` then names its media type. */
export interface DocumentedResponse {
  readonly description: string;
  readonly schema: z.ZodType | null;
  readonly type?: string;
  /** Media types that a client may ask for with `Accept` instead: texts, or JSON with a schema. */
  readonly alsoAs?: readonly (string | { readonly type: string; readonly schema: z.ZodType })[];
  /** The type of the data of server-sent events, if it is the same for all. */
  readonly eventData?: z.ZodType;
  readonly headers?: Readonly<Record<string, DocumentedHeader>>;
}

export type Method = 'GET' | 'POST' | 'PUT' | 'PATCH' | 'DELETE';

/**
 * One row of the route table. The routes of Express, the header Allow, the OpenAPI document and the checks of
 * requests all come from it.
 */
export interface Route extends Matched {
  readonly method: Method;
  /** As Express writes it: `/api/v1/cards/:code`. Case-sensitive, and strict about a trailing slash. */
  readonly path: string;
  /**
   * The code for a path with broken percent-encoding, once the caller is admitted; `as-is` passes the text on
   * undecoded. (decision 4: a path without a code, or with broken encoding)
   */
  readonly undecodable: ErrorCode | 'as-is';
  /**
   * True if the path without its last parameter belongs to this route, too; the schema of the parameter then
   * refuses. (decision 4: a path without a code, or with broken encoding)
   */
  readonly blank: boolean;
  /** True if the route isn't in the OpenAPI document. */
  readonly hidden: boolean;
  /** True if a rehearsal answers, too: by default a GET. */
  readonly rehearses: boolean;
  /** The name of the operation in the document. */
  readonly id: string;
  readonly summary: string;
  readonly description?: string;
  /** True if another operation takes its place. */
  readonly deprecated?: boolean;
  /** None, if the documents leave the route out. */
  readonly tags: readonly string[];
  /** Request headers besides Authorization. */
  readonly headers?: Readonly<Record<string, DocumentedHeader>>;
  readonly responses: Readonly<Record<number, DocumentedResponse>>;
  /** The lowest status of `responses`. */
  readonly status: number;
  /**
   * The codes that only the handler knows of. Those of the pipeline (key, rate, scope, body, failure), the
   * path, the schemas and the parameters of lists are added.
   */
  readonly errors: readonly ErrorCode[];
  /** `body`: the values that its declaration has read. */
  handle(request: HttpRequest, body: unknown): Promise<RouteResponse>;
}

type Answers = Readonly<Record<number, z.ZodType | readonly [description: string, schema: z.ZodType]>>;

/** The description of a route besides its method and its path. */
export interface Definition<A extends Access, Params extends z.ZodObject, Query extends z.ZodObject, Values>
  extends
    Pick<Route, 'id' | 'summary'>,
    Partial<Pick<Route, 'description' | 'deprecated' | 'tags' | 'headers' | 'responses' | 'errors'>>,
    Partial<Pick<Route, 'failure' | 'undecodable' | 'blank' | 'hidden' | 'rehearses'>> {
  readonly access: A;
  readonly params?: Params;
  readonly query?: Query;
  readonly body?: Body<Values>;
  /** The bodies of responses: with a description, or of those that need none. */
  readonly answers?: Answers;
  handle(
    request: HttpRequest<CallerOf<A>, z.output<Params>, z.output<Query>>,
    body: Values,
  ): Promise<RouteResponse>;
}

export const sentTypesOf = ({ params, query, body }: Matched): readonly z.ZodObject[] => [
  params,
  query,
  ...(body === null ? [] : [body.schema]),
];

export const returnedTypesOf = ({ responses }: Route): readonly z.ZodType[] =>
  Object.values(responses).flatMap(({ schema, alsoAs = [], eventData }) => [
    ...(schema === null ? [] : [schema]),
    ...(eventData === undefined ? [] : [eventData]),
    ...alsoAs.flatMap((also) => (typeof also === 'string' ? [] : [also.schema])),
  ]);

const nothing = z.object({});

/** Parameters of the path in order: `/cards/:code` has `code`. */
export const pathParameters = (path: string): readonly string[] =>
  [...path.matchAll(/:(\w+)/g)].map(([, name]) => name ?? '');

/** The description of a response that needs no other. */
export const success = 'Success.';

const succeeding = (answers: Answers): Route['responses'] =>
  Object.fromEntries(
    Object.entries(answers).map(([status, answer]) => {
      const [description, schema] = answer instanceof z.ZodType ? [success, answer] : answer;
      return [status, { description, schema }];
    }),
  );

/**
 * Declares a route by its method and its path: `GET /api/v1/cards/:code`. The types of caller, params and
 * query follow from the definition.
 */
export const route = <
  const A extends Access,
  Params extends z.ZodObject = z.ZodObject,
  Query extends z.ZodObject = z.ZodObject,
  Values = undefined,
>(
  call: `${Method} ${string}`,
  definition: Definition<A, Params, Query, Values>,
): Route => {
  const { answers = {}, responses = succeeding(answers), ...described } = definition;
  const [method, path] = call.split(' ') as [Method, string];
  const declared = Object.keys(described.params?.shape ?? {});
  const used = pathParameters(path);
  if (declared.length !== used.length || used.some((name) => !declared.includes(name)))
    throw new Error(`${call} declares the parameters ${declared.join(', ') || '(none)'}`);
  return {
    params: nothing,
    query: nothing,
    body: null,
    failure: method === 'GET' ? 'read_failed' : 'internal_error',
    undecodable: 'not_found',
    blank: false,
    hidden: false,
    rehearses: method === 'GET',
    tags: [],
    errors: [],
    ...described,
    responses,
    status: Number(Object.keys(responses)[0] ?? 200),
    method,
    path,
  };
};

/** `/api/v1/cards/{code}`, as OpenAPI, logs and metrics write a path. */
export const templateOf = (path: string): string => path.replaceAll(/:(\w+)/g, '{$1}');
