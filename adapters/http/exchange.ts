import type { IncomingMessage, ServerResponse } from 'node:http';
import type { Allowance } from './caller.js';
import type { Caller } from './route.js';

/**
 * An exchange is kept on its request, and the latest on its connection: weak maps make every garbage
 * collection dearer.
 */
declare module 'node:http' {
  interface IncomingMessage {
    exchange?: Exchange;
  }
}
declare module 'node:net' {
  interface Socket {
    latestExchange?: Exchange;
  }
}

/** One request and its answer while they are under way. */
export interface Exchange {
  readonly request: IncomingMessage;
  readonly response: ServerResponse;
  readonly id: string;
  readonly address: string;
  /** By the monotonic clock. */
  readonly started: number;
  /** What stands after the question mark; empty for most. */
  readonly search: string;
  /** The percent-encoding of the path is broken. */
  readonly undecodable: boolean;
  /** The client waits for `100 Continue` before it sends its body. */
  awaitsContinue: boolean;
  /** The route's path as documented; null while none matched. */
  template: string | null;
  caller: Caller;
  allowance: Allowance;
  /** Ends the wait for the body with an error; null while nobody waits. */
  stop: ((error: Error) => void) | null;
  /** Why the rest of the body will never come; null while it may. */
  broken: Error | null;
  aborting: AbortController | null;
  /** The connection ends with this answer. */
  close: boolean;
}

/**
 * The signal of an exchange, made when somebody asks: most handlers never do. Aborts when the connection ends
 * before the answer is complete.
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

export interface Target {
  /** Safe to decode. */
  readonly path: string;
  readonly search: string;
  readonly undecodable: boolean;
}

/** A null character is part of no name, and what stores names may end them there. */
const decodes = (path: string): boolean => {
  try {
    return !decodeURIComponent(path).includes('\0');
  } catch {
    return false;
  }
};

/**
 * Splits a request target: the absolute form is taken too, a fragment is dropped, broken encoding is made
 * literal. (decision 4)
 */
export const parseTarget = (url: string): Target => {
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
