import type { z } from 'zod';
import type { ErrorCode } from '../../../domain/errors.js';
import { errorPages } from './error-pages.js';
import { statusOf } from '../server/errors.js';
import { maxNamed } from '../server/query.js';
import { hasKey, isFor, type Audience } from '../server/access.js';
import { documented, jsonSchemaOf, type JsonSchema } from '../schema/json-schema.js';
import * as shown from '../schema/shown.js';
import { webhookEvent, webhookHeaders } from '../schema/outbound.js';
import {
  eventExampleOf,
  exampleOf,
  responseExampleOf,
  sampleRequest,
  samplesOf,
  textExampleOf,
} from './samples.js';
import {
  pathParameters,
  returnedTypesOf,
  sentTypesOf,
  templateOf,
  type DocumentedResponse,
  type DocumentedHeader,
  type Route,
} from '../server/route.js';

type Node = Readonly<Record<string, unknown>>;

/** The codes with which values that break a schema are refused, from the outside in. */
const codesIn = (schema: JsonSchema): readonly ErrorCode[] => [
  ...(schema['x-error-code'] === undefined ? [] : [schema['x-error-code']]),
  ...(schema['x-error-codes'] ?? []),
  ...Object.values(schema.properties ?? {}).flatMap(codesIn),
  ...(schema.items === undefined ? [] : codesIn(schema.items)),
];

/**
 * The codes that a route can return: its own, and those that follow from its schemas, its path, its
 * parameters and the pipeline. (decision 1: one order of checks)
 */
export const errorsOf = (route: Route): readonly ErrorCode[] => {
  const { access } = route;
  const codes: ErrorCode[] = ['invalid_request'];
  if (access.kind === 'key')
    codes.push('missing_key', 'malformed_key', 'invalid_key', 'revoked_key', 'suspended', 'rate_limited');
  if (access.kind === 'key' && access.scope !== null) codes.push('missing_scope');
  if (access.kind === 'operator')
    codes.push('missing_key', 'invalid_key', 'revoked_key', 'missing_scope', 'rate_limited');
  if (!route.rehearses && access.kind !== 'page') codes.push('rehearsal');
  if (route.body !== null)
    codes.push('unsupported_media_type', 'body_too_large', 'invalid_json', 'invalid_body');
  if (hasKey(route)) codes.push('invalid_parameter');
  if ('starting_after' in route.query.shape) codes.push('invalid_cursor');
  if ('at' in route.query.shape) codes.push('log_damaged');
  for (const schema of sentTypesOf(route)) codes.push(...codesIn(jsonSchemaOf(schema)));
  if (pathParameters(route.path).length > 0 && route.undecodable !== 'as-is') codes.push(route.undecodable);
  codes.push(...route.errors, route.failure);
  return [...new Set(codes)].sort((a, b) => statusOf(a) - statusOf(b));
};

/** The schemas of all types of the routes, and the components to which they refer. */
const schemasOf = (routes: readonly Route[], withWebhooks: boolean) => {
  const sent = documented(routes.flatMap(sentTypesOf), 'closed');
  const returned = documented(
    [...(withWebhooks ? [webhookEvent] : []), ...routes.flatMap(returnedTypesOf)],
    'open',
  );
  const known = new Map([...sent.schemas, ...returned.schemas]);
  return {
    schemaOf: (type: z.ZodType): JsonSchema => known.get(type) ?? {},
    components: { ...sent.components, ...returned.components },
  };
};

type SchemaOf = ReturnType<typeof schemasOf>['schemaOf'];

const header = (description: string, example: string | number, facts: JsonSchema = {}): DocumentedHeader => ({
  description,
  schema: { type: typeof example === 'number' ? 'integer' : 'string', ...facts, examples: [example] },
});

