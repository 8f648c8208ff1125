import type { Logger } from 'pino';
import type { Tracing } from '../../../application/ports/tracing.js';
import { inSpan, noTracing } from '../../../application/writing/traced.js';
import { OutcomeUnknown } from '../../../application/writing/outcome.js';
import type { Clock } from '../../../application/ports/system.js';
import { suspended } from '../../../application/organizations/suspensions.js';
import { DomainError, UnknownName, type ErrorCode } from '../../../domain/errors.js';
import type { Milliseconds, OrganizationId } from '../../../domain/ids.js';
import { traceIdOf } from '../../../domain/traceparent.js';
import { assertOneAuthorization, retryAfter, TooManyGuesses, windowEnd, type Gate } from './caller.js';
import { documentFor, type SharedDocument } from './documents.js';
import {
  ClientGone,
  errorBody,
  failureOf,
  HttpFailure,
  isAuthenticationFailure,
  refusalOf,
  type Refusal,
} from './errors.js';
import { writeEvents, writeLines } from './event-stream.js';
import { signalOf, type Exchange } from './exchange.js';
import { checkFormHeaders, parseForm } from './form-body.js';
import { checkHeaders, parseObject, readBytes } from './json-body.js';
import {
  ignoredFieldsHeader,
  ignoredNames,
  maxNamed,
  prefersStrict,
  unknownName,
} from '../schema/ignored.js';
import type { HttpMetrics } from './metrics.js';
import { atField, readAll, type JsonObject } from '../schema/read.js';
import type { RequestRecord } from '../../../application/ports/requests.js';
import { logFields, recordOf, subjectOf, subjectsIn } from './request-log.js';
import type { Subject, Caller, OperatorCaller } from './access.js';
import { endSpan } from './traces.js';
import {
  headerList,
  jsonType,
  send,
  sendBytes,
  sendNothing,
  type Envelope,
  type Headers,
} from './respond.js';
import type {
  BytesResponse,
  HttpRequest,
  LinesResponse,
  Route,
  RouteResponse,
  StreamResponse,
} from './route.js';
import type { Upload } from './upload.js';

export interface PipelineOptions {
  readonly gate: Gate;
  readonly clock: Clock;
  readonly log: Logger;
  readonly metrics: HttpMetrics;
  readonly tracing: Tracing;
  readonly baseUrl: () => string;
  /** What to send in place of a name that is not known; null for nothing. Never rejects. */
  readonly propose: Propose;
  /** For how long the read models have been late; null if they are not. */
  readonly lateFor: () => Milliseconds | null;
  /** Is told of every request that needs a credential, once it is over. */
  readonly onRequest: (request: Omit<RequestRecord, 'wrote'>) => void;
}

export interface Pipeline {
  /**
   * Takes a request through every check to its handler, and sends the response. Never rejects. (decision 1:
   * one order of checks)
   */
  perform(exchange: Exchange, route: Route, params: Readonly<Record<string, string>>): Promise<void>;
  /** Sends the response for an error. Never rejects. */
  refuse(
    exchange: Exchange,
    error: unknown,
    failure: ErrorCode,
    extra?: Readonly<Record<string, string>>,
  ): Promise<void>;
  /** Responds with a 204 and the methods of a path. */
  options(exchange: Exchange, allow: string): void;
  /** Ends the event streams now, and every connection with its next response. */
  stop(): void;
  envelope(exchange: Pick<Exchange, 'id' | 'allowance' | 'reset' | 'close'>): Envelope;
}

export type Propose = (error: UnknownName, org: OrganizationId | null) => Promise<string | null>;

/** How often a stream looks whether its caller may still have it. */
const recheckInterval: Milliseconds = 1_000;

const empty: JsonObject = {};

/**
 * Query parameters by name. A name that is sent twice is refused, whatever it is. (decision 27: `limit`, and
 * parameters that come twice)
 */
