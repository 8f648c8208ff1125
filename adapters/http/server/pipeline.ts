import { inSpan, noTracing, type Tracing } from '../../../application/ports/tracing.js';
import { DomainError, UnknownName, type ErrorCode } from '../../../domain/errors.js';
import type { OrganizationId } from '../../../domain/ids.js';
import { truncate } from '../../../domain/text.js';
import { atField, parseValues, type JsonObject } from '../schema/read.js';
import type { Caller } from './access.js';
import { admission, type AdmissionDeps } from './admission.js';
import { giveUpUpload, readBody } from './bodies.js';
import { Abortable, type Exchange } from './exchange.js';
import { noteIgnored, queryOf } from './query.js';
import { replies, type ReplyDeps } from './replies.js';
import { subjectOf, subjectsIn } from './request-log.js';
import { HttpRequest, type Route, type RouteResponse } from './route.js';

export interface PipelineOptions extends ReplyDeps, AdmissionDeps {
  readonly tracing: Tracing;
  /** Tells of the names that there are, in place of an unknown one; null if it has none. Never rejects. */
  readonly propose: (error: UnknownName, org: OrganizationId | null) => Promise<string | null>;
}

const empty: JsonObject = {};

const undecodable = (code: ErrorCode): DomainError =>
  new DomainError(
    code,
    code === 'card_not_found'
      ? 'There is no such card: the path has U+0000, or broken percent-encoding.'
      : 'Unknown path: it has U+0000, or broken percent-encoding.',
  );

/** A refusal of the id or the cursor in a request with an API key, with its value. */
const withId = (error: unknown, { access }: Route, ids: readonly string[], cursor = ''): unknown => {
  if (!(error instanceof DomainError) || access.kind !== 'key') return error;
  const isCursor = error.param === 'starting_after';
  const id = isCursor ? cursor : error.code.endsWith('not_found') ? ids[0] : undefined;
  if (id === undefined) return error;
  const message = error.message.replace(/\.(?= |$)/, () => `: \`${truncate(id, 100)}\`.`);
  const next = message.includes('. ') ? '' : ' Take one from the list.';
  return new DomainError(error.code, `${message}${next}`, error.param);
};

export const pipeline = (options: PipelineOptions) => {
  const { tracing, propose } = options;
  const abortable = new Abortable();
  const admit = admission(options);
  const reply = replies(options, abortable);

  /** (decision 66: a refusal of a name proposes another) */
  const withProposal = async (caller: Caller, error: UnknownName): Promise<DomainError> => {
    const proposed = await propose(error, caller.kind === 'key' ? caller.org : null);
    return proposed === null
      ? error
      : new DomainError(error.code, `${error.message} ${proposed}`, error.param);
  };

  /** Runs a handler. A change is a command, with a span of its own. */
  const callHandler = (route: Route, request: HttpRequest, values: unknown): Promise<RouteResponse> =>
    tracing === noTracing || route.method === 'GET'
      ? route.handle(request, values)
      : inSpan(tracing, `command ${route.id}`, { kind: 'internal' }, () => route.handle(request, values));

  const admitAndCall = async (
    exchange: Exchange,
    route: Route,
    params: Readonly<Record<string, string>>,
  ): Promise<RouteResponse> => {
    await admit(exchange, route);
    if (exchange.undecodable && route.undecodable !== 'as-is') throw undecodable(route.undecodable);
    // A hook reads its body when its token is known.
    const declared = route.access.kind === 'hook' ? null : route.body;
    const body = declared === null ? empty : await readBody(exchange);
    const place = parseValues(route.params, params);
    const sent = queryOf(route, exchange.search);
    noteIgnored(exchange, route, sent, body);
    const query = parseValues(route.query, sent);
    const request = new HttpRequest(exchange, exchange.caller, place, query, body, abortable);
    try {
      const response = await callHandler(route, request, declared?.read(body));
      const subjects = exchange.caller.kind === 'key' ? [] : subjectsIn(params, { ...sent, subject: '' });
      exchange.subject = Object.assign({}, exchange.subject, subjectOf(route, params, body, response), {
        subjects,
      });
      return response;
    } catch (error) {
      const told =
        error instanceof UnknownName
          ? await withProposal(exchange.caller, error)
          : withId(error, route, Object.values(params), sent['starting_after']);
      throw route.body === null ? told : atField(route.body.schema, told);
    } finally {
      giveUpUpload(exchange);
    }
  };

  /**
   * Takes a request through every check to its handler, and sends the response. Never rejects. (decision 1:
   * one order of checks)
   */
  const perform = async (
    exchange: Exchange,
    route: Route,
    params: Readonly<Record<string, string>>,
  ): Promise<void> => {
    try {
      exchange.route = route;
      const response = await exchange.span.within(() => admitAndCall(exchange, route, params));
      await reply.respond(exchange, route, response);
    } catch (error) {
      await reply.refuse(exchange, error);
    } finally {
      abortable.concluded(exchange);
    }
  };

  /** Also ends the event streams, and other work that listens for it, now. */
  const stop = (): void => {
    reply.drain();
    abortable.stop();
  };

  return { ...reply, perform, stop };
};
