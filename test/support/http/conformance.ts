import type { Ajv2020, ValidateFunction } from 'ajv/dist/2020.js';
import { validator } from './document-examples.js';

interface Documented {
  readonly headers?: object;
  readonly 'x-error-codes'?: readonly string[];
  readonly content?: Readonly<Record<string, { readonly schema: object }>>;
}
interface Operation {
  readonly responses: Readonly<Record<string, Documented>>;
}
interface Document {
  readonly paths: Readonly<Record<string, Readonly<Record<string, Operation>>>>;
  readonly components: object;
}

export interface Answered {
  readonly method: string;
  /** As it was requested: encoded, with its query. */
  readonly path: string;
  readonly status: number;
  readonly headers: Headers;
  readonly text: string;
}

/**
 * What is wrong with a response: by the rules that hold for every response, and by the OpenAPI document. Null
 * if nothing is wrong.
 */
export type Conformance = (answered: Answered) => string | null;

/**
 * Closes every object with named fields: today's responses must have no field that the document does not
 * name.
 */
const closed = (schema: unknown): unknown => {
  if (Array.isArray(schema)) return schema.map(closed);
  if (typeof schema !== 'object' || schema === null) return schema;
  const inside = Object.fromEntries(Object.entries(schema).map(([name, value]) => [name, closed(value)]));
  const hasFields = inside['type'] === 'object' && Object.keys(inside['properties'] ?? {}).length > 0;
  return hasFields ? { ...inside, additionalProperties: false } : inside;
};

/** Responses of the pipeline itself, on any path: no operation documents them. */
const everywhere: ReadonlySet<string> = new Set([
  'not_found',
  'method_not_allowed',
  'invalid_request',
  'rate_limited',
]);

/** Headers of HTTP itself, and for proxies and browsers: no operation documents them. */
const usual: ReadonlySet<string> = new Set([
  'allow',
  'cache-control',
  'connection',
  'content-encoding',
  'content-length',
  'content-type',
  'date',
  'keep-alive',
  'transfer-encoding',
  'vary',
  'x-accel-buffering',
  'x-content-type-options',
]);

const segmentsOf = (path: string): readonly string[] => path.split('/');

const matches = (template: string, path: string): boolean => {
  const wanted = segmentsOf(template);
  const got = segmentsOf(path);
  return (
    wanted.length === got.length &&
    wanted.every((segment, at) => segment.startsWith('{') || segment === got[at])
  );
};

/** The headers that every response has. (docs/contract.md#responses; decision 10: the rate limit, too) */
const everyAnswer = ({ method, path, status, headers, text }: Answered): string | null => {
  const isDocument = status < 400 && /^\/(docs|openapi\.json|asyncapi\.json|llms\.txt)/.test(path);
  const type = headers.get('content-type');
  if (!/^req_[\w-]{8,}$/.test(headers.get('x-request-id') ?? '')) return 'has no x-request-id';
  for (const name of ['limit', 'remaining', 'reset'])
    if (!/^\d+$/.test(headers.get(`x-ratelimit-${name}`) ?? '')) return `has no x-ratelimit-${name}`;
  if (isDocument !== headers.has('etag')) return isDocument ? 'has no etag' : 'has an etag';
  if (!isDocument && headers.get('cache-control') !== 'no-store') return 'may be cached';
  for (const name of ['x-powered-by', 'access-control-allow-origin', 'set-cookie'])
    if (headers.has(name)) return `has the header ${name}`;
  if (status === 401 && headers.get('www-authenticate') !== 'Bearer') return 'has no www-authenticate';
  if (status === 429 && !/^[1-9]\d*$/.test(headers.get('retry-after') ?? '')) return 'has no retry-after';
  if (status === 405 && !headers.has('allow')) return 'has no allow';
  if (status === 204 || method === 'HEAD') return text === '' ? null : 'has a body';
  return status >= 400 && type !== 'application/json; charset=utf-8' ? `is of type ${type}` : null;
};

interface ErrorBody {
  readonly error?: {
    readonly code?: unknown;
    readonly message?: unknown;
    readonly docs?: unknown;
    readonly request_id?: unknown;
  };
}

const errorIn = (text: string): ErrorBody['error'] => (JSON.parse(text) as ErrorBody).error;

