import type { Dispatcher } from 'undici';
import { NotSent } from './plain-words.js';
import { Wire } from './wire.js';

/**
 * How much of a response is read, and how much the delivery log keeps. (decision 60: what an attempt reads)
 */
export const bytesRead = 16 * 1024;
const bytesKept = 1024;

/** `chunks`: the first 1 KiB of the body. `error`: why the rest of the response could not be read. */
export type CollectedResponse = {
  readonly status: number;
  readonly chunks: readonly Buffer[];
  readonly error: Error | null;
};
/** `isStale`: a connection that had been used before ended before anything of a response came. */
export type NoResponse = { readonly error: Error; readonly isStale: boolean };

/** Interim (1xx) responses and their headers, as long as the attempt goes on. */
const maxInterim = 10;
const interimBytes = 64 * 1024;
const tooManyInterim = new NotSent('too many interim responses (1xx) came before the response');

const sizeOf = (headers: unknown): number =>
  Array.isArray(headers)
    ? headers.reduce<number>(
        (sum, header) => sum + (Buffer.isBuffer(header) ? header.length : String(header).length),
        0,
      )
    : 0;

/** The error of an attempt that was not allowed to start, or was stopped. */
export const withheld = new Error('withheld');

/**
 * Collects a response up to 16 KiB, then settles with what there is. A few interim (1xx) responses may come
 * before it; a redirect is a response like any other.
 */
export class ResponseCollector implements Dispatcher.DispatchHandler {
  #status = 0;
  #wire: Wire | null = null;
  #size = 0;
  #interim = 0;
  #interimBytes = 0;
  readonly #chunks: Buffer[] = [];
  #abort: ((reason: Error) => void) | null = null;
  #stopped: Error | null = null;

  /** `settle` may be called more than once: only the first call counts. */
  constructor(
    readonly mayStart: () => boolean,
    readonly settle: (result: CollectedResponse | NoResponse) => void,
  ) {}

  onRequestStart(controller: Dispatcher.DispatchController): void {
    this.#abort = (reason) => controller.abort(reason);
    if (this.#stopped !== null) return controller.abort(this.#stopped);
    if (this.mayStart()) return Wire.next((wire) => (this.#wire = wire));
    this.settle({ error: withheld, isStale: false });
    // Throwing ends only the request. `abort` would end the connection too: if opening one takes longer than
    // a claim may wait, no attempt would ever start.
    throw withheld;
  }

  onResponseStart(controller: Dispatcher.DispatchController, status: number): void {
    this.#status = status;
    if (status >= 200) return;
    this.#interim += 1;
    this.#interimBytes += sizeOf(controller.rawHeaders);
    if (this.#interim > maxInterim || this.#interimBytes > interimBytes) {
      this.settle({ error: tooManyInterim, isStale: false });
      controller.abort(tooManyInterim);
    }
  }

  onResponseData(controller: Dispatcher.DispatchController, chunk: Buffer): void {
    if (this.#size < bytesKept) this.#chunks.push(Buffer.from(chunk.subarray(0, bytesKept - this.#size)));
    this.#size += chunk.length;
    if (this.#size < bytesRead) return;
    this.onResponseEnd();
    controller.abort(new Error('enough of the response was read'));
  }

  onResponseEnd(): void {
    this.settle({ status: this.#status, chunks: this.#chunks, error: null });
  }

  onResponseError(_controller: Dispatcher.DispatchController, error: Error): void {
    this.#fail(error, this.#wire?.isStale === true);
  }

  /** The status line decides, whatever becomes of the rest. (decision 60: what an attempt reads) */
  #fail(error: Error, isStale: boolean): void {
    const status = this.#status >= 200 ? this.#status : (this.#wire?.status ?? null);
    this.settle(status === null ? { error, isStale } : { status, chunks: this.#chunks, error });
  }

  /** Ends the attempt now. If no connection is open yet, the request ends as soon as there is one. */
  stop(reason: Error): void {
    this.#stopped = reason;
    this.#fail(reason, false);
    this.#abort?.(reason);
  }
}

/**
 * The kept part of a response as text. Bytes that are not UTF-8 become U+FFFD; a character that is cut off in
 * the middle is left out.
 */
export const textOf = ({ chunks }: CollectedResponse): string =>
  new TextDecoder('utf-8').decode(Buffer.concat(chunks).subarray(0, bytesKept), { stream: true });
