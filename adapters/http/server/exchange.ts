import type { IncomingMessage, ServerResponse } from 'node:http';
import type { z } from 'zod';
import type { Span } from '../../../application/ports/tracing.js';
import { DomainError, type ErrorCode } from '../../../domain/errors.js';
import type { Body } from '../schema/read.js';
import type { Access, Allowance, Caller, Subject } from './access.js';

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

/** A route, as the end of a request needs it. */
export interface Matched {
  readonly access: Access;
  readonly params: z.ZodObject;
  readonly query: z.ZodObject;
  /** Null if a body is ignored. */
  readonly body: Body | null;
  /** The code of a 500. (docs/contract.md#errors) */
  readonly failure: ErrorCode;
}

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
  /** By the clock by which Idempotency-Keys age. */
  readonly came: number;
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
  route: Matched | null;
  caller: Caller;
  /** The subject of the request; null while it is unknown. */
  subject: Subject | null;
  allowance: Allowance;
  /** The end of the minute in which the request was counted, in Unix seconds. */
  reset: number;
  /** The names of the request that its operation does not know, for the header that reports them. */
  ignored: readonly string[];
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

/** How many requests may hold places in a process, and how many of them operators and staff alone. */
const maxPlaces = { all: 1_000, reserved: 100 };
/** The part of the free places that an organization may hold: others always find some. */
const maxPart = 0.25;

/** `what`: the route. `isOurs`: of an operator or the staff. */
interface Place {
  readonly what: string;
  readonly owner: string;
  readonly isOurs: boolean;
}

/** The requests that may take long: those that hold a place, and those whose handlers listen for an abort. */
export class Abortable {
  readonly #listening = new Set<AbortController>();
  readonly #places = new Map<Exchange, Place>();
  #stopped = false;

  /**
   * Aborts when the connection ends before the response is complete, and when the service stops. Created on
   * demand: most handlers don't need it.
   */
  signalOf(exchange: Exchange): AbortSignal {
    if (exchange.aborting !== null) return exchange.aborting.signal;
    const { response } = exchange;
    const controller = new AbortController();
    exchange.aborting = controller;
    this.#listening.add(controller);
    const gone = () => {
      if (!response.writableFinished) controller.abort();
    };
    if (response.destroyed || response.socket?.destroyed === true) gone();
    else response.once('close', gone);
    if (this.#stopped) controller.abort();
    return controller.signal;
  }

  /**
   * Takes one of `most` places of an owner until the request is over. Throws `rate_limited` if there is
   * none.
   */
  takePlace(exchange: Exchange, place: Place, most: number): void {
    const { what, owner, isOurs } = place;
    const held = [...this.#places.values()].filter((each) => each.owner === owner && each.isOurs === isOurs);
    if (held.filter((each) => each.what === what).length >= most)
      throw new DomainError(
        'rate_limited',
        `At most ${most} of these may be open at a time, of an organization or an operator. End one of them first.`,
      );
    const free = maxPlaces.all - (isOurs ? 0 : maxPlaces.reserved) - this.#places.size;
    if (free <= (isOurs ? 0 : held.length / maxPart))
      throw new DomainError('rate_limited', 'Many streams are being followed just now. Wait a minute.');
    this.#places.set(exchange, place);
  }

  concluded(exchange: Exchange): void {
    this.#places.delete(exchange);
    if (exchange.aborting !== null) this.#listening.delete(exchange.aborting);
  }

  stop(): void {
    this.#stopped = true;
    for (const controller of this.#listening) controller.abort();
  }
}

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
