import type { Socket } from 'node:net';

/**
 * How much of the beginning of a response is kept, in bytes: the status line, and a few interim responses.
 */
const headBytes = 4 * 1024;

const interim = /HTTP\/1\.[01] 1\d\d[^]*?\r?\n\r?\n/y;
const statusLine = /HTTP\/1\.[01] ([2-5]\d\d)[ \r\n]/y;

/**
 * The first status that isn't interim; null if there is none. Interim responses are skipped one at a time:
 * one expression for all of them would try every way to divide what a hostile receiver sends.
 */
const statusIn = (head: string): number | null => {
  interim.lastIndex = 0;
  do statusLine.lastIndex = interim.lastIndex;
  while (interim.test(head));
  const [, status] = statusLine.exec(head) ?? [];
  return status === undefined ? null : Number(status);
};

/**
 * A connection as its requests and responses pass by. undici reports nothing of a response whose headers it
 * can't parse; here its status line can be read all the same.
 */
export class Wire {
  #requests = 0;
  #head: Buffer = Buffer.alloc(0);

  static watch<S extends Socket>(socket: S): S {
    new Wire(socket);
    return socket;
  }

  private constructor(socket: Socket) {
    const [read, write] = [socket.read.bind(socket), socket.write.bind(socket)];
    Object.assign(socket, {
      read: (size?: number): unknown => {
        const chunk: unknown = read(size);
        if (Buffer.isBuffer(chunk) && this.#head.length < headBytes)
          this.#head = Buffer.concat([this.#head, chunk.subarray(0, headBytes - this.#head.length)]);
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
    this.#head = Buffer.alloc(0);
    starting(this);
  }

  /** The status of the response to the last request; null if no status line has come. */
  get status(): number | null {
    return statusIn(this.#head.toString('latin1'));
  }

  /** Whether it had other requests before, and nothing of a response to the last one has come. */
  get isStale(): boolean {
    return this.#requests > 1 && this.#head.length === 0;
  }
}