const parseQuery = (search: string): Record<string, string> => {
  const values: Record<string, string> = {};
  for (const [name, value] of new URLSearchParams(search)) {
    if (Object.hasOwn(values, name))
      throw new DomainError(
        'invalid_parameter',
        `\`${name}\` is given more than once in the query. Send it once.`,
        name,
      );
    Object.defineProperty(values, name, { value, enumerable: true, configurable: true, writable: true });
  }
  return values;
};

const headerValues = (raw: readonly string[], name: string): readonly string[] => {
  const wanted = name.toLowerCase();
  return raw.filter((_, at) => at % 2 === 1 && raw[at - 1]?.toLowerCase() === wanted);
};

const freeQuery = (search: string): Record<string, string> => Object.fromEntries(new URLSearchParams(search));

const nothing: Readonly<Record<string, string>> = {};

/** The fields by which log lines say which request they are about. */
const placeOf = ({ id, template, traceparent }: Exchange) => ({
  request: id,
  route: template,
  trace_id: traceIdOf(traceparent),
});

const hasKey = ({ access }: Route): boolean => access.kind === 'key' || access.kind === 'operator';

/**
 * The query as text by name. Callers with a key or the operator token may send a name only once; callers of
 * hooks and pages may send anything.
 */
const queryOf = (route: Route, search: string): Readonly<Record<string, string>> => {
  if (search === '') return nothing;
  return hasKey(route) ? parseQuery(search) : freeQuery(search);
};

/**
 * Looks for names that the operation does not know. Throws for the first if the client wants that, or if it
 * is a query parameter below /operator. (decision 27: unknown parameters; decision 64: what was ignored is
 * told)
 */
const noteIgnored = (exchange: Exchange, route: Route, query: object, body: JsonObject): void => {
  if (!hasKey(route)) return;
  const inQuery = query === nothing ? [] : ignoredNames(route.query, query);
  const inBody = route.body === null ? [] : ignoredNames(route.body.schema, body);
  exchange.ignored = inQuery.length === 0 ? inBody : [...inQuery, ...inBody].slice(0, maxNamed);
  exchange.strict = prefersStrict(exchange.request.headers.prefer);
  const [parameter] = inQuery;
  const [field] = inBody;
  if (parameter !== undefined && (exchange.strict || route.access.kind === 'operator'))
    throw unknownName(parameter, 'parameter');
  if (field !== undefined && exchange.strict) throw unknownName(field, 'field');
};

/** The headers that say what became of unknown names. */
const ignoredHeaders = ({ ignored, strict }: Exchange): Readonly<Record<string, string>> => ({
  ...(ignored.length > 0 && { 'x-ignored-fields': ignoredFieldsHeader(ignored) }),
  ...(strict && { 'preference-applied': 'handling=strict' }),
});

const readBody = async (exchange: Exchange): Promise<JsonObject> => {
  const { request } = exchange;
  checkHeaders(request);
  if (exchange.broken !== null) throw exchange.broken;
  if (exchange.awaitsContinue) {
    exchange.awaitsContinue = false;
    exchange.response.writeContinue();
  }
  try {
    return parseObject(await readBytes(request, (stop) => (exchange.stop = stop)));
  } finally {
    exchange.stop = null;
  }
};

const readForm = async (exchange: Exchange): Promise<ReadonlyMap<string, string>> => {
  const { request } = exchange;
  checkFormHeaders(request);
  if (exchange.broken !== null) throw exchange.broken;
  if (exchange.awaitsContinue) {
    exchange.awaitsContinue = false;
    exchange.response.writeContinue();
  }
  try {
    return parseForm(await readBytes(request, (stop) => (exchange.stop = stop)));
  } finally {
    exchange.stop = null;
  }
};

