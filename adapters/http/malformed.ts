import type { IncomingMessage } from 'node:http';
import type { Duplex } from 'node:stream';
import { Socket } from 'node:net';
import type { Logger } from 'pino';
import type { Clock } from '../../application/ports/system.js';
import { DomainError } from '../../domain/errors.js';
import type { Allowance } from './caller.js';
import { errorBody, HttpFailure, refusalOf } from './errors.js';
import type { Exchange } from './exchange.js';
import type { Pipeline } from './pipeline.js';
import { rawAnswer } from './respond.js';

interface Options {
  readonly flow: Pipeline;
  readonly keyless: Allowance;
  readonly nextId: () => string;
  readonly clock: Clock;
  readonly log: Logger;
  readonly baseUrl: () => string;
}

/** How long a client may take to read the answer before its connection is cut. */
const lingering = 500;

const failureFor = (code: unknown): HttpFailure => {
  switch (code) {
    case 'HPE_HEADER_OVERFLOW':
      return new HttpFailure(
        431,
        'The headers are larger than 16 KiB. Send fewer or shorter ones: cookies are the usual cause.',
      );
    case 'HPE_CHUNK_EXTENSIONS_OVERFLOW':
      return new HttpFailure(413, 'The chunk extensions are too large. Send the body without them.');
    case 'ERR_HTTP_REQUEST_TIMEOUT':
      return new HttpFailure(408, 'The request took too long to arrive. Nothing was made: send it again.');
    default:
      return new HttpFailure(
        400,
        'This is not a well-formed HTTP request. Use an ordinary HTTP client, and look at proxies on the way.',
      );
  }
};

/** Answers what Node's parser could not read, in JSON like everything else. (decision 9) */
export const parserFailures = ({ flow, keyless, nextId, clock, log, baseUrl }: Options) => {
  const answered = new WeakSet<Duplex>();

  const answer = (socket: Duplex, error: unknown): void => {
    const refusal = refusalOf(error);
    if (refusal === null || !socket.writable) {
      socket.destroy();
      return;
    }
    const id = nextId();
    const json = JSON.stringify(errorBody(refusal, baseUrl(), id));
    log.info({ route: 'unparsed', status: refusal.status, request: id }, 'request');
    socket.end(rawAnswer(refusal.status, json, flow.envelope({ id, allowance: keyless, close: true })));
    // Cutting at once could take the answer from a client that is still sending.
    const closed = new AbortController();
    socket.once('close', () => closed.abort());
    void clock.sleep(lingering, closed.signal).then(() => socket.destroy());
  };

  /**
   * The request itself is at fault, past its head: whoever waits for its body answers, and the connection
   * ends with that answer.
   */
  const breakOff = (exchange: Exchange, failure: HttpFailure): void => {
    const { request, response } = exchange;
    if (response.writableFinished) request.socket.destroy();
    else response.once('finish', () => request.socket.destroySoon());
    exchange.close = true;
    exchange.broken = failure;
    exchange.stop?.(failure);
  };

  const clientError = (error: NodeJS.ErrnoException, socket: Duplex): void => {
    if (answered.has(socket)) return;
    answered.add(socket);
    socket.on('error', () => socket.destroy());
    const failure = failureFor(error.code);
    const exchange = socket instanceof Socket ? socket.latestExchange : undefined;
    if (error.code === 'ECONNRESET' || !socket.writable) socket.destroy();
    else if (exchange === undefined) answer(socket, failure);
    else if (!exchange.request.complete) breakOff(exchange, failure);
    else if (exchange.response.writableFinished) answer(socket, failure);
    else exchange.response.once('finish', () => answer(socket, failure));
  };

  const connect = (_: IncomingMessage, socket: Duplex): void => {
    socket.on('error', () => socket.destroy());
    answer(socket, new DomainError('not_found', 'This service is no proxy.'));
  };

  return { clientError, connect };
};
