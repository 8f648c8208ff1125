import type { IncomingMessage } from 'node:http';
import type { Duplex } from 'node:stream';
import { Socket } from 'node:net';
import type { Logger } from 'pino';
import type { Clock } from '../../../application/ports/system.js';
import { DomainError } from '../../../domain/errors.js';
import type { Milliseconds } from '../../../domain/ids.js';
import { windowEnd } from './caller.js';
import type { Allowance } from './access.js';
import { errorBody, HttpFailure, refusalOf } from './errors.js';
import type { Exchange } from './exchange.js';
import { rawResponse } from './respond.js';

interface Options {
  readonly keyless: Allowance;
  readonly nextId: () => string;
  readonly clock: Clock;
  readonly log: Logger;
  readonly baseUrl: () => string;
  /** For a part of a file. */
  readonly requestTimeout: Milliseconds;
  /** For a whole file, and for a request that is read at the pace of its reader. */
  readonly uploadTimeout: Milliseconds;
}

/** In bytes a millisecond: a file that comes more slowly would keep its place from others. */
const slowestUpload = 2;

/** How long a client may take to read the response before its connection is cut. */
const lingering = 500;

type Failure = ConstructorParameters<typeof HttpFailure>;

/** By the codes of the parser. */
const failures: Readonly<Record<string, Failure>> = {
  HPE_HEADER_OVERFLOW: [
    431,
    'The headers are larger than 16 KiB. Send fewer or shorter ones. Cookies are the usual cause.',
  ],
  HPE_CHUNK_EXTENSIONS_OVERFLOW: [413, 'The chunk extensions are too large. Send the body without them.'],
  ERR_HTTP_REQUEST_TIMEOUT: [
    408,
    'The request took too long to arrive. Nothing was sent or charged: send it again.',
  ],
};
const otherFailure: Failure = [
  400,
  'This is not a well-formed HTTP request. Use an ordinary HTTP client, and check proxies on the way.',
];

/**
 * Responds to requests that Node's parser could not read, in JSON like everything else. (decision 9: requests
 * that aren't proper HTTP)
 */
export const parserFailures = (options: Options) => {
  const { keyless, nextId, clock, log, baseUrl, requestTimeout, uploadTimeout } = options;
  const responded = new WeakSet<Duplex>();

  const respond = (socket: Duplex, error: unknown): void => {
    const refusal = refusalOf(error);
    if (refusal === null || !socket.writable) {
      socket.destroy();
      return;
    }
    const id = nextId();
    const json = JSON.stringify(errorBody(refusal, baseUrl(), id));
    log.info({ route: 'unparsed', status: refusal.status, request: id }, 'request');
    const envelope = { id, allowance: keyless, reset: windowEnd(clock.steady()), close: true };
    socket.end(rawResponse(refusal.status, json, envelope));
    // Cutting at once could take the response away from a client that is still sending.
    const closed = new AbortController();
    socket.once('close', () => closed.abort());
    void clock.sleep(lingering, closed.signal).then(() => socket.destroy());
  };

  /**
   * The fault is in the body of a request: the code that waits for the body responds, and the connection ends
   * with that response.
   */
  const breakOff = (exchange: Exchange, failure: HttpFailure): void => {
    const { request, response } = exchange;
    if (response.writableFinished) request.socket.destroy();
    else response.once('finish', () => request.socket.destroySoon());
    exchange.close = true;
    exchange.broken = failure;
    exchange.stop?.(failure);
  };

  /**
   * The client is not slow, or sends a file: its bytes come, or wait for us. No other code times this request
   * from then on.
   */
  const goOn = async (exchange: Exchange, failure: HttpFailure): Promise<void> => {
    const { request, response, started } = exchange;
    const over = new AbortController();
    response.once('close', () => over.abort());
    const minProgress = slowestUpload * requestTimeout;
    for (let seen = -minProgress; request.socket.bytesRead - seen >= minProgress || request.isPaused();) {
      seen = request.socket.bytesRead;
      const left = started + uploadTimeout - clock.monotonic();
      if (left <= 0) break;
      await clock.sleep(Math.min(left, requestTimeout), over.signal);
      if (over.signal.aborted || request.complete) return;
    }
    breakOff(exchange, failure);
  };

  const isTimely = ({ request, stop }: Exchange): boolean =>
    request.isPaused() ||
    (stop !== null && request.headers['content-type']?.startsWith('multipart/') === true);

  const clientError = (error: NodeJS.ErrnoException, socket: Duplex): void => {
    if (responded.has(socket)) return;
    const failure = new HttpFailure(...(failures[error.code ?? ''] ?? otherFailure));
    const exchange = socket instanceof Socket ? socket.latestExchange : undefined;
    if (error.code === 'ERR_HTTP_REQUEST_TIMEOUT' && exchange !== undefined && isTimely(exchange)) {
      void goOn(exchange, failure);
      return;
    }
    responded.add(socket);
    socket.on('error', () => socket.destroy());
    if (error.code === 'ECONNRESET' || !socket.writable) socket.destroy();
    else if (exchange === undefined) respond(socket, failure);
    else if (!exchange.request.complete) breakOff(exchange, failure);
    else if (exchange.response.writableFinished) respond(socket, failure);
    else exchange.response.once('finish', () => respond(socket, failure));
  };

  const connect = (_: IncomingMessage, socket: Duplex): void => {
    socket.on('error', () => socket.destroy());
    respond(socket, new DomainError('not_found', 'This service is not a proxy.'));
  };

  return { clientError, connect };
};
