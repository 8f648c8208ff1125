import type { Socket } from 'node:net';

const statusLine = /HTTP\/1\.[01] (?:1(\d\d)|([2-5]\d\d)[ \r\n])/y;
/** The longest text that it matches. */
const lineLength = 13;
/** Empty lines may come before a status line. */
const emptyLines = /[\r\n]*/y;
const endOfHeaders = /\r?\n\r?\n/g;

/**
 * A connection as its requests and responses pass by. undici reports nothing of a response whose headers it
 * can't parse; here its status line can be read all the same, also after interim responses.
 */
export class Wire {
  #requests = 0;
  #status: number | null = null;
  #hasBegun = false;
  /** The few bytes that have come and not been understood yet. */
  #head = '';
  #isInterim = false;

  static watch<S extends Socket>(socket: S): S {
    new Wire(socket);
    return socket;
  }

  private constructor(socket: Socket) {
    const [read, write] = [socket.read.bind(socket), socket.write.bind(socket)];
    Object.assign(socket, {
      read: (size?: number): unknown => {
        const chunk: unknown = read(size);
        if (Buffer.isBuffer(chunk) && this.#status === null) this.#take(chunk);
        return chunk;
      },
      write: (...sent: Parameters<typeof write>): boolean => {
        this.#begin();
        return write(...sent);
      },
    });
  }

  static #starting: ((wire: Wire) => void) | null = null;

  /** Gets the connection on which the request is written that starts now. */
  static next(taken: (wire: Wire) => void): void {
    Wire.#starting = taken;
  }

  #begin(): void {
    const starting = Wire.#starting;
    if (starting === null) return;
    Wire.#starting = null;
    this.#requests += 1;
    this.#head = '';
    this.#status = null;
    this.#hasBegun = this.#isInterim = false;
    starting(this);
  }

  #take(chunk: Buffer): void {
    this.#hasBegun = true;
    const text = `${this.#head}${chunk.toString('latin1')}`;
    let at = 0;
    for (;;) {
      if (this.#isInterim) {
        endOfHeaders.lastIndex = at;
        if (!endOfHeaders.test(text)) break;
        at = endOfHeaders.lastIndex;
        this.#isInterim = false;
      }
      emptyLines.lastIndex = at;
      at += emptyLines.exec(text)?.[0].length ?? 0;
      statusLine.lastIndex = at;
      const [, interim, status] = statusLine.exec(text) ?? [];
      if (status !== undefined) this.#status = Number(status);
      if (interim === undefined) break;
      // undici takes a 100 that it has not asked for as the end of the connection. The digit has just come.
      if (interim === '00') chunk.write('2', at + lineLength - 2 - this.#head.length);
      this.#isInterim = true;
    }
    this.#head = this.#isInterim
      ? text.slice(Math.max(at, text.length - 3))
      : text.slice(at, at + lineLength);
  }

  /** The status of the response to the last request; null if no status line has come. */
  get status(): number | null {
    return this.#status;
  }

  /** Whether it had other requests before, and nothing of a response to the last one has come. */
  get isStale(): boolean {
    return this.#requests > 1 && !this.#hasBegun;
  }
}
