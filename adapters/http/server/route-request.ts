import { DomainError } from '../../../domain/errors.js';
import type { JsonObject } from '../schema/read.js';
import type { Caller, Subject } from './access.js';
import { readBody, readFile, readForm } from './bodies.js';
import { headerValues, signalOf, type Exchange } from './exchange.js';
import type { HttpRequest } from './route.js';
import type { FileLimit, Upload } from './upload.js';

/** How many requests may hold places in a process. */
const maxPlaces = 1_000;

/** The requests that may take long: those that hold a place, and those whose handlers listen for an abort. */
export class Abortable {
  readonly #listening = new Set<AbortController>();
  readonly #places = new Map<Exchange, string>();
  #stopped = false;

  /** Aborts when the client goes away, and when the service stops. */
  signalOf(exchange: Exchange): AbortSignal {
    const signal = signalOf(exchange);
    if (exchange.aborting !== null) this.#listening.add(exchange.aborting);
    if (this.#stopped) exchange.aborting?.abort();
    return signal;
  }

  /** One of `most` places of this name, until the request is over. Throws `rate_limited` if all are taken. */
  takePlace(exchange: Exchange, name: string, most: number): void {
    const taken = [...this.#places.values()].filter((each) => each === name).length;
    if (taken >= most)
      throw new DomainError(
        'rate_limited',
        `At most ${most} of these may be open at a time, of an organization or an operator. End one of them first.`,
      );
    if (this.#places.size >= maxPlaces)
      throw new DomainError('rate_limited', 'Many streams are being followed just now. Wait a minute.');
    this.#places.set(exchange, name);
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

/** An exchange as a handler sees it. It is a class so that a request costs one object and no closures. */
export class RouteRequest implements HttpRequest {
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

  readUpload(limit?: FileLimit): Promise<Upload> {
    return readFile(this.exchange, limit);
  }

  get search(): string {
    return this.exchange.search;
  }

  get address(): string {
    return this.exchange.address;
  }

  concerns(subject: Subject): void {
    this.exchange.subject = subject;
  }

  takePlace(owner: string, most: number): void {
    this.abortable.takePlace(this.exchange, `${this.exchange.template} ${owner}`, most);
  }

  header(name: string): readonly string[] {
    return headerValues(this.exchange.request.rawHeaders, name);
  }

  get signal(): AbortSignal {
    return this.abortable.signalOf(this.exchange);
  }
}
