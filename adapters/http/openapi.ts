import type { z } from 'zod';
import type { ErrorCode } from '../../domain/errors.js';
import { errorPages } from './docs/error-pages.js';
import { statusOf } from './errors.js';
import { mostNamed } from './ignored.js';
import { documented, jsonSchemaOf, type JsonSchema } from './json-schema.js';
import { webhookEvent, webhookHeaders } from './outbound.js';
import {
  pathParameters,
  templateOf,
  type DocumentedResponse,
  type DocumentedHeader,
  type Route,
} from './route.js';

type Node = Readonly<Record<string, unknown>>;

/** The codes with which values that break a schema are refused, from the outside in. */
const codesIn = (schema: JsonSchema): readonly ErrorCode[] => [
  ...(schema['x-error-code'] === undefined ? [] : [schema['x-error-code']]),
  ...(schema['x-error-codes'] ?? []),
  ...Object.values(schema.properties ?? {}).flatMap(codesIn),
  ...(schema.items === undefined ? [] : codesIn(schema.items)),
];

/**
 * The codes that a route can return: its own, those of its schemas, and those of the pipeline before it.
 * (decision 1: one order of checks)
 */
export const errorsOf = (route: Route): readonly ErrorCode[] => {
  const { access, operation } = route;
  const codes: ErrorCode[] = [];
  if (access.kind === 'key')
    codes.push(
      'missing_key',
      'malformed_key',
      'invalid_key',
      'revoked_key',
      'suspended',
      'rate_limited',
      'invalid_request',
    );
  if (access.kind === 'key' && access.scope !== null) codes.push('missing_scope');
  if (access.kind === 'operator')
    codes.push(
      'missing_key',
      'invalid_key',
      'revoked_key',
      'missing_scope',
      'rate_limited',
      'invalid_request',
    );
  if (route.body !== null)
    codes.push('unsupported_media_type', 'body_too_large', 'invalid_json', 'invalid_body');
  if (access.kind === 'key' || access.kind === 'operator') codes.push('invalid_parameter');
  for (const schema of [route.params, route.query, ...(route.body === null ? [] : [route.body])])
    codes.push(...codesIn(jsonSchemaOf(schema)));
  if (pathParameters(route.path).length > 0 && route.undecodable !== 'as-is') codes.push(route.undecodable);
  codes.push(...operation.errors, route.failure);
  return [...new Set(codes)].sort((a, b) => statusOf(a) - statusOf(b));
};

/** The schemas of all types of the routes, and the components to which they refer. */
const schemasOf = (routes: readonly Route[]) => {
  const types = [
    webhookEvent,
    ...routes.flatMap(({ params, query, body, operation }) => [
      params,
      query,
      ...(body === null ? [] : [body]),
      ...Object.values(operation.responses).flatMap(({ schema }) => (schema === null ? [] : [schema])),
    ]),
  ];
  const { schemas, components } = documented(types);
  const known = new Map(types.map((type, index) => [type, schemas[index] ?? {}]));
  return { schemaOf: (type: z.ZodType): JsonSchema => known.get(type) ?? {}, components };
};

type SchemaOf = ReturnType<typeof schemasOf>['schemaOf'];

const header = (description: string, schema: JsonSchema): DocumentedHeader => ({ description, schema });

const everyHeader: Readonly<Record<string, DocumentedHeader>> = {
  'x-request-id': header('Identifier of this request. Quote it when you ask for help.', {
    type: 'string',
    pattern: '^req_',
  }),
  'x-ratelimit-limit': header('Requests allowed per minute for this key.', { type: 'integer' }),
  'x-ratelimit-remaining': header('Requests left in the current minute.', { type: 'integer' }),
  'x-ratelimit-reset': header('Unix seconds at which the next minute begins.', { type: 'integer' }),
};
/** Headers of responses to callers with a key or the operator token, if there is something to tell. */
const toldHeaders: Readonly<Record<string, DocumentedHeader>> = {
  'x-ignored-fields': header(
    `Names of body fields and query parameters that this operation does not know and has ignored: at most ${mostNamed}, comma-separated, percent-encoded if they are not plain. Absent if there are none.`,
    { type: 'string' },
  ),
  'Preference-Applied': header('`handling=strict` if the request asked for it.', { type: 'string' }),
};
const references = (headers: Readonly<Record<string, DocumentedHeader>>) =>
  Object.fromEntries(Object.keys(headers).map((name) => [name, { $ref: `#/components/headers/${name}` }]));