/** The form of an error's body. (docs/contract.md#errors; decision 11: each has a documentation page) */
const everyError = ({ headers, text }: Answered, baseUrl: string): string | null => {
  const error = errorIn(text);
  if (typeof error?.code !== 'string' || typeof error.message !== 'string' || error.message === '')
    return 'is not an error body';
  if (error.docs !== `${baseUrl}/docs/errors/${error.code}`) return 'does not link to the page of its error';
  return error.request_id === headers.get('x-request-id') ? null : 'has the id of another request';
};

/** What is wrong with the body of a response, by a document; null if nothing is. */
type BySchema = (answered: Answered) => string | null;

const validatorOf = ({ components }: Pick<Document, 'components'>): Ajv2020 =>
  validator().addSchema({ $id: 'document', components: closed(components) });

const compileClosed = (ajv: Ajv2020, schema: object): ValidateFunction =>
  ajv.compile(
    JSON.parse(JSON.stringify(closed(schema)).replaceAll('"#/components', '"document#/components')) as object,
  );

/** What is wrong with a value, by a schema of a document; null if nothing is. */
export const mistakeIn = (
  document: Pick<Document, 'components'>,
  schema: object,
  value: unknown,
): string | null => {
  const validate = compileClosed(validatorOf(document), schema);
  return validate(value) ? null : JSON.stringify(validate.errors);
};

const checkerOf = (document: Document): BySchema => {
  const ajv = validatorOf(document);
  const validators = new Map<string, ValidateFunction | null>();

  const compile = (documented: Documented | undefined): ValidateFunction | null => {
    const schema = documented?.content?.['application/json']?.schema;
    return schema === undefined ? null : compileClosed(ajv, schema);
  };

  return ({ method: sent, path, status, headers, text }) => {
    const method = sent === 'HEAD' ? 'get' : sent.toLowerCase();
    const [plain = ''] = path.split('?');
    const template = Object.keys(document.paths)
      .filter((candidate) => matches(candidate, plain))
      .sort((a, b) => a.split('{').length - b.split('{').length)[0];
    if (template === undefined) return null;
    const documented = document.paths[template]?.[method]?.responses[status];
    const known = new Set(Object.keys(documented?.headers ?? {}).map((name) => name.toLowerCase()));
    const stray = [...headers.keys()].find((name) => !usual.has(name) && !known.has(name));
    if (documented !== undefined && stray !== undefined)
      return `has the header ${stray}, which is not documented`;
    if (!/^application\/json(;|$)/.test(headers.get('content-type') ?? '') || text === '') return null;
    const code = status < 400 ? null : String(errorIn(text)?.code);
    if (code !== null && everywhere.has(code)) return null;
    const name = `${method} ${template} ${status}`;
    const seen = validators.get(name);
    const validate = seen === undefined ? compile(documented) : seen;
    validators.set(name, validate);
    if (validate === null) return 'is not documented';
    if (code !== null && documented?.['x-error-codes']?.includes(code) !== true)
      return `has the code ${code}, which is not documented`;
    return validate(JSON.parse(text)) ? null : ajv.errorsText(validate.errors);
  };
};

/** Only the document of a service with every group of routes has a path of each of these. */
const wholePaths = ['/api/v1/cards', '/operator/v1/console-links'] as const;

/** Of the first whole document: every service of a build serves the same one, but for its address. */
let whole: BySchema | null = null;

const readChecker = async (baseUrl: string): Promise<BySchema> => {
  const document = (await (await fetch(`${baseUrl}/openapi.json`)).json()) as Document;
  const checker = checkerOf(document);
  if (wholePaths.every((path) => document.paths[path] !== undefined)) whole = checker;
  return checker;
};

/**
 * Checks responses of the service at an address against the document of this build, or, until a whole one is
 * known, against the document that it serves.
 */
export const conformanceTo = async (baseUrl: string): Promise<Conformance> => {
  const bySchema = whole ?? (await readChecker(baseUrl));
  return (answered) => {
    const wrong =
      everyAnswer(answered) ??
      (answered.status >= 400 && answered.text !== '' ? everyError(answered, baseUrl) : null) ??
      bySchema(answered);
    return wrong === null
      ? null
      : `${answered.method} ${answered.path} answered ${answered.status}, which ${wrong}: ${answered.text.slice(0, 500)}`;
  };
};