/** Loads what reads uploads when the first one comes: most processes never get one. */
const readFile = async (exchange: Exchange): Promise<Upload> => {
  const { request } = exchange;
  const { isUpload, readUpload } = await import('./upload.js');
  if (!isUpload(request.headers['content-type']))
    throw new DomainError('unsupported_media_type', 'A file is sent as multipart/form-data.');
  if (exchange.broken !== null) throw exchange.broken;
  if (exchange.awaitsContinue) {
    exchange.awaitsContinue = false;
    exchange.response.writeContinue();
  }
  return readUpload(request, (stop) => (exchange.stop = stop));
};

/** What a handler has left of an upload is given up before the response. */
const giveUpUpload = (exchange: Exchange): void => {
  const { stop } = exchange;
  exchange.stop = null;
  stop?.(new ClientGone('the request is over'));
};

/** An exchange as a handler sees it. It is a class so that a request costs one object and no closures. */
class AdmittedRequest implements HttpRequest {
  readonly id: string;
  readonly traceparent: string;
  readonly caller: Caller;

  constructor(
    private readonly exchange: Exchange,
    readonly params: object,
    readonly query: object,
    readonly sent: JsonObject,
    private readonly abortable: Abortable,
  ) {
    this.id = exchange.id;
    this.traceparent = exchange.traceparent;
    this.caller = exchange.caller;
  }

  readBody(): Promise<JsonObject> {
    return readBody(this.exchange);
  }

  readForm(): Promise<ReadonlyMap<string, string>> {
    return readForm(this.exchange);
  }

  readUpload(): Promise<Upload> {
    return readFile(this.exchange);
  }

  get address(): string {
    return this.exchange.address;
  }

  concerns(subject: Subject): void {
    this.exchange.subject = subject;
  }

  header(name: string): readonly string[] {
    return headerValues(this.exchange.request.rawHeaders, name);
  }

  get signal(): AbortSignal {
    return this.abortable.signalOf(this.exchange);
  }
}

/** The requests whose handlers listen for an abort: few, and only as long as they are at work. */
class Abortable {
  readonly #listening = new Set<AbortController>();
  #stopped = false;