const headerReferences = references(everyHeader);
const keyedReferences = references({ ...everyHeader, ...toldHeaders });
const hasKey = ({ access }: Route): boolean => access.kind === 'key' || access.kind === 'operator';

const preferHeader = {
  name: 'Prefer',
  in: 'header',
  required: false,
  description:
    '`handling=strict` refuses a request with an unknown field or query parameter, before anything is done: 400 `invalid_parameter`.',
  schema: { type: 'string', examples: ['handling=strict'] },
} as const;

const errorSchema: JsonSchema = {
  type: 'object',
  required: ['error'],
  properties: {
    error: {
      type: 'object',
      required: ['code', 'message', 'docs', 'request_id'],
      properties: {
        code: { type: 'string', description: 'Stable: safe to switch on.' },
        message: { type: 'string', description: 'For people. May change.' },
        docs: { type: 'string', format: 'uri', description: 'A page about this code.' },
        param: { type: 'string', description: 'The field or parameter at fault, if there is one.' },
        request_id: { type: 'string', description: 'The same as the header x-request-id.' },
      },
    },
  },
};

const extraErrorHeaders = (status: number): Node => {
  if (status === 401)
    return { 'www-authenticate': { description: 'Always `Bearer`.', schema: { type: 'string' } } };
  if (status === 429)
    return { 'retry-after': { description: 'Seconds to wait.', schema: { type: 'integer', minimum: 1 } } };
  return {};
};

const errorResponse = (status: number, codes: readonly ErrorCode[]): Node => ({
  description: codes.map((code) => `\`${code}\`: ${errorPages[code].means}`).join('\n\n'),
  headers: {
    ...headerReferences,
    ...extraErrorHeaders(status),
    ...(codes.includes('request_in_progress')
      ? {
          'retry-after': {
            description: 'Seconds to wait, on `request_in_progress`.',
            schema: { type: 'integer', minimum: 1 },
          },
        }
      : {}),
  },
  content: {
    'application/json': {
      schema: {
        allOf: [
          { $ref: '#/components/schemas/Error' },
          { properties: { error: { properties: { code: { enum: codes } } } } },
        ],
      },
    },
  },
});

const success = (route: Route, response: DocumentedResponse, schemaOf: SchemaOf): Node => ({
  description: response.description,
  headers: { ...(hasKey(route) ? keyedReferences : headerReferences), ...response.headers },
  ...(response.schema === null && response.type === undefined
    ? {}
    : {
        content: {
          [response.type ?? 'application/json']: {
            schema: response.schema === null ? { type: 'string' } : schemaOf(response.schema),
          },
          ...Object.fromEntries(
            (response.alsoAs ?? []).map((type) => [type, { schema: { type: 'string' } }]),
          ),
        },
      }),
});

const securityOf = ({ access }: Route): readonly Node[] =>
  access.kind === 'key' ? [{ apiKey: [] }] : access.kind === 'operator' ? [{ operatorToken: [] }] : [];

const parametersOf = (route: Route, schemaOf: SchemaOf): readonly Node[] => {
  const of = (type: z.ZodType, place: 'path' | 'query') => {
    const { properties = {}, required = [] } = schemaOf(type);
    return Object.entries(properties).map(([name, schema]) => ({
      name,
      in: place,
      required: place === 'path' || required.includes(name),
      ...(schema.description === undefined ? {} : { description: schema.description }),
      schema,
    }));
  };
  const headers = Object.entries(route.operation.headers ?? {}).map(([name, { description, schema }]) => ({
    name,
    in: 'header',
    required: false,
    description,
    schema,
  }));
  const prefer = hasKey(route) ? [preferHeader] : [];
  return [...of(route.params, 'path'), ...of(route.query, 'query'), ...headers, ...prefer];
};

const byStatus = (codes: readonly ErrorCode[]): ReadonlyMap<number, readonly ErrorCode[]> => {
  const groups = new Map<number, readonly ErrorCode[]>();
  for (const code of codes) groups.set(statusOf(code), [...(groups.get(statusOf(code)) ?? []), code]);
  return groups;
};

