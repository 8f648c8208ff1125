import type { NextFunction, Request, Response } from 'express';
import { once } from 'node:events';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo, Socket } from 'node:net';
import type { Duplex } from 'node:stream';
import type { Registry } from 'prom-client';
import type { Clock, Entropy } from '../../../application/ports/system.js';
import { nextTurn } from '../../../application/timing/next-turn.js';
import { DomainError } from '../../../domain/errors.js';
import type { Milliseconds } from '../../../domain/ids.js';
import { begunPlace } from '../../../domain/traceparent.js';
import { isFor, type Audience } from './access.js';
import { gate, windowEnd, type GateOptions } from './caller.js';
import { docsRoutes } from '../docs/routes.js';
import { HttpFailure } from './errors.js';
import { headerValues, parseTarget, type Exchange } from './exchange.js';
import { fastExpress } from './express.js';
import { healthRoutes, type Readiness } from './health.js';
import { parserFailures } from './malformed.js';
import { pipeline, type PipelineOptions } from './pipeline.js';
import { returnedTypesOf, sentTypesOf, templateOf, type Route } from './route.js';
import { assertUniqueIds } from '../schema/json-schema.js';
import { traceOf } from './traces.js';
import { unknownPath } from './unknown-path.js';

const defaultTimeouts = {
  headers: 15_000,
  request: 30_000,
  /** For a whole request that takes longer because the service reads it slowly, which is an upload. */
  upload: 600_000,
  keepAlive: 65_000,
  /** For a client to take any part of a response. */
  progress: 30_000,
  /** How often slow connections are searched for. */
  check: 1_000,
  /**
   * After `close`: how often idle connections are ended. Requests that were sent just before are still seen
   * within that time.
   */
  idle: 100,
  /** How long running requests may take after `close`. */
  shutdown: 8_000,
};

export interface HttpOptions extends GateOptions, Omit<PipelineOptions, 'gate'> {
  readonly routes: readonly Route[];
  readonly entropy: Entropy;
  /** By which Idempotency-Keys age. */
  readonly keysClock: Pick<Clock, 'now'>;
  readonly registry: Registry;
  readonly version: string;
  /** Which of the routes it answers and documents: by default all of them. */
  readonly serves?: Audience;
  readonly readiness: Readiness;
  /** The address of the server that serves customers; its own if it is left out. */
  readonly publicUrl?: () => string;
  /** How many connections may be open at once; more are closed at once. */
  readonly maxConnections: number;
  readonly timeouts?: Partial<typeof defaultTimeouts>;
}

export type HttpServer = ReturnType<typeof httpServer>;

/**
 * The id of a request, and the trace that begins with it unless it belongs to another one. That trace is not
 * recorded, so it is not sampled. Ids are random, drawn in batches: one call for the system's randomness in
 * 256 requests. They begin with the request's time, so that a database writes new ones next to each other.
 */
const requestIds = (entropy: Entropy, clock: Clock) => {
  const size = 8;
  const timeDigits = 9;
  let timed = -1;
  let time = '';
  let traceTime = '';
  let pool: Buffer = Buffer.alloc(0);
  let at = 0;
  return () => {
    if (at >= pool.length) {
      pool = entropy.bytes(size * 256);
      at = 0;
    }
    const now = clock.now();
    if (now !== timed) {
      timed = now;
      time = now.toString(36).padStart(timeDigits, '0');
      traceTime = now.toString(16).padStart(16, '0');
    }
    at += size;
    const random = pool.toString('hex', at - size, at);
    return {
      id: `req_${time}${pool.toString('base64url', at - size, at)}`,
      traceparent: begunPlace(traceTime, random),
    };
  };
};

/** HTTP/1.1 requires exactly one Host header. (decision 9: requests that aren't proper HTTP) */
const hostMissing = ({ httpVersion, rawHeaders }: IncomingMessage): boolean => {
  const hosts = headerValues(rawHeaders, 'host').length;
  return httpVersion === '1.1' ? hosts !== 1 : hosts > 1;
};

/** Whether a connection is idle: no request has begun on it, or the last one got its response. */
const isIdle = ({ latestExchange, writableEnded }: Socket): boolean =>
  !writableEnded && (latestExchange === undefined || latestExchange.response.writableFinished);

/** Whether a response is being made and all that was sent of it is taken. */
const isWorkedFor = ({ latestExchange, writableLength }: Socket): boolean =>
  latestExchange !== undefined && !latestExchange.response.writableFinished && writableLength === 0;

