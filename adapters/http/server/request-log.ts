import { Histogram, type Registry } from 'prom-client';
import type { RequestRecord } from '../../../application/ports/requests.js';
import { parseCardCode } from '../../../domain/card-code.js';
import type { Actor } from '../../../domain/events.js';
import { Instant } from '../../../domain/ids.js';
import { ownProperty } from '../../../domain/plain-object.js';
import { traceIdOf } from '../../../domain/traceparent.js';
import type { Subject } from './access.js';
import type { Refusal } from './errors.js';
import type { Exchange } from './exchange.js';
import { isDeclared } from './query.js';
import type { JsonObject } from '../schema/read.js';
import { sentTypesOf, type Route, type RouteResponse } from './route.js';

/** A card's code or an id. A path may hold anything else: names, e-mail addresses, keys. */
const speakable = /^(HC-[0-9A-Z]{7}|(evt_|dlv_)?[0-9a-f]{32}|[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12})$/;

const textIn = (body: object, name: string): string | undefined => {
  const value = ownProperty(body, name);
  return typeof value === 'string' ? value : undefined;
};

/** The key by which requests are found: the code of a card, or an id; null for any other text. */
export const subjectFrom = (text: string): string | null => {
  const parsed = parseCardCode(text);
  if (parsed.kind === 'code') return parsed.code;
  const lower = text.toLowerCase();
  return speakable.test(lower) ? lower : null;
};

/** The subjects among these values of a path and a query. (`subject` asks for requests.) */
export const subjectsIn = (...values: readonly Readonly<Record<string, string>>[]): readonly string[] => [
  ...new Set(values.flatMap(Object.values).flatMap((value: string) => subjectFrom(value) ?? [])),
];

/** The subject of a successful change; a request that only reads has none. */
export const subjectOf = (
  { method, access, body: declared }: Route,
  params: Readonly<Record<string, string>>,
  sent: JsonObject,
  response: RouteResponse,
): Subject => {
  const answered = 'body' in response ? response.body : {};
  // A page records its own visitor and organization.
  const named = (access.kind === 'page' ? undefined : params['org']) ?? textIn(answered, 'organization');
  const org = named !== undefined && speakable.test(named) ? named : undefined;
  const about: Subject = org === undefined ? {} : { org };
  if (method === 'GET') return about;
  const changed: Record<string, unknown> = {};
  for (const [name, value] of Object.entries(params))
    if (name !== 'org' && speakable.test(value)) changed[name] = value;
  const id = textIn(answered, 'id');
  if (id !== undefined && speakable.test(id)) changed['id'] = id;
  const fields =
    declared === null ? [] : Object.keys(declared.schema.shape).filter((name) => Object.hasOwn(sent, name));
  if (fields.length > 0) changed['fields'] = fields;
  return { changed, ...about };
};

const actorOf = ({ caller, subject }: Exchange): Actor | null => {
  if (caller.kind === 'key') return { kind: 'key', id: caller.keyId };
  if (caller.kind === 'operator') return { kind: 'operator', id: caller.id };
  if (subject?.hook !== undefined) return { kind: 'hook', id: subject.hook };
  return subject?.visitor ?? null;
};

const maxKeyLength = 255;

export const recordOf = (
  exchange: Exchange,
  status: number,
  ms: number,
  began: number,
  refusal: Refusal | null,
): Omit<RequestRecord, 'wrote'> => {
  const { request, caller, subject, address, template, id } = exchange;
  const actor = actorOf(exchange);
  const key = request.headers['idempotency-key'];
  return {
    id,
    at: Instant.parse(new Date(began).toISOString()),
    method: request.method ?? 'UNKNOWN',
    route: template ?? 'unmatched',
    status,
    code: refusal?.code ?? null,
    ms: Math.round(ms * 1000) / 1000,
    actor,
    org: (caller.kind === 'key' ? caller.org : subject?.org) ?? null,
    address,
    // A visitor who was not let in has read nothing.
    subjects: (actor !== null && subject?.subjects) || [],
    idempotencyKey: typeof key === 'string' ? key.slice(0, maxKeyLength) : null,
  };
};

/** The parameter at fault, if the operation declares that name: any other is a text of the client. */
const namedIn = ({ route }: Exchange, param: string): string | undefined =>
  route !== null && sentTypesOf(route).some((schema) => isDeclared(schema, param)) ? param : undefined;

export const logFields = (
  exchange: Exchange,
  status: number,
  ms: number,
  refusal: Refusal | null,
): object => {
  const { request, caller, subject, address, template, id, traceparent } = exchange;
  const isKey = caller.kind === 'key';
  return {
    method: request.method,
    route: template ?? 'unmatched',
    status,
    ms,
    request: id,
    trace_id: traceIdOf(traceparent),
    address,
    org: isKey ? caller.org : subject?.org,
    key: isKey ? caller.keyId : undefined,
    operator: caller.kind === 'operator' ? caller.id : undefined,
    hook: subject?.hook,
    code: refusal?.code,
    param: refusal?.param ? namedIn(exchange, refusal.param) : undefined,
    changed: subject?.changed,
  };
};

const methods: ReadonlySet<string> = new Set(['GET', 'HEAD', 'POST', 'PUT', 'PATCH', 'DELETE', 'OPTIONS']);

export const httpMetrics = (registry: Registry) => {
  const histogram = new Histogram({
    name: 'http_request_duration_seconds',
    help: 'Time from the head of a request to the end of its response, by route template. Status 0: dropped without a response; 499: the client left.',
    labelNames: ['method', 'route', 'status'] as const,
    buckets: [0.001, 0.002, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10],
    registers: [registry],
  });
  return {
    /** `route` is a template of the route table, never a raw path. */
    observe: (method: string, route: string, status: number, ms: number): void =>
      histogram.observe({ method: methods.has(method) ? method : 'other', route, status }, ms / 1000),
  };
};
