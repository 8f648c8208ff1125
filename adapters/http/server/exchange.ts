import type { IncomingMessage, ServerResponse } from 'node:http';
import type { Span } from '../../../application/ports/tracing.js';
import type { Allowance, Caller, Subject } from './access.js';
import type { IgnoredName } from '../schema/ignored.js';
import type { Route } from './route.js';

/**
 * An exchange is kept on its request, and the latest one on its connection: weak maps would make every
 * garbage collection slower.
 */
declare module 'node:http' {
  interface IncomingMessage {
    exchange?: Exchange;
  }
}
declare module 'node:net' {
  interface Socket {
    latestExchange?: Exchange;
    /** How many requests that came before the response to an earlier one have none yet. */
    waitingRequests?: number;
  }
}

/** One request and its response while they are in progress. */
export interface Exchange {
  readonly request: IncomingMessage;
  readonly response: ServerResponse;
  readonly id: string;
  readonly span: Span;
  /** Its place in a trace. */
  readonly traceparent: string;
  readonly address: string;
  /** By the monotonic clock. */
  readonly started: number;
  /** For how long rows were late then; null if they were not. */
  readonly lateAtStart: number | null;
  /** The query string; mostly empty. */
  readonly search: string;
  /** True if the percent-encoding of the path is broken. */
  readonly undecodable: boolean;
  /** True if the client waits for `100 Continue` before it sends its body. */
  awaitsContinue: boolean;
  /** The path of the route as documented; null until a route has matched. */
  template: string | null;
  /** Null until one has matched. */
  route: Route | null;
  caller: Caller;
  /** The subject of the request; null while it is unknown. */
  subject: Subject | null;
  allowance: Allowance;
  /** The end of the minute in which the request was counted, in Unix seconds. */
  reset: number;
  /** The names of the request that its operation does not know, for the header that reports them. */
  ignored: readonly IgnoredName[];
  /** True if the client wanted unknown names to be refused, and they were looked for. */
  strict: boolean;
  /** Ends the wait for the body with an error; null while nothing waits for it. */
  stop: ((error: Error) => void) | null;
  /** Why the rest of the body will never arrive; null while it may. */
  broken: Error | null;
  aborting: AbortController | null;
  /** True if the connection ends with this response. */
  close: boolean;
}

/**
 * The signal of an exchange, created on demand because most handlers don't need it. Aborts when the
 * connection ends before the response is complete.
 */
export const signalOf = (exchange: Exchange): AbortSignal => {
  if (exchange.aborting !== null) return exchange.aborting.signal;
  const controller = new AbortController();
  exchange.aborting = controller;
  const { response } = exchange;
  const gone = () => {
    if (!response.writableFinished) controller.abort();
  };
  if (response.destroyed || response.socket?.destroyed === true) gone();
  else response.once('close', gone);
  return controller.signal;
};

/** Every value of a header, in order. `name` is in lower case. */
export const headerValues = (rawHeaders: readonly string[], name: string): readonly string[] => {
  const values: string[] = [];
  for (let at = 0; at < rawHeaders.length; at += 2)
    if (rawHeaders[at]?.length === name.length && rawHeaders[at]?.toLowerCase() === name)
      values.push(rawHeaders[at + 1] ?? '');
  return values;
};

/** The content type that was sent; if it came more than once, all of them, which are none together. */
export const contentTypeOf = ({ rawHeaders }: IncomingMessage): string | undefined =>
  headerValues(rawHeaders, 'content-type').join(', ') || undefined;

/** No name contains a null character, and a store might end names there. */
const decodes = (path: string): boolean => {
  try {
    return !decodeURIComponent(path).includes('\0');
  } catch {
    return false;
  }
};

/**
 * Splits a request target. The absolute form is accepted, too; a fragment is dropped; a path with broken
 * encoding is taken literally, so that `path` can be decoded safely. (decision 4: a path without a code, or
 * with broken encoding)
 */
export const parseTarget = (url: string) => {
  const relative = url.startsWith('/') ? url : url.replace(/^https?:\/\/[^/?#]*/i, '');
  const hash = relative.indexOf('#');
  const whole = hash < 0 ? relative : relative.slice(0, hash);
  const mark = whole.indexOf('?');
  const path = (mark < 0 ? whole : whole.slice(0, mark)) || '/';
  const undecodable = path.includes('%') && !decodes(path);
  return {
    path: undecodable ? path.replaceAll('%', '%25') : path,
    search: mark < 0 ? '' : whole.slice(mark + 1),
    undecodable,
  };
};