  /** Aborts when the client goes away, and when the service stops. */
  signalOf(exchange: Exchange): AbortSignal {
    const signal = signalOf(exchange);
    if (exchange.aborting !== null) this.#listening.add(exchange.aborting);
    if (this.#stopped) exchange.aborting?.abort();
    return signal;
  }

  concluded({ aborting }: Exchange): void {
    if (aborting !== null) this.#listening.delete(aborting);
  }

  stop(): void {
    this.#stopped = true;
    for (const controller of this.#listening) controller.abort();
  }
}

/** Whoever may audit may read everything; some routes are only for the operator token. */
const requireOperatorScope = ({ access, method }: Route, { scopes }: OperatorCaller): void => {
  if (access.kind !== 'operator' || scopes === null) return;
  const { scope } = access;
  if (scope !== null && scopes.includes(scope)) return;
  if (method === 'GET' && scopes.includes('operator:audit')) return;
  throw new DomainError(
    'missing_scope',
    scope === null
      ? 'This is done with the operator token of OPERATOR_TOKEN_FILE alone.'
      : `This key lacks the scope \`${scope}\`. Use a key that has it.`,
  );
};

const requireScope = (route: Route, caller: Caller): void => {
  if (route.access.kind === 'operator' && caller.kind === 'operator') requireOperatorScope(route, caller);
  if (route.access.kind !== 'key' || route.access.scope === null || caller.kind !== 'key') return;
  const { scope } = route.access;
  if (!caller.scopes.includes(scope))
    throw new DomainError('missing_scope', `This key lacks the scope \`${scope}\`. Use a key that has it.`);
};

/** How the JSON of every list begins. (decision 53: the form of lists) */
const listHead = '{"object":"list"';

/** (decision 34: lists that may lack something say so) */
const lateHeaders = (late: Milliseconds | null): Headers =>
  late === null ? {} : { 'x-read-model-late': String(Math.max(1, Math.ceil(late / 1_000))) };

export const pipeline = ({
  gate,
  clock,
  log,
  metrics,
  tracing,
  baseUrl,
  propose,
  lateFor,
  onRequest,
}: PipelineOptions): Pipeline => {
  const abortable = new Abortable();
  let stopping = false;

  const envelope: Pipeline['envelope'] = ({ id, allowance, reset, close }) => ({
    requestId: id,
    allowance,
    reset,
    close: close || stopping,
  });

  const concluded = (exchange: Exchange, status: number, refusal: Refusal | null = null): void => {
    const ms = clock.monotonic() - exchange.started;
    metrics.observe(exchange.request.method ?? 'UNKNOWN', exchange.template ?? 'unmatched', status, ms);
    log.info(logFields(exchange, status, ms, refusal), 'request');
    endSpan(exchange, status);
    if (exchange.needsCredential) onRequest(recordOf(exchange, status, ms, clock.now() - ms, refusal));
  };

  const sendAll = (
    exchange: Exchange,
    status: number,
    type: string,
    text: string,
    extra?: Headers,
    refusal: Refusal | null = null,
  ): void => {
    if (exchange.awaitsContinue) exchange.close = true;
    const told =
      exchange.strict || exchange.ignored.length > 0 ? { ...extra, ...ignoredHeaders(exchange) } : extra;
    const late = (): Milliseconds | null => lateFor() ?? exchange.lateAtStart;
    const all = text.startsWith(listHead) ? { ...told, ...lateHeaders(late()) } : told;
    if (!exchange.response.destroyed) send(exchange.response, status, type, text, envelope(exchange), all);
    concluded(exchange, status, refusal);
  };

  const sendRaw = (exchange: Exchange, { status, type, bytes, headers }: BytesResponse): void => {
    if (!exchange.response.destroyed)
      sendBytes(exchange.response, status, bytes, envelope(exchange), { ...headers, 'content-type': type });
    concluded(exchange, status, null);
  };

  const sendDocument = (exchange: Exchange, document: SharedDocument): void => {
    const { status, bytes, headers } = documentFor(document, exchange.request.headers);
    if (!exchange.response.destroyed)
      sendBytes(exchange.response, status, bytes, envelope(exchange), headers);
    concluded(exchange, status);
  };

  const drop = (exchange: Exchange, status: number): void => {
    exchange.request.socket.destroy();
    concluded(exchange, status);
  };

  const count = async (caller: Caller, now: Milliseconds) => {
    try {
      return await gate.count(caller, now);
    } catch (error) {
      log.error({ err: error }, 'requests are not counted');
      return gate.keyless;
    }
  };

  const throttled = async (address: string): Promise<boolean> => {
    try {
      return await gate.failed(address);
    } catch (error) {
      log.error({ err: error }, 'failed attempts are not counted');
      return false;
    }
  };

  const admit = async (exchange: Exchange, route: Route): Promise<void> => {
    exchange.needsCredential = route.access.kind !== 'public';
    if (hasKey(route)) assertOneAuthorization(exchange.request.rawHeaders);
    const caller = await gate.identify(
      route.access,
      exchange.request.headers.authorization,
      exchange.address,
    );
    exchange.caller = caller;
    const now = clock.now();
    exchange.reset = windowEnd(now);
    exchange.allowance = await count(caller, now);
    if (exchange.allowance.remaining < 0)
      throw new DomainError(
        'rate_limited',
        `This key may send ${exchange.allowance.limit} requests per minute. Wait the number of seconds in Retry-After, then send again.`,
      );
    if (caller.kind === 'key' && caller.isSuspended) throw suspended();
    requireScope(route, caller);
  };

  /** A key waits for the minute after that in which it was counted, a failed attempt for the next one. */
  const secondsToWait = ({ allowance, reset }: Exchange, error: unknown): number => {
    if (error instanceof TooManyGuesses) return error.seconds;
    return retryAfter(clock.now(), allowance.remaining < 0 ? reset : undefined);
  };

  /** (decision 66: a refusal of a name proposes another) */
  const withProposal = async (caller: Caller, error: UnknownName): Promise<DomainError> => {
    const proposed = await propose(error, caller.kind === 'key' ? caller.org : null);
    return proposed === null
      ? error
      : new DomainError(error.code, `${error.message} Did you mean \`${proposed}\`?`, error.param);
  };

  const undecodable = (code: ErrorCode): DomainError =>
    new DomainError(
      code,
      code === 'card_not_found'
        ? 'There is no such card: the percent-encoding of the path is broken.'
        : 'There is nothing at this path: its percent-encoding is broken.',
    );

  /** What changes something is a command, with a span of its own. */
  const performed = (route: Route, request: HttpRequest, values: unknown): Promise<RouteResponse> =>
    tracing === noTracing || route.method === 'GET'
      ? route.handle(request, values)
      : inSpan(tracing, `command ${route.operation.operationId}`, { kind: 'internal' }, () =>
          route.handle(request, values),
        );

  const handle = async (
    exchange: Exchange,
    route: Route,
    params: Readonly<Record<string, string>>,
  ): Promise<RouteResponse> => {
    await admit(exchange, route);
    if (exchange.undecodable && route.undecodable !== 'as-is') throw undecodable(route.undecodable);
    // A hook reads its body when its token is known.
    const declared = route.access.kind === 'hook' ? null : route.body;
    const body = declared === null ? empty : await readBody(exchange);
    const place = readAll(route.params, params);
    const sent = queryOf(route, exchange.search);
    noteIgnored(exchange, route, sent, body);
    const request = new AdmittedRequest(exchange, place, readAll(route.query, sent), body, abortable);
    try {
      const response = await performed(route, request, declared?.read(body));
      const subjects = exchange.caller.kind === 'key' ? [] : subjectsIn(params, { ...sent, subject: '' });
      exchange.subject = { ...exchange.subject, ...subjectOf(route, params, body, response), subjects };
      return response;
    } catch (error) {
      const told = error instanceof UnknownName ? await withProposal(exchange.caller, error) : error;
      throw route.body === null ? told : atField(route.body.schema, told);
    } finally {
      giveUpUpload(exchange);
    }
  };

  /**
   * Ends a stream whose key or token has stopped working meanwhile. (decision 51: when a revocation works)
   */
  const endIfRefused = async (exchange: Exchange, { access }: Route, over: AbortSignal): Promise<void> => {
    const { request, address } = exchange;
    while (!over.aborted) {
      await clock.sleep(recheckInterval, over);
      if (over.aborted) return;
      await gate.identify(access, request.headers.authorization, address).catch((error: unknown) => {
        if (error instanceof DomainError) exchange.aborting?.abort();
      });
    }
  };

  const stream = async (exchange: Exchange, route: Route, streamed: StreamResponse): Promise<void> => {
    const { response } = exchange;
    const signal = abortable.signalOf(exchange);
    response.writeHead(200, [
      ...headerList(
        { ...envelope(exchange), close: true },
        { ...streamed.headers, ...ignoredHeaders(exchange) },
      ),
      'content-type',
      `${streamed.type ?? 'text/event-stream'}; charset=utf-8`,
      'x-accel-buffering',
      'no',
    ]);
    if (exchange.request.method !== 'HEAD') {
      response.flushHeaders();
      const over = new AbortController();
      const watching = endIfRefused(exchange, route, AbortSignal.any([over.signal, signal]));
      try {
        const isWhole = await writeEvents(response, streamed, clock, signal);
        if (!isWhole && streamed.type === 'application/jsonl') response.destroy();
      } catch (error) {
        log.error({ err: error, ...placeOf(exchange) }, 'an event stream broke off');
        if (streamed.type === 'application/jsonl') response.destroy();
      } finally {
        over.abort();
        await watching;
      }
    }
    response.end();
    concluded(exchange, 200);
  };

  const streamLines = async (exchange: Exchange, { type, lines, headers }: LinesResponse): Promise<void> => {
    const { response } = exchange;
    const signal = abortable.signalOf(exchange);
    response.writeHead(200, [
      ...headerList({ ...envelope(exchange), close: true }, { ...headers, ...ignoredHeaders(exchange) }),
      'content-type',
      type,
    ]);
    if (exchange.request.method === 'HEAD') await lines[Symbol.asyncIterator]().return?.();
    else if (!(await writeLines(response, lines, signal))) return drop(exchange, 499);
    response.end();
    concluded(exchange, 200);
  };

  const respondToError = async (
    exchange: Exchange,
    error: unknown,
    failure: ErrorCode,
    extra?: Readonly<Record<string, string>>,
  ): Promise<void> => {
    if (error instanceof ClientGone) return drop(exchange, 499);
    if (error instanceof OutcomeUnknown) {
      log.warn({ err: error, ...placeOf(exchange) }, 'connection dropped: the outcome is unknown');
      return drop(exchange, 0);
    }
    let refusal: Refusal | null = refusalOf(error);
    if (refusal === null) log.error({ err: error, ...placeOf(exchange) }, 'request failed');
    refusal ??= failureOf(failure);
    if (isAuthenticationFailure(refusal.code) && (await throttled(exchange.address)))
      refusal = {
        status: 429,
        code: 'rate_limited',
        message:
          'Too many failed attempts from this address. Wait the number of seconds in Retry-After. A valid key works at once.',
        param: null,
      };
    const headers: Record<string, string> = { ...extra };
    if (refusal.status === 401) headers['www-authenticate'] = 'Bearer';
    if (refusal.code === 'rate_limited') headers['retry-after'] = `${secondsToWait(exchange, error)}`;
    if (refusal.code === 'request_in_progress') headers['retry-after'] = '1';
    if (error instanceof HttpFailure) exchange.close = true;
    sendAll(
      exchange,
      refusal.status,
      jsonType,
      JSON.stringify(errorBody(refusal, baseUrl(), exchange.id)),
      headers,
      refusal,
    );
  };

  /** Once the head of a response is sent, an error can only be logged and the connection dropped. */
  const refuse = async (
    exchange: Exchange,
    error: unknown,
    failure: ErrorCode,
    extra?: Readonly<Record<string, string>>,
  ): Promise<void> => {
    try {
      if (!exchange.response.headersSent) return await respondToError(exchange, error, failure, extra);
      log.error({ err: error, ...placeOf(exchange) }, 'a response broke off');
    } catch (second) {
      log.error({ err: second, ...placeOf(exchange) }, 'the response for an error failed');
    }
    drop(exchange, 0);
  };

  const perform = async (
    exchange: Exchange,
    route: Route,
    params: Readonly<Record<string, string>>,
  ): Promise<void> => {
    try {
      exchange.route = route;
      const response = await exchange.span.within(() => handle(exchange, route, params));
      if ('events' in response) await stream(exchange, route, response);
      else if ('lines' in response) await streamLines(exchange, response);
      else if ('document' in response) sendDocument(exchange, response.document);
      else if ('bytes' in response) sendRaw(exchange, response);
      else if ('body' in response)
        sendAll(exchange, response.status, jsonType, JSON.stringify(response.body), response.headers);
      else sendAll(exchange, response.status, response.type, response.text, response.headers);
    } catch (error) {
      await refuse(exchange, error, route.failure);
    } finally {
      abortable.concluded(exchange);
    }
  };

  const options = (exchange: Exchange, allow: string): void => {
    sendNothing(exchange.response, 204, envelope(exchange), { allow });
    concluded(exchange, 204);
  };

  const stop = (): void => {
    stopping = true;
    abortable.stop();
  };

  return { perform, refuse, options, stop, envelope };
};