/** Each response that waits for its turn on a connection takes memory. */
const maxWaiting = 1_000;
/** Counts a request that comes before the response to an earlier one. False if too many do. */
const mayWait = (socket: Socket, response: ServerResponse): boolean => {
  if (socket.latestExchange?.response.writableFinished !== false) return true;
  socket.waitingRequests = (socket.waitingRequests ?? 0) + 1;
  response.once('finish', () => (socket.waitingRequests = (socket.waitingRequests ?? 1) - 1));
  return socket.waitingRequests <= maxWaiting;
};

/** How often refused connections are logged. */
const warningPause: Milliseconds = 60_000;
/** A flood of connections does not keep a server that closes. */
const maxTurns = 10_000;

/** The routes of one path by method, and the value of Allow. */
interface Resource {
  readonly path: string;
  readonly template: string;
  readonly routes: ReadonlyMap<string, Route>;
  readonly allow: string;
}

/** No path has a wildcard, so that each of its parameters is one text. */
type PathRequest = Request<Readonly<Record<string, string>>>;

const blankPath = ({ path }: Route): string => path.slice(0, path.lastIndexOf(':'));

/**
 * Groups the routes by path; a route whose last parameter may be blank is also listed under the path without
 * it. Throws if two routes are the same, or two schemas have one id.
 */
export const resourcesOf = (routes: readonly Route[]): readonly Resource[] => {
  assertUniqueIds(routes.flatMap((route) => [...sentTypesOf(route), ...returnedTypesOf(route)]));
  const byPath = new Map<string, Map<string, Route>>();
  const add = (path: string, route: Route) => {
    const methods = byPath.get(path) ?? new Map<string, Route>();
    if (methods.has(route.method)) throw new Error(`${route.method} ${path} is declared twice`);
    byPath.set(path, methods.set(route.method, route));
  };
  for (const route of routes) {
    add(route.path, route);
    if (route.blank) add(blankPath(route), route);
  }
  return [...byPath].map(([path, methods]) => {
    const allow = [...methods.keys()].flatMap((method) => (method === 'GET' ? ['GET', 'HEAD'] : [method]));
    return { path, template: templateOf(path), routes: methods, allow: [...allow, 'OPTIONS'].join(', ') };
  });
};