const everyHeader: Readonly<Record<string, DocumentedHeader>> = {
  'x-request-id': header(
    'Identifier of this request. Quote it when you ask for help.',
    shown.examples.request,
    {
      pattern: '^req_',
    },
  ),
  'x-ratelimit-limit': header('Requests allowed per minute for this key.', 120),
  'x-ratelimit-remaining': header('Requests left in the current minute.', 119),
  'x-ratelimit-reset': header('Unix seconds at which the next minute begins.', 1_772_463_900),
};
/** Headers of responses to callers with a key or the operator token, if there is something to tell. */
const toldHeaders: Readonly<Record<string, DocumentedHeader>> = {
  'x-ignored-fields': header(
    `Names of body fields and query parameters that this operation does not know and has ignored: at most ${maxNamed}, comma-separated, percent-encoded if they are not plain. Absent if there are none.`,
    'recipient.streett',
  ),
  'x-read-model-late': header(
    'Seconds for which lists may have lacked what was written. Absent while they lack nothing.',
    12,
  ),
  'Preference-Applied': header('`handling=strict` if the request asked for it.', 'handling=strict'),
};
const references = (headers: Readonly<Record<string, DocumentedHeader>>) =>
  Object.fromEntries(Object.keys(headers).map((name) => [name, { $ref: `#/components/headers/${name}` }]));
const headerReferences = references(everyHeader);
const keyedReferences = references({ ...everyHeader, ...toldHeaders });
const { 'x-read-model-late': _, ...refusalReferences } = keyedReferences;

const prefer = header(
  '`handling=strict` refuses a request with an unknown field or query parameter, before anything is done: 400 `invalid_parameter`.',
  'handling=strict',
);

const error = shown.nested('Why a request was refused, or failed.', {
  error: shown.nested('What went wrong.', {
    code: shown.text('Stable: safe to switch on.', 'invalid_recipient'),
    message: shown.text(
      'For people. May change.',
      'The ZIP code must be five digits, or nine as 12345-6789.',
    ),
    docs: shown.url('A page about this code.', 'https://cards.example/docs/errors/invalid_recipient'),
    param: shown.text('The field or parameter at fault, if there is one.', 'recipient.zip').optional(),
    request_id: shown.text('The same as the header x-request-id.', shown.examples.request),
  }),
});

const retryAfter = (description: string): Node => ({
  'retry-after': { description, schema: { type: 'integer', minimum: 1 } },
});

const extraErrorHeaders = (status: number): Node => {
  if (status === 401)
    return { 'www-authenticate': { description: 'Always `Bearer`.', schema: { type: 'string' } } };
  return status === 429 ? retryAfter('Seconds to wait.') : {};
};

/** The response for those of the codes that have a status. */
const errorResponse = (route: Route, status: number, all: readonly ErrorCode[]): Node => {
  const codes = all.filter((code) => statusOf(code) === status);
  return {
    description: codes.map((code) => `\`${code}\`: ${errorPages[code].means}`).join('\n\n'),
    headers: {
      ...(hasKey(route) ? refusalReferences : headerReferences),
      ...extraErrorHeaders(status),
      ...(codes.includes('request_in_progress') && retryAfter('Seconds to wait, on `request_in_progress`.')),
    },
    // No enum of the schema: a minor version may add codes, and a generated client must not stumble over one.
    'x-error-codes': codes,
    content: { 'application/json': { schema: { $ref: '#/components/schemas/Error' } } },
  };
};

const textContent = (type: string, operationId: string): Node => ({
  schema: {
    type: 'string',
    description: `The text, as \`${type}\`.`,
    examples: [textExampleOf(operationId, type)],
  },
});

/** One event of a stream: the fields that `data:` and the like send, once a reader has put them together. */
const eventContent = (eventData: z.ZodType, contentSchema: JsonSchema): Node => {
  const example = eventExampleOf(exampleOf(jsonSchemaOf(eventData), 'left out'));
  const field = (name: keyof typeof example, meaning: string) => ({
    type: 'string',
    description: meaning,
    examples: [example[name]],
  });
  return {
    schema: {
      type: 'object',
      description: 'One server-sent event; the response is a stream of them.',
      additionalProperties: true,
      required: ['event', 'data'],
      properties: {
        ...(example.id !== undefined && {
          id: field('id', 'Send the last one as `Last-Event-ID` to go on.'),
        }),
        event: field('event', 'What the event is.'),
        data: { ...field('data', 'JSON, on one line.'), contentMediaType: 'application/json', contentSchema },
      },
      examples: [example],
    },
  };
};

