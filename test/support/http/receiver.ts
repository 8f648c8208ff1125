import { createServer } from 'node:https';
import type { IncomingHttpHeaders, ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { certificateAuthority, type Certificate } from './certificates.js';

/** One request as a receiver got it. */
export interface Received {
  readonly path: string;
  readonly headers: IncomingHttpHeaders;
  /** The bytes of the body as Latin-1: one character a byte. */
  readonly body: string;
  readonly at: number;
}

/** A status, or what to do with the response. */
export type Answer = number | ((response: ServerResponse, received: Received) => void);

export interface Receiver {
  readonly url: string;
  readonly received: readonly Received[];
  /** How it responds from now on. */
  answer: Answer;
  readonly close: () => Promise<void>;
}

/** The authority of all test receivers. Its certificate is `authority.cert`. */
export const authority = certificateAuthority();

/** Not 127.0.0.1: that is the service's own host in tests, and no webhook may go there. */
export const receiverHost = '127.0.0.2';
const certificate = authority.issue([receiverHost]);

/** Settings under which the service sends to these receivers. */
export const receiverSettings = { WEBHOOK_ALLOW_NETWORKS: '127.0.0.0/8', WEBHOOK_ALLOW_PORTS: '*' };

/** A real HTTPS server that keeps the requests it receives. */
export const startReceiver = async (
  answer: Answer = 200,
  identity: Certificate = certificate,
): Promise<Receiver> => {
  const received: Received[] = [];
  const server = createServer(identity, (request, response) => {
    const chunks: Buffer[] = [];
    request.on('data', (chunk: Buffer) => chunks.push(chunk));
    request.on('end', () => {
      const one = {
        path: request.url ?? '',
        headers: request.headers,
        body: Buffer.concat(chunks).toString('latin1'),
        at: Date.now(),
      };
      received.push(one);
      if (typeof receiver.answer === 'number') response.writeHead(receiver.answer).end();
      else receiver.answer(response, one);
    });
  });
  server.on('tlsClientError', () => undefined);
  server.keepAliveTimeout = 30_000;
  await new Promise<void>((resolve) => server.listen(0, receiverHost, resolve));
  const receiver: Receiver = {
    url: `https://${receiverHost}:${(server.address() as AddressInfo).port}/`,
    received,
    answer,
    close: () =>
      new Promise((resolve) => {
        server.close(() => resolve());
        server.closeAllConnections();
      }),
  };
  return receiver;
};
