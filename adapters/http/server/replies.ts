import type { Logger } from 'pino';
import { OutcomeUnknown } from '../../../application/writing/execute.js';
import type { RequestRecord } from '../../../application/ports/requests.js';
import type { Clock } from '../../../application/ports/system.js';
import { DomainError } from '../../../domain/errors.js';
import type { Milliseconds } from '../../../domain/ids.js';
import { traceIdOf } from '../../../domain/traceparent.js';
import { retryAfter, TooManyGuesses, type Gate } from './caller.js';
import { documentFor } from './documents.js';
import {
  ClientGone,
  errorBody,
  failureOf,
  HttpFailure,
  refusalOf,
  refusalWith,
  type Refusal,
} from './errors.js';
import { writeEvents, writeLines } from './event-stream.js';
import type { Abortable, Exchange } from './exchange.js';
import { ignoredHeaders } from './query.js';
import { logFields, recordOf, type httpMetrics } from './request-log.js';
import { headerList, jsonType, type Headers } from './respond.js';
import type { LinesResponse, Route, RouteResponse, StreamResponse } from './route.js';
import { endSpan } from './traces.js';

/** How often a stream looks whether its caller may still have it. */
const recheckInterval: Milliseconds = 1_000;

const placeOf = ({ id, template, traceparent }: Exchange) => ({
  request: id,
  route: template,
  trace_id: traceIdOf(traceparent),
});

/** How the JSON of every list begins. (decision 53: the form of lists) */
const listHead = '{"object":"list"';

/** (decision 34: lists that may lack something say so) */
const lateHeaders = (late: Milliseconds | null): Headers =>
  late === null ? {} : { 'x-read-model-late': String(Math.max(1, Math.ceil(late / 1_000))) };

export interface ReplyDeps {
  readonly gate: Gate;
  readonly clock: Clock;
  readonly log: Logger;
  readonly metrics: ReturnType<typeof httpMetrics>;
  /**
   * The address that clients see. It is asked for each time, because a free port is known only after
   * `listen`.
   */
  readonly baseUrl: () => string;
  /** For how long the read models have been late, which lists then report; null if they are not. */
  readonly lateFor: () => Milliseconds | null;
  /** Called with every request that needs a credential, once it is over. */
  readonly onRequest: (request: Omit<RequestRecord, 'wrote'>) => void;
}