const success = (route: Route, response: DocumentedResponse, schemaOf: SchemaOf): Node => {
  const { description, schema, type = 'application/json', alsoAs = [], eventData, headers } = response;
  /** Of another media type than JSON. */
  const other = (as: string): Node =>
    as === 'text/event-stream' && eventData !== undefined
      ? eventContent(eventData, schemaOf(eventData))
      : textContent(as, route.id);
  const json = schema && { schema: schemaOf(schema), example: responseExampleOf(route, response) };
  const others = alsoAs.map((also) =>
    typeof also === 'string' ? [also, other(also)] : [also.type, { schema: schemaOf(also.schema) }],
  );
  return {
    description,
    headers: { ...(hasKey(route) ? keyedReferences : headerReferences), ...headers },
    content: { [type]: json ?? other(type), ...Object.fromEntries(others) },
  };
};

const securityOf = ({ access }: Route): readonly Node[] =>
  access.kind === 'key' ? [{ apiKey: [] }] : access.kind === 'operator' ? [{ operatorToken: [] }] : [];

const parametersOf = (route: Route, schemaOf: SchemaOf): readonly Node[] => {
  const of = (type: z.ZodType, place: 'path' | 'query') => {
    const { properties = {}, required = [] } = schemaOf(type);
    return Object.entries(properties).map(([name, { description: meaning, ...schema }]) => ({
      name,
      in: place,
      required: place === 'path' || required.includes(name),
      ...(meaning !== undefined && { description: meaning }),
      schema,
    }));
  };
  const sent = { ...route.headers, ...(hasKey(route) && { Prefer: prefer }) };
  const headers = Object.entries(sent).map(([name, sentHeader]) => ({
    name,
    in: 'header',
    required: false,
    ...sentHeader,
  }));
  return [...of(route.params, 'path'), ...of(route.query, 'query'), ...headers];
};

/** The callers of an operation, in a sentence. */
export const accessOf = ({ access }: Route): string => {
  if (access.kind === 'key')
    return access.scope === null
      ? 'Any API key may call it.'
      : `Needs an API key with the scope \`${access.scope}\`.`;
  if (access.kind === 'operator')
    return access.scope === null
      ? 'Needs the operator token.'
      : `Needs the operator token, or the key of an operator with the scope \`${access.scope}\`.`;
  return access.kind === 'hook' ? 'Needs no key: the token in the path is the credential.' : 'Needs no key.';
};

const bodyOf = (schema: JsonSchema, example: unknown): Node => ({
  required: true,
  content: { 'application/json': { schema, example } },
});

const operationOf = (route: Route, schemaOf: SchemaOf, baseUrl: string): Node => {
  const codes = errorsOf(route);
  const parameters = parametersOf(route, schemaOf);
  return {
    operationId: route.id,
    summary: route.summary,
    description: [route.description, accessOf(route)].filter(Boolean).join('\n\n'),
    ...(route.deprecated === true && { deprecated: true }),
    tags: route.tags,
    security: securityOf(route),
    ...('scope' in route.access && { 'x-scope': route.access.scope }),
    ...(parameters.length > 0 && { parameters }),
    ...(route.body !== null && {
      requestBody: bodyOf(schemaOf(route.body.schema), sampleRequest(route, baseUrl).body),
    }),
    ...(isFor('public')(route) && { 'x-codeSamples': samplesOf(route, baseUrl) }),
    responses: {
      ...Object.fromEntries(
        Object.entries(route.responses).map(([status, response]) => [
          status,
          success(route, response, schemaOf),
        ]),
      ),
      ...Object.fromEntries(
        codes.map((code) => [statusOf(code), errorResponse(route, statusOf(code), codes)]),
      ),
    },
  };
};

/** Describes the service and the rules of every request, in paragraphs. */
export const description = [
  'Send physical handwritten greeting cards, look them up, keep an address book, accept sends through URLs with a secret token, and get signed webhooks about your cards.',
  'One request sends exactly one card and spends one credit. There are no test keys: to try things out, run a service of your own, which mails nothing. A request that gets a 4xx creates nothing and charges nothing; after a 500 it is safe to try again.',
  'Strings are trimmed. Null counts as omitted, and so does a blank unless a field says otherwise. Unknown fields and query parameters are ignored, and `x-ignored-fields` names them. If several fields are wrong, one is reported: `error.param` names it.',
  'Times end with `+00:00`. A field without a value is null, or absent if the schema does not require it.',
].join('\n\n');

/** Describes the operator API, in paragraphs. */
const operatorsDescription = [
  'The back office of the service: organizations, credits, keys, designs, hooks, the floor, the log. For the people who run it, with the operator token or with a key of one of them.',
  'Errors, lists and times have the form that they have for customers; unknown query parameters are refused.',
].join('\n\n');

