import type { ServerResponse } from 'node:http';
import { createServer } from 'node:https';
import type { AddressInfo } from 'node:net';
import { parentPort, workerData } from 'node:worker_threads';
import { createHash } from 'node:crypto';
import { SystemClock } from '../../adapters/system/clock.js';
import type { Milliseconds } from '../../domain/ids.js';

export interface ReceiverStart {
  readonly cert: string;
  readonly key: string;
  /** Paths without any response. */
  readonly silent: readonly string[];
  /** Paths whose response is always a 500. */
  readonly broken: readonly string[];
  /** One in this many requests gets a 500, chosen by the delivery's id and attempt; 0: none. */
  readonly failEvery: number;
}

/** Parts of a path that say how it is answered, whatever else is set. */
export const hostileManners = ['slow', 'silent', 'interim'] as const;

const slowness: Milliseconds = 9_000;

/** Answers as a hostile receiver does; returns false for any other path. */
const wasHostile = (path: string, response: ServerResponse): boolean => {
  if (path.startsWith('/silent')) return true;
  if (path.startsWith('/slow')) {
    void new SystemClock().sleep(slowness).then(() => response.writeHead(200).end());
    return true;
  }
  if (!path.startsWith('/interim')) return false;
  const { socket } = response;
  const more = (): void => {
    while (socket?.destroyed === false && socket.write('HTTP/1.1 103 Early Hints\r\n\r\n'));
  };
  socket?.on('drain', more).on('error', () => undefined);
  more();
  return true;
};

/**
 * What a receiver has seen: times from the event to its receipt in milliseconds, and how many deliveries it
 * got more than once after a 2xx.
 */
export interface ReceiverReport {
  readonly received: number;
  readonly answered: number;
  readonly duplicates: number;
  readonly latencies: readonly number[];
}

const serve = ({ cert, key, silent, broken, failEvery }: ReceiverStart): void => {
  const quiet = new Set(silent);
  const failing = new Set(broken);
  const latencies: number[] = [];
  const delivered = new Set<string>();
  const seen = new Map<string, number>();
  let received = 0;
  let answered = 0;
  let duplicates = 0;
  const fails = (id: string): boolean => {
    if (failEvery === 0) return false;
    const attempt = (seen.get(id) ?? 0) + 1;
    seen.set(id, attempt);
    return createHash('sha1').update(`${id} ${attempt}`).digest().readUInt32BE(0) % failEvery === 0;
  };
  const server = createServer({ cert, key }, (request, response) => {
    let body = '';
    request.setEncoding('utf8');
    request.on('data', (chunk: string) => (body += chunk));
    request.on('end', () => {
      received++;
      if (quiet.has(request.url ?? '') || wasHostile(request.url ?? '', response)) return;
      const id = String(request.headers['service-delivery']);
      if (failing.has(request.url ?? '') || fails(id)) {
        response.writeHead(500).end();
        return;
      }
      if (delivered.has(id)) duplicates++;
      delivered.add(id);
      answered++;
      latencies.push(
        Date.now() - Date.parse(String((JSON.parse(body) as { readonly created: string }).created)),
      );
      response.writeHead(200, { 'content-length': '0' }).end();
    });
  });
  server.keepAliveTimeout = 60_000;
  parentPort?.on('message', (message: 'report' | 'reset' | 'close') => {
    if (message === 'close') {
      server.close();
      server.closeAllConnections();
      parentPort?.close();
      return;
    }
    if (message === 'report')
      parentPort?.postMessage({ received, answered, duplicates, latencies } satisfies ReceiverReport);
    latencies.length = 0;
  });
  // On every loopback address: each hostile organization has a host of its own.
  server.listen(0, '0.0.0.0', () => parentPort?.postMessage((server.address() as AddressInfo).port));
};

if (parentPort !== null) serve(workerData as ReceiverStart);