/** Sends the result of a request, and records its end. */
export const replies = (deps: ReplyDeps, abortable: Abortable) => {
  const { gate, clock, log, metrics, baseUrl, lateFor, onRequest } = deps;
  let draining = false;

  const concluded = (exchange: Exchange, status: number, refusal: Refusal | null = null): void => {
    const ms = clock.monotonic() - exchange.started;
    metrics.observe(exchange.request.method ?? 'UNKNOWN', exchange.template ?? 'unmatched', status, ms);
    log.info(logFields(exchange, status, ms, refusal), 'request');
    endSpan(exchange, status);
    if (exchange.route !== null && exchange.route.access.kind !== 'public')
      onRequest(recordOf(exchange, status, ms, clock.now() - ms, refusal));
  };

  /** Sends a whole response. For HEAD, Node itself leaves the body out. */
  const send = (
    exchange: Exchange,
    status: number,
    body: string | Buffer | null,
    headers: Headers,
    refusal: Refusal | null = null,
  ): void => {
    const { response } = exchange;
    if (!response.destroyed) {
      exchange.close ||= draining;
      const list = headerList(exchange, headers);
      if (body !== null) list.push('content-length', `${Buffer.byteLength(body)}`);
      response.writeHead(status, list);
      response.end(body);
    }
    concluded(exchange, status, refusal);
  };

  const sendBytes = (exchange: Exchange, bytes: Buffer | null, headers: Headers): void =>
    send(exchange, bytes === null ? 304 : 200, bytes, headers);

  const sendText = (
    exchange: Exchange,
    status: number,
    type: string,
    text: string,
    extra?: Headers,
    refusal: Refusal | null = null,
  ): void => {
    if (exchange.awaitsContinue) exchange.close = true;
    const isList = text.startsWith(listHead) || text.startsWith('[');
    const late = isList ? lateHeaders(lateFor() ?? exchange.lateAtStart) : null;
    const headers = { 'content-type': type, ...extra, ...ignoredHeaders(exchange), ...late };
    send(exchange, status, text, headers, refusal);
  };

  const drop = (exchange: Exchange, status: number): void => {
    exchange.request.socket.destroy();
    concluded(exchange, status);
  };

  const throttled = async (address: string): Promise<boolean> => {
    try {
      return await gate.failed(address);
    } catch (error) {
      log.error({ err: error }, 'failed attempts are not counted');
      return false;
    }
  };

  /** A key waits for the minute after that in which it was counted, a failed attempt for the next one. */
  const secondsToWait = ({ allowance, reset }: Exchange, error: unknown): number => {
    if (error instanceof TooManyGuesses) return error.seconds;
    return retryAfter(clock.steady(), allowance.remaining < 0 ? reset : undefined);
  };

  /**
   * Ends a stream whose key has stopped working, or is of an organization that was suspended. The guesses of
   * others end none. (decision 51: when a revocation works)
   */
  const endIfRefused = async (exchange: Exchange, { access }: Route, over: AbortSignal): Promise<void> => {
    const { request, address } = exchange;
    while (!over.aborted) {
      await clock.sleep(recheckInterval, over);
      if (over.aborted) return;
      const isOver = await gate.identify(access, request.headers.authorization, address).then(
        (caller) => caller.kind === 'key' && caller.isSuspended,
        (error: unknown) => error instanceof DomainError && !(error instanceof TooManyGuesses),
      );
      if (isOver) exchange.aborting?.abort();
    }
  };

  const stream = async (exchange: Exchange, route: Route, streamed: StreamResponse): Promise<void> => {
    const { response } = exchange;
    const signal = abortable.signalOf(exchange);
    exchange.close = true;
    const headers = {
      ...ignoredHeaders(exchange),
      'content-type': `${streamed.type ?? 'text/event-stream'}; charset=utf-8`,
      'x-accel-buffering': 'no',
    };
    response.writeHead(200, headerList(exchange, headers));
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
    exchange.close = true;
    const all = { ...headers, ...ignoredHeaders(exchange), 'content-type': type };
    response.writeHead(200, headerList(exchange, all));
    if (exchange.request.method === 'HEAD') await lines[Symbol.asyncIterator]().return?.();
    else if (!(await writeLines(response, lines, signal))) return drop(exchange, 499);
    response.end();
    concluded(exchange, 200);
  };

  const respond = async (exchange: Exchange, route: Route, response: RouteResponse): Promise<void> => {
    if ('events' in response) await stream(exchange, route, response);
    else if ('lines' in response) await streamLines(exchange, response);
    else if ('document' in response) {
      const { bytes, headers } = documentFor(response.document, exchange.request.headers);
      sendBytes(exchange, bytes, headers);
    } else if ('bytes' in response)
      sendBytes(exchange, response.bytes, { ...response.headers, 'content-type': response.type });
    else {
      const { status = route.status, headers } = response;
      if ('body' in response) sendText(exchange, status, jsonType, JSON.stringify(response.body), headers);
      else sendText(exchange, status, response.type, response.text, headers);
    }
  };

  const respondToError = async (exchange: Exchange, error: unknown, extra?: Headers): Promise<void> => {
    if (error instanceof ClientGone) return drop(exchange, 499);
    if (error instanceof OutcomeUnknown) {
      log.warn({ err: error, ...placeOf(exchange) }, 'connection dropped: the outcome is unknown');
      return drop(exchange, 0);
    }
    let refusal: Refusal | null = refusalOf(error);
    if (refusal === null) log.error({ err: error, ...placeOf(exchange) }, 'request failed');
    refusal ??= failureOf(exchange.route?.failure ?? 'internal_error');
    // A failed attempt at authentication. (decision 50: tokens, the call log, and guessing)
    if (refusal.status === 401 && (await throttled(exchange.address)))
      refusal = refusalWith(
        'rate_limited',
        'Too many failed attempts from this address. Wait the number of seconds in Retry-After. A valid key works at once.',
      );
    const headers: Record<string, string | readonly string[]> = { ...extra };
    if (refusal.status === 401) headers['www-authenticate'] = 'Bearer';
    if (refusal.code === 'rate_limited') headers['retry-after'] = `${secondsToWait(exchange, error)}`;
    if (refusal.code === 'request_in_progress') headers['retry-after'] = '1';
    if (error instanceof HttpFailure) exchange.close = true;
    const text = JSON.stringify(errorBody(refusal, baseUrl(), exchange.id));
    sendText(exchange, refusal.status, jsonType, text, headers, refusal);
  };

  /**
   * Sends the response for an error; once the head of a response is sent, it can only be logged and the
   * connection dropped. Never rejects.
   */
  const refuse = async (exchange: Exchange, error: unknown, extra?: Headers): Promise<void> => {
    try {
      if (!exchange.response.headersSent) return await respondToError(exchange, error, extra);
      log.error({ err: error, ...placeOf(exchange) }, 'a response broke off');
    } catch (second) {
      log.error({ err: second, ...placeOf(exchange) }, 'an error response could not be sent');
    }
    drop(exchange, 0);
  };

  const options = (exchange: Exchange, allow: string): void => send(exchange, 204, null, { allow });

  /** Ends every connection with its next response. */
  const drain = (): void => void (draining = true);

  return { respond, refuse, options, drain };
};