const operationOf = (route: Route, schemaOf: SchemaOf): Node => {
  const { access, operation } = route;
  const errors = byStatus(errorsOf(route));
  const parameters = parametersOf(route, schemaOf);
  return {
    operationId: operation.operationId,
    summary: operation.summary,
    ...(operation.description === undefined ? {} : { description: operation.description }),
    tags: operation.tags,
    security: securityOf(route),
    ...(access.kind === 'key' || access.kind === 'operator' ? { 'x-scope': access.scope } : {}),
    ...(parameters.length === 0 ? {} : { parameters }),
    ...(route.body === null
      ? {}
      : {
          requestBody: { required: true, content: { 'application/json': { schema: schemaOf(route.body) } } },
        }),
    responses: {
      ...Object.fromEntries(
        Object.entries(operation.responses).map(([status, response]) => [
          status,
          success(route, response, schemaOf),
        ]),
      ),
      ...Object.fromEntries([...errors].map(([status, codes]) => [status, errorResponse(status, codes)])),
    },
  };
};

/** What the service does and what holds for every request, in paragraphs. */
export const description = [
  'Send physical handwritten greeting cards, look them up, keep an address book, accept sends through URLs with a secret token, and get signed webhooks about your cards.',
  'One request sends exactly one card and spends one credit. There is no sandbox. After any 4xx nothing was created and nothing was charged; after a 500 it is safe to try again.',
  'Strings are trimmed. Null counts as omitted, and so does a blank unless a field says otherwise. Unknown fields and query parameters are ignored, and `x-ignored-fields` names them. If several fields are wrong, one is reported: `error.param` names it.',
  'Times end with `+00:00`. A value that is absent from a response is null.',
].join('\n\n');

export const tagDescriptions: Readonly<Record<string, string>> = {
  cards: 'Send a card, look cards up, cancel one.',
  contacts: 'The address book.',
  hooks: 'Send a card through a URL whose token is its credential.',
  webhooks: 'Register endpoints that are told about your cards.',
  account: 'Your key, credits, designs and handwritings.',
  operator: 'For the people who run the service, with the operator token.',
  health: 'For load balancers and monitoring.',
};

/** What the service posts to webhook endpoints. */
const webhookOf = (schemaOf: SchemaOf): Node => ({
  post: {
    operationId: 'receiveCardEvent',
    summary: 'A card event',
    description:
      'Posted to every endpoint that subscribes to its type. Respond with a 2xx within 10 seconds; anything else is retried, for up to six attempts over about half a day.',
    tags: ['webhooks'],
    parameters: webhookHeaders.map((sent) => ({ ...sent, in: 'header', required: true })),
    requestBody: { required: true, content: { 'application/json': { schema: schemaOf(webhookEvent) } } },
    responses: { '2XX': { description: 'Delivered.' } },
  },
});

/** The OpenAPI 3.1 document of the route table. */
export const openApiDocument = (routes: readonly Route[], baseUrl: string): Node => {
  const shown = routes.filter((route) => !route.hidden);
  const { schemaOf, components } = schemasOf(shown);
  const paths: Record<string, Record<string, Node>> = {};
  for (const route of shown)
    (paths[templateOf(route.path)] ??= {})[route.method.toLowerCase()] = operationOf(route, schemaOf);
  const tags = [...new Set(shown.flatMap((route) => route.operation.tags))];
  return {
    openapi: '3.1.0',
    info: { title: 'Handwritten Card Service', version: '1', description },
    servers: [{ url: baseUrl }],
    tags: tags.map((name) => ({
      name,
      ...(tagDescriptions[name] === undefined ? {} : { description: tagDescriptions[name] }),
    })),
    paths,
    webhooks: { cardEvent: webhookOf(schemaOf) },
    components: {
      securitySchemes: {
        apiKey: {
          type: 'http',
          scheme: 'bearer',
          description: 'An API key: `hck_` followed by 43 characters. Its scopes say what it may do.',
        },
        operatorToken: {
          type: 'http',
          scheme: 'bearer',
          description:
            'The token of the people who run the service, or a key of one of them: `hco_` followed by 43 characters, whose scopes say what it may do. Every GET is allowed to `operator:audit`, too.',
        },
      },
      headers: { ...everyHeader, ...toldHeaders },
      schemas: {
        ...Object.fromEntries(Object.entries(components).sort(([a], [b]) => a.localeCompare(b))),
        Error: errorSchema,
      },
    },
  };
};
