import { request as httpRequest, type IncomingHttpHeaders } from 'node:http';
import { connect, type Socket } from 'node:net';
import { pino } from 'pino';
import { Registry } from 'prom-client';
import type { Route } from '../../../adapters/http/server/route.js';
import { httpMetrics } from '../../../adapters/http/server/request-log.js';
import { httpServer, type HttpOptions, type HttpServer } from '../../../adapters/http/server/server.js';
import { SeededEntropy } from '../memory/entropy.js';
import { SystemClock } from '../../../adapters/system/clock.js';
import type { KeyHolder } from '../../../application/access/authenticate.js';
import { windowLength, type RateLimiter } from '../../../application/ports/rate-limiter.js';
import type { Clock } from '../../../application/ports/system.js';
import { noTracing } from '../../../application/ports/tracing.js';
import { DomainError } from '../../../domain/errors.js';
import { Instant, OrganizationId, Uuid, type Milliseconds } from '../../../domain/ids.js';

/** A valid key with these scopes. `label` distinguishes keys. */
export const keyOf = (label: string): string => `hck_${label.padEnd(43, '0')}`;

export const operatorToken = 'the-operator-token';
const orgId = OrganizationId.parse('6c0f6a3e-0000-4000-8000-000000000001');

const holderOf = (changes: Partial<KeyHolder>): KeyHolder => ({
  keyId: Uuid.parse('6c0f6a3e-0000-4000-8000-0000000000aa'),
  org: orgId,
  label: 'test',
  scopes: ['cards:send', 'cards:read', 'contacts:write', 'contacts:read', 'webhooks:manage'],
  requestsPerMinute: null,
  isSuspended: false,
  ...changes,
});

/** The keys that the test service knows. */
export const keys = {
  all: keyOf('all'),
  readOnly: keyOf('readonly'),
  slow: keyOf('slow'),
  revoked: keyOf('revoked'),
  unknown: keyOf('unknown'),
  broken: keyOf('broken'),
};

const holders: Readonly<Record<string, KeyHolder>> = {
  [keys.all]: holderOf({}),
  [keys.readOnly]: holderOf({
    keyId: Uuid.parse('6c0f6a3e-0000-4000-8000-0000000000bb'),
    scopes: ['cards:read'],
  }),
  [keys.slow]: holderOf({ keyId: Uuid.parse('6c0f6a3e-0000-4000-8000-0000000000cc'), requestsPerMinute: 2 }),
};

export const authenticate = (secret: string): Promise<KeyHolder> => {
  if (secret === keys.revoked) return Promise.reject(new DomainError('revoked_key', 'This key was revoked.'));
  if (secret === keys.broken) return Promise.reject(new Error('the event store is away'));
  const holder = holders[secret];
  return holder === undefined
    ? Promise.reject(new DomainError('invalid_key', 'This key is unknown.'))
    : Promise.resolve(holder);
};

/** Counts in a map, by clock minute. */
export const mapLimiter = (): RateLimiter => {
  const counts = new Map<string, number>();
  const name = (subject: string, now: number) => `${Math.floor(now / windowLength)} ${subject}`;
  return {
    hit: (subject, now) => {
      const count = (counts.get(name(subject, now)) ?? 0) + 1;
      counts.set(name(subject, now), count);
      return Promise.resolve(count);
    },
  };
};

/** Its time is set by the test; sleeps and time limits run for real. */
export interface SettableClock extends Clock {
  set(instant: string): void;
  /** Sets the machine's clock. */
  jump(time: Milliseconds): void;
  /** Lets time pass, by the monotonic clock, too. */
  pass(time: Milliseconds): void;
}

export const settableClock = (start: string): SettableClock => {
  let now = Date.parse(start);
  let passed = 0;
  let jumped = 0;
  const system = new SystemClock();
  return {
    now: () => now + jumped,
    steady: () => now,
    monotonic: () => system.monotonic() + passed,
    instant: () => Instant.parse(new Date(now + jumped).toISOString()),
    jump: (time) => {
      jumped += time;
    },
    sleep: (time, signal) => system.sleep(time, signal),
    set: (instant) => {
      now = Date.parse(instant);
    },
    pass: (time) => {
      now += time;
      passed += time;
    },
  };
};

export interface LogLine {
  readonly level: number;
  readonly msg: string;
  readonly [field: string]: unknown;
}

export interface TestService extends HttpServer {
  readonly port: number;
  readonly base: string;
  readonly log: readonly LogLine[];
  readonly clock: ReturnType<typeof settableClock>;
}

