import { mkdtemp, rm, utimes } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { pino } from 'pino';
import { SystemClock } from '../../../adapters/system/clock.js';
import { SystemEntropy } from '../../../adapters/system/entropy.js';
import type { Clock } from '../../../application/ports/system.js';
import { startService, type Service } from '../../../bin/wiring/service.js';
import { readSettings } from '../../../bin/settings/settings.js';
import { scopes, type Scope } from '../../../domain/api-key.js';
import { isPlainObject } from '../../../domain/plain-object.js';
import { cheapPasswords } from '../fixtures/cheap-passwords.js';
import { openInterfered, type Interference } from '../simulation/interference.js';
import { wiringFor } from '../runner/wiring.js';
import { conformanceTo, type Conformance } from './conformance.js';

/** A response, and what tests most often need of it. */
export interface Reply {
  readonly status: number;
  readonly headers: Headers;
  readonly text: string;
  /** The JSON object; empty if the body is not one. */
  readonly body: Fields;
  /** `id` of the body, else ''. */
  readonly id: string;
  /** `error.code` of the body, else null. */
  readonly code: string | null;
  /** `error.param` of the body, else null. */
  readonly param: string | null;
  /** `data` of a list, else empty. */
  readonly rows: readonly Fields[];
}

export type Fields = Readonly<Record<string, unknown>>;

const readReply = (status: number, headers: Headers, text: string): Reply => {
  const json: unknown =
    /^application\/json(;|$)/.test(headers.get('content-type') ?? '') && text !== ''
      ? JSON.parse(text)
      : null;
  const body = isPlainObject(json) ? json : {};
  const error = isPlainObject(body['error']) ? body['error'] : {};
  const named = (fields: Fields, field: string): string | null =>
    typeof fields[field] === 'string' ? fields[field] : null;
  const data: readonly unknown[] = Array.isArray(body['data']) ? body['data'] : [];
  return {
    status,
    headers,
    text,
    body,
    id: named(body, 'id') ?? '',
    code: named(error, 'code'),
    param: named(error, 'param'),
    rows: data.filter(isPlainObject),
  };
};

export interface Send {
  readonly method?: string;
  /** Sent as JSON, unless it is a string or bytes. */
  readonly body?: unknown;
  readonly headers?: Readonly<Record<string, string>>;
}

/** Calls the service with a bearer token, or without one. */
export type Client = (path: string, send?: Send) => Promise<Reply>;

/** An organization for one test, with a key, credits and one saved design of its own. */
export interface Tenant {
  readonly org: string;
  readonly key: string;
  readonly keyId: string;
  readonly design: string;
  readonly api: Client;
  /** A client with another key of the same organization. */
  readonly withScopes: (...granted: readonly Scope[]) => Promise<Client>;
  readonly balance: () => Promise<number>;
}

/** Ways to call a service. */
export interface Clients {
  readonly operator: Client;
  readonly anonymous: Client;
  readonly tenant: (options?: {
    readonly credits?: number;
    readonly requestsPerMinute?: number;
    readonly designs?: boolean;
  }) => Promise<Tenant>;
}

export interface RunningService extends Omit<Service, 'operatorToken' | 'drain'>, Clients {
  readonly operatorToken: string;
  readonly dataDir: string;
}

const unlimited = 1_000_000_000;

/** What a test builds on: throws if it was refused or failed, which something else would tell later. */
export const built = async (reply: Promise<Reply>): Promise<Reply> => {
  const { status, text } = await reply;
  if (status >= 300) throw new Error(`A step before the test failed with ${status}: ${text}`);
  return reply;
};

const conformances = new Map<string, Promise<Conformance>>();

/**
 * A client with a bearer token, or without one. Throws if a response is not what the service's own document
 * says.
 */