export const httpServer = (options: HttpOptions) => {
  const { clock, log, registry, readiness, lateFor, tracing, baseUrl, publicUrl = baseUrl } = options;
  const timeouts = { ...defaultTimeouts, ...options.timeouts };
  const guard = gate(options);
  const flow = pipeline({ ...options, gate: guard });
  const nextIds = requestIds(options.entropy, clock);
  const documented = [...options.routes, ...healthRoutes(readiness, registry, options.version)].filter(
    isFor(options.serves ?? 'all'),
  );
  const routes = [...documented, ...docsRoutes(documented, baseUrl, publicUrl)];

  let begun = 0;

  const begin = (request: IncomingMessage, response: ServerResponse, awaitsContinue: boolean): Exchange => {
    const { path, search, undecodable } = parseTarget(request.url ?? '/');
    request.url = path;
    begun++;
    const { id, traceparent: begunTrace } = nextIds();
    const { span, traceparent } = traceOf(tracing, request, begunTrace);
    const exchange: Exchange = {
      request,
      response,
      id,
      span,
      traceparent,
      address: request.socket.remoteAddress ?? 'unknown',
      started: clock.monotonic(),
      came: options.keysClock.now(),
      lateAtStart: lateFor(),
      search,
      undecodable,
      awaitsContinue,
      template: null,
      route: null,
      caller: { kind: 'none' },
      subject: null,
      allowance: guard.keyless,
      reset: windowEnd(clock.steady()),
      ignored: [],
      strict: false,
      stop: null,
      broken: null,
      aborting: null,
      close: false,
    };
    request.exchange = exchange;
    request.socket.latestExchange = exchange;
    return exchange;
  };

  const { app, classes } = fastExpress();
  app
    .disable('x-powered-by')
    .disable('etag')
    .enable('strict routing')
    .enable('case sensitive routing')
    .set('query parser', false);

  const dispatch = (exchange: Exchange | undefined, resource: Resource, request: PathRequest): void => {
    if (exchange === undefined) return;
    exchange.template = resource.template;
    const method = request.method === 'HEAD' ? 'GET' : request.method;
    const route = resource.routes.get(method);
    if (route !== undefined) void flow.perform(exchange, route, request.params);
    else if (method === 'OPTIONS') flow.options(exchange, resource.allow);
    else {
      const refusal = new DomainError(
        'method_not_allowed',
        `This path allows ${resource.allow}, not ${request.method}.`,
      );
      void flow.refuse(exchange, refusal, { allow: resource.allow });
    }
  };
  // `app.all` would make a handler for each of 34 methods: one for all of them takes a thirtieth of the
  // start.
  for (const resource of resourcesOf(routes))
    app.route(resource.path).all((request: PathRequest) => dispatch(request.exchange, resource, request));

  const refuse = (request: IncomingMessage, error: unknown): void => {
    if (request.exchange !== undefined) void flow.refuse(request.exchange, error);
  };
  const paths = documented.flatMap(({ path }) => (path.includes('/v1/') ? [path] : []));
  app.use((request: Request) => {
    const below = new URL(baseUrl()).pathname.replace(/\/$/, '');
    refuse(request, unknownPath(request.method, request.path, paths, below));
  });
  // Express recognizes an error handler by its four parameters.
  // oxlint-disable-next-line no-unused-vars
  app.use((error: unknown, request: Request, _response: Response, _next: NextFunction) =>
    refuse(request, error),
  );

  const listener = (awaitsContinue: boolean) => (request: IncomingMessage, response: ServerResponse) => {
    const { socket } = request;
    if (!socket.destroyed && !mayWait(socket, response)) {
      log.info({ address: socket.remoteAddress }, 'connection ended: too many requests wait on it');
      socket.destroy();
    }
    if (socket.destroyed) return;
    const exchange = begin(request, response, awaitsContinue);
    if (hostMissing(request))
      void flow.refuse(
        exchange,
        new HttpFailure(400, 'The request must have one Host header. Send exactly one.'),
      );
    else app(request, response);
  };

  const server = createServer(
    {
      ...classes,
      requireHostHeader: false,
      headersTimeout: timeouts.headers,
      requestTimeout: timeouts.request,
      keepAliveTimeout: timeouts.keepAlive,
      connectionsCheckingInterval: timeouts.check,
      noDelay: true,
    },
    listener(false),
  );
  const connections = new Set<Socket>();
  server.maxConnections = options.maxConnections;
  // Node drops those beyond a number silently: their size alone is limited, and what is too large refused.
  server.maxHeadersCount = 0;
  let lastWarning = -Infinity;
  server.on('drop', () => {
    if (clock.monotonic() - lastWarning < warningPause) return;
    lastWarning = clock.monotonic();
    log.warn({ connections: connections.size }, 'connections are refused: as many as allowed are open');
  });
  // A connection on which a response is being made may be silent for as long as that takes.
  server.setTimeout(timeouts.progress, (socket: Socket) => {
    if (isWorkedFor(socket)) socket.setTimeout(timeouts.progress);
    else {
      if (!isIdle(socket))
        log.info(
          { address: socket.remoteAddress },
          'connection ended: the client does not read the response',
        );
      socket.destroy();
    }
  });

  let accepted = 0;
  server.on('connection', (socket: Socket) => {
    accepted += 1;
    connections.add(socket);
    socket.once('close', () => connections.delete(socket));
  });
  server.on('checkContinue', listener(true));
  server.on('checkExpectation', (request: IncomingMessage, response: ServerResponse) => {
    void flow.refuse(
      begin(request, response, false),
      new HttpFailure(417, 'The only Expect header that is supported is 100-continue. Leave yours out.'),
    );
  });
  const malformed = parserFailures({
    keyless: guard.keyless,
    nextId: () => nextIds().id,
    clock,
    log,
    baseUrl,
    requestTimeout: timeouts.request,
    uploadTimeout: timeouts.upload,
  });
  server.on('clientError', malformed.clientError);
  server.on('connect', malformed.connect);

  return {
    /** Serves a connection that was opened elsewhere, without timeouts of its own: for simulations. */
    accept: (connection: Duplex): void => void server.emit('connection', connection),
    begun: () => begun,
    /** Resolves with the port in use. Port 0 picks a free one. Rejects if the address can't be used. */
    listen: async (port: number, host: string) => {
      await once(server.listen(port, host), 'listening');
      return (server.address() as AddressInfo).port;
    },
    /** Goes on serving, event streams too, but ends every connection with its next response. */
    drain: () => flow.drain(),
    /**
     * Stops accepting, ends event streams and connections without work, lets running requests finish, and
     * resolves when every connection is closed.
     */
    close: async () => {
      flow.stop();
      // What clients have sent may still be in the kernel. A turn of the loop accepts one connection.
      for (let quiet = 0, turn = 0; quiet < 3 && turn < maxTurns; turn += 1) {
        const before = accepted;
        await nextTurn();
        quiet = accepted === before ? quiet + 1 : 0;
      }
      const over = new AbortController();
      const closed = new Promise<void>((resolve) => server.close(() => resolve())).then(() => over.abort());
      void clock.sleep(timeouts.shutdown, over.signal).then(() => server.closeAllConnections());
      while (!over.signal.aborted) {
        await clock.sleep(timeouts.idle, over.signal);
        for (const connection of connections) if (isIdle(connection)) connection.destroy();
      }
      await closed;
    },
  };
};