/** A service over real sockets. Close it in an `after` hook. */
export const startHttp = async (
  routes: readonly Route[],
  changes: Partial<HttpOptions> = {},
): Promise<TestService> => {
  const log: LogLine[] = [];
  const clock = settableClock('2026-03-02T15:00:10.250Z');
  const registry = new Registry();
  const server = httpServer({
    routes,
    authenticator: { authenticate },
    operatorToken,
    rateLimiter: mapLimiter(),
    requestsPerMinute: 120,
    clock,
    keysClock: clock,
    entropy: new SeededEntropy(11),
    log: pino(
      { base: null, timestamp: false },
      { write: (line: string) => void log.push(JSON.parse(line) as LogLine) },
    ),
    registry,
    metrics: httpMetrics(registry),
    tracing: noTracing,
    rehearsal: () => null,
    propose: () => Promise.resolve(null),
    lateFor: () => null,
    onRequest: () => undefined,
    maxConnections: 10_000,
    version: '1.2.3',
    readiness: () => Promise.resolve([]),
    baseUrl: () => 'https://cards.example',
    ...changes,
  });
  const port = await server.listen(0, '127.0.0.1');
  return { ...server, port, base: `http://127.0.0.1:${port}`, log, clock };
};

export interface Reply {
  readonly status: number;
  readonly headers: IncomingHttpHeaders;
  readonly text: string;
  readonly body: unknown;
}

export interface Call {
  readonly method?: string;
  readonly path: string;
  readonly key?: string;
  readonly headers?: Readonly<Record<string, string | readonly string[]>>;
  /** An object is sent as JSON, text and bytes as they are. */
  readonly body?: object | string | Buffer;
}

const parseJson = (text: string): unknown => {
  try {
    return JSON.parse(text) as unknown;
  } catch {
    return null;
  }
};

/**
 * One request on a connection of its own, with exactly the given headers (and Host, and a Content-Type if the
 * body is an object).
 */
export const call = (
  service: Pick<TestService, 'port'>,
  { method = 'GET', path, key, headers = {}, body }: Call,
): Promise<Reply> =>
  new Promise((resolve, reject) => {
    const payload =
      body === undefined || typeof body === 'string' || Buffer.isBuffer(body) ? body : JSON.stringify(body);
    const sent: Record<string, string | string[] | number> = {};
    if (key !== undefined) sent['authorization'] = `Bearer ${key}`;
    if (payload !== undefined && payload !== body) sent['content-type'] = 'application/json';
    if (payload !== undefined) sent['content-length'] = Buffer.byteLength(payload);
    for (const [name, value] of Object.entries(headers))
      sent[name] = typeof value === 'string' ? value : [...value];
    const request = httpRequest(
      { host: '127.0.0.1', port: service.port, method, path, headers: sent, agent: false },
      (response) => {
        const chunks: Buffer[] = [];
        response.on('data', (chunk: Buffer) => chunks.push(chunk));
        response.on('error', reject);
        response.on('end', () => {
          const text = Buffer.concat(chunks).toString();
          resolve({
            status: response.statusCode ?? 0,
            headers: response.headers,
            text,
            body: parseJson(text),
          });
        });
      },
    );
    request.on('error', reject);
    request.end(payload);
  });

/** The code of an error response; null for any other response. */
export const codeOf = ({ body }: Reply): string | null => {
  const { error } = (body ?? {}) as { readonly error?: { readonly code: string } };
  return error?.code ?? null;
};

export const paramOf = ({ body }: Reply): string | null => {
  const { error } = (body ?? {}) as { readonly error?: { readonly param?: string } };
  return error?.param ?? null;
};

/** A connection on which anything can be sent. `seen` is what has come back, as Latin-1. */
export interface RawConnection {
  readonly socket: Socket;
  readonly seen: () => string;
  readonly ended: () => boolean;
}

export const openRaw = (port: number): RawConnection => {
  let text = '';
  let over = false;
  const socket = connect({ host: '127.0.0.1', port, allowHalfOpen: false });
  socket.on('data', (chunk: Buffer) => (text += chunk.toString('latin1')));
  socket.on('error', () => (over = true));
  socket.on('close', () => (over = true));
  return { socket, seen: () => text, ended: () => over };
};

/**
 * Splits what came back on a connection into responses, by their Content-Length. An unfinished one at the end
 * is left out.
 */
export const answersIn = (text: string, options: { readonly head?: boolean } = {}): readonly Reply[] => {
  const answers: Reply[] = [];
  let rest = text;
  for (;;) {
    const end = rest.indexOf('\r\n\r\n');
    if (end < 0) return answers;
    const [statusLine = '', ...lines] = rest.slice(0, end).split('\r\n');
    const headers = Object.fromEntries(
      lines.map((line) => [
        line.slice(0, line.indexOf(':')).toLowerCase(),
        line.slice(line.indexOf(':') + 1).trim(),
      ]),
    );
    const length = options.head === true ? 0 : Number(headers['content-length'] ?? 0);
    if (rest.length < end + 4 + length) return answers;
    const body = rest.slice(end + 4, end + 4 + length);
    answers.push({ status: Number(statusLine.split(' ')[1]), headers, text: body, body: parseJson(body) });
    rest = rest.slice(end + 4 + length);
  }
};
