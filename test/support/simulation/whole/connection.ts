import { Duplex } from 'node:stream';
import type { HttpServer } from '../../../../adapters/http/server/server.js';
import { isPlainObject } from '../../../../domain/plain-object.js';

export interface Asked {
  readonly method: string;
  readonly path: string;
  readonly token?: string | undefined;
  readonly body?: unknown;
  readonly headers?: Readonly<Record<string, string>>;
}

export interface Reply {
  readonly status: number;
  readonly headers: ReadonlyMap<string, string>;
  readonly text: string;
  readonly body: Readonly<Record<string, unknown>>;
  /** `error.code` of the body, else null. */
  readonly code: string | null;
}

/** The server's end of a connection: what the client sends can be read at once, what is written is kept. */
class ServerEnd extends Duplex {
  readonly remoteAddress = '10.0.0.1';
  readonly #written: Buffer[] = [];

  constructor(
    request: string,
    private readonly onClosed: (text: string) => void,
  ) {
    super();
    this.push(request);
  }

  override _read(): void {
    // Everything was pushed at the start.
  }

  override _write(chunk: Buffer, _encoding: BufferEncoding, done: () => void): void {
    this.#written.push(chunk);
    done();
  }

  override _final(done: () => void): void {
    done();
    this.destroy();
  }

  override _destroy(_error: Error | null, done: () => void): void {
    done();
    this.onClosed(Buffer.concat(this.#written).toString());
  }
}

const requestText = ({ method, path, token, body, headers = {} }: Asked): string => {
  const text = body === undefined ? '' : typeof body === 'string' ? body : JSON.stringify(body);
  const all = {
    host: 'cards.test',
    connection: 'close',
    ...(token !== undefined && { authorization: `Bearer ${token}` }),
    ...(body !== undefined && {
      'content-type': 'application/json',
      'content-length': String(Buffer.byteLength(text)),
    }),
    ...headers,
  };
  const lines = Object.entries(all).map(([name, value]) => `${name}: ${value}\r\n`);
  return `${method} ${path} HTTP/1.1\r\n${lines.join('')}\r\n${text}`;
};

/** Null if the connection ended before there was a whole response. */
const replyOf = (text: string): Reply | null => {
  const end = text.indexOf('\r\n\r\n');
  if (end === -1) return null;
  const [first = '', ...lines] = text.slice(0, end).split('\r\n');
  const headers = new Map(
    lines.map((line) => {
      const colon = line.indexOf(':');
      return [line.slice(0, colon).toLowerCase(), line.slice(colon + 1).trim()];
    }),
  );
  const content = text.slice(end + 4);
  const isJson = headers.get('content-type')?.startsWith('application/json') === true && content !== '';
  const json: unknown = isJson ? JSON.parse(content) : null;
  const body = isPlainObject(json) ? json : {};
  const error = isPlainObject(body['error']) ? body['error'] : {};
  const code = typeof error['code'] === 'string' ? error['code'] : null;
  return { status: Number(first.split(' ')[1]), headers, text: content, body, code };
};

/** One request on a connection of its own, through the server's parser. Null: no response. */
export const ask = (server: HttpServer, asked: Asked, gone: Promise<unknown>): Promise<Reply | null> =>
  new Promise((resolve) => {
    const connection = new ServerEnd(requestText(asked), (text) => resolve(replyOf(text)));
    connection.on('error', () => undefined);
    void gone.then(() => connection.destroy());
    server.accept(connection);
  });