export const clientOf =
  (baseUrl: string, token: string | null): Client =>
  async (path, { method: wanted, body, headers = {} } = {}) => {
    const raw = typeof body === 'string' || body instanceof Uint8Array;
    const method = wanted ?? (body === undefined ? 'GET' : 'POST');
    const response = await fetch(`${baseUrl}${path}`, {
      method,
      headers: {
        ...(token !== null && { authorization: `Bearer ${token}` }),
        ...(body !== undefined && { 'content-type': 'application/json' }),
        ...headers,
      },
      ...(body !== undefined && { body: raw ? (body as string) : JSON.stringify(body) }),
      redirect: 'manual',
    });
    const text = await response.text();
    const conformance = conformances.get(baseUrl) ?? conformanceTo(baseUrl);
    conformances.set(baseUrl, conformance);
    const wrong = (await conformance)({
      method,
      path,
      status: response.status,
      headers: response.headers,
      text,
    });
    if (wrong !== null) throw new Error(wrong);
    return readReply(response.status, response.headers, text);
  };

export const clientsOf = (service: Pick<Service, 'baseUrl' | 'operatorToken'>): Clients => {
  const operator = clientOf(service.baseUrl, service.operatorToken);

  const keyFor = async (org: string, granted: readonly Scope[], requestsPerMinute?: number) =>
    (
      await built(
        operator(`/operator/v1/organizations/${org}/keys`, {
          body: {
            scopes: granted,
            ...(requestsPerMinute !== undefined && { requests_per_minute: requestsPerMinute }),
          },
        }),
      )
    ).body;

  const tenant: Clients['tenant'] = async ({ credits = 100, requestsPerMinute, designs = true } = {}) => {
    const org = (await built(operator('/operator/v1/organizations', { body: { name: 'Acme' } }))).id;
    const base = `/operator/v1/organizations/${org}`;
    if (credits > 0) await built(operator(`${base}/credits`, { body: { amount: credits } }));
    const design = designs ? (await built(operator(`${base}/designs`, { body: { name: 'Thanks' } }))).id : '';
    const { id, key } = await keyFor(org, scopes, requestsPerMinute);
    const api = clientOf(service.baseUrl, String(key));
    return {
      org,
      key: String(key),
      keyId: String(id),
      design,
      api,
      withScopes: async (...granted) =>
        clientOf(service.baseUrl, String((await keyFor(org, granted))['key'])),
      balance: async () => Number((await api('/api/v1/credits')).body['balance']),
    };
  };
  return { operator, anonymous: clientOf(service.baseUrl, null), tenant };
};

/**
 * Starts the service in this process on a free port, with files of its own that are deleted when it stops.
 * `environment` as the service reads it; `interference` may be changed while it runs; `logged` gets its log.
 */
export const startTestService = async (
  environment: Readonly<Record<string, string>> = {},
  clock: Clock = new SystemClock(),
  extraCertificates: readonly string[] = [],
  interference: Interference = {},
  passwordCost = cheapPasswords,
  logged: string[] | null = null,
): Promise<RunningService> => {
  const directory = await mkdtemp(join(tmpdir(), 'cards-'));
  const wiring = await wiringFor(directory);
  const base = {
    PORT: '0',
    DATA_DIR: directory,
    DEMO: 'off',
    RATE_LIMIT_PER_MINUTE: String(unlimited),
    HOOK_RATE_LIMIT_PER_MINUTE: String(unlimited),
    ...wiring.environment,
  };
  const settings = readSettings({ ...base, ...environment });
  const fail = (error: unknown): void => {
    throw error;
  };
  const log =
    logged === null
      ? pino({ level: process.env['TEST_LOG'] ?? 'silent' })
      : pino({ level: 'trace' }, { write: (line: string) => void logged.push(line) });
  const { namespace } = wiring;
  const open = openInterfered(interference);
  const service = await startService({
    settings,
    role: 'all',
    clock,
    entropy: new SystemEntropy(),
    log,
    fail,
    extraCertificates,
    namespace,
    open,
    passwordCost,
  });
  await service.prepared;
  // Before any event, also those of tests that have another time.
  await utimes(join(directory, 'log.head'), 0, 0);
  return {
    ...service,
    operatorToken: service.operatorToken ?? '',
    dataDir: directory,
    ...clientsOf(service),
    stop: async () => {
      await service.stop();
      await wiring.clear();
      await rm(directory, { recursive: true, force: true });
    },
  };
};

/** A card that can be sent as it is. */
export const aCard = (changes: object = {}): object => ({
  recipient: {
    name: 'Ada Lovelace',
    line1: '12 Analytical Way',
    city: 'Springfield',
    state: 'IL',
    zip: '62701',
  },
  message: 'Thank you, Ada.',
  ...changes,
});