/**
 * The tag of webhooks. No operation has it: of a tag that has both, generators make a client of one of them.
 */
const received = 'webhook-events';

export const tagDescriptions: Readonly<Record<string, string>> = {
  cards: 'Send a card, look cards up, cancel one.',
  contacts: 'The address book.',
  hooks: 'Send a card through a URL whose token is its credential.',
  webhooks: 'Register endpoints that are told about your cards.',
  [received]: 'What your webhook endpoints receive.',
  account: 'Your key, credits, designs and handwritings.',
  operator: 'For the people who run the service, with the operator token.',
  health: 'For load balancers and monitoring.',
  log: 'The public part of the log: its signed head, and the keys that verify it.',
};

/** The webhook operation. */
const webhookOf = (schemaOf: SchemaOf): Node => ({
  post: {
    operationId: 'receiveCardEvent',
    summary: 'A card event',
    description:
      'Posted to every endpoint that subscribes to its type. Respond with a 2xx within 10 seconds; anything else is retried, for up to six attempts over about half a day.',
    tags: [received],
    security: [{ webhookSignature: [] }],
    parameters: webhookHeaders.map((sent) => ({ ...sent, in: 'header' })),
    requestBody: bodyOf(schemaOf(webhookEvent), exampleOf(jsonSchemaOf(webhookEvent))),
    responses: {
      '2XX': { description: 'Delivered.' },
      '4XX': { description: 'Not delivered: tried again later, as after any other response.' },
    },
  },
});

const securitySchemes = {
  apiKey: {
    type: 'http',
    scheme: 'bearer',
    bearerFormat: 'hck_…',
    description: 'An API key: `hck_` followed by 43 characters. Its scopes say what it may do.',
  },
  operatorToken: {
    type: 'http',
    scheme: 'bearer',
    description:
      'The token of the people who run the service, or a key of one of them: `hco_` followed by 43 characters, whose scopes say what it may do. Every GET is allowed to `operator:audit`, too.',
  },
  webhookSignature: {
    type: 'apiKey',
    in: 'header',
    name: 'service-signature',
    description:
      'What the service signs a webhook with: HMAC-SHA256 over the time and the raw body, keyed with the signing secret of the endpoint. Check it before you believe the body.',
  },
} as const;

/** The OpenAPI 3.1 document of the routes for an audience. */
export const openApiDocument = (
  routes: readonly Route[],
  baseUrl: string,
  audience: Audience = 'all',
): Node => {
  const shown = routes.filter((route) => !route.hidden).filter(isFor(audience));
  const withWebhooks = audience !== 'operator';
  const { schemaOf, components } = schemasOf(shown, withWebhooks);
  const paths: Record<string, Record<string, Node>> = {};
  for (const route of shown) {
    const operations = (paths[templateOf(route.path)] ??= {});
    operations[route.method.toLowerCase()] = operationOf(route, schemaOf, baseUrl);
  }
  const { apiKey, operatorToken, webhookSignature } = securitySchemes;
  const tags = new Set([...shown.flatMap((route) => route.tags), ...(withWebhooks ? [received] : [])]);
  return {
    openapi: '3.1.0',
    info: {
      title: audience === 'operator' ? 'Handwritten Card Service: operator API' : 'Handwritten Card Service',
      version: '1',
      description: audience === 'operator' ? operatorsDescription : description,
      contact: { name: 'The people who run this service', url: `${baseUrl}/docs` },
      license: { name: 'MIT', identifier: 'MIT' },
    },
    servers: [{ url: baseUrl }],
    tags: [...tags].map((name) => ({ name, description: tagDescriptions[name] })),
    paths,
    ...(withWebhooks && { webhooks: { cardEvent: webhookOf(schemaOf) } }),
    components: {
      securitySchemes: {
        ...(audience !== 'operator' && { apiKey, webhookSignature }),
        ...(audience !== 'public' && { operatorToken }),
      },
      headers: { ...everyHeader, ...toldHeaders },
      schemas: {
        ...Object.fromEntries(Object.entries(components).sort(([a], [b]) => a.localeCompare(b))),
        Error: documented([error], 'open').schemas[0]?.[1],
      },
    },
  };
};
