import type { ServerResponse } from 'node:http';
import type { Allowance } from './access.js';

/** The parts of every response. (docs/contract.md#responses) */
export interface Envelope {
  readonly requestId: string;
  readonly allowance: Allowance;
  /** Unix seconds. */
  readonly reset: number;
  /** True if the connection ends with this response. */
  readonly close: boolean;
}

/** A header that is sent several times has several values. */
export type Headers = Readonly<Record<string, string | readonly string[]>>;

/** The headers as a flat list of names and values, which is the cheapest form for Node. */
export const headerList = (
  { requestId, allowance, reset, close }: Envelope,
  extra: Headers | undefined,
): string[] => {
  const list = [
    'x-request-id', requestId,
    'x-ratelimit-limit', `${allowance.limit}`,
    'x-ratelimit-remaining', `${Math.max(0, allowance.remaining)}`,
    'x-ratelimit-reset', `${reset}`,
    'x-content-type-options', 'nosniff',
  ]; // prettier-ignore
  if (extra?.['cache-control'] === undefined) list.push('cache-control', 'no-store');
  if (close) list.push('connection', 'close');
  for (const name in extra) {
    const value = extra[name] ?? '';
    if (typeof value === 'string') list.push(name, value);
    else for (const each of value) list.push(name, each);
  }
  return list;
};

/** Sends a whole response. For HEAD, Node itself leaves the body out. */
export const send = (
  response: ServerResponse,
  status: number,
  type: string,
  text: string,
  envelope: Envelope,
  extra?: Headers,
): void => {
  const headers = headerList(envelope, extra);
  headers.push('content-type', type, 'content-length', `${Buffer.byteLength(text)}`);
  response.writeHead(status, headers);
  response.end(text);
};

/** Sends a whole response whose body is bytes; for HEAD and 304, Node itself leaves them out. */
export const sendBytes = (
  response: ServerResponse,
  status: number,
  bytes: Buffer,
  envelope: Envelope,
  extra: Headers,
): void => {
  const headers = headerList(envelope, extra);
  if (status !== 304) headers.push('content-length', `${bytes.length}`);
  response.writeHead(status, headers);
  response.end(bytes);
};

export const sendNothing = (
  response: ServerResponse,
  status: number,
  envelope: Envelope,
  extra?: Headers,
): void => {
  response.writeHead(status, headerList(envelope, extra));
  response.end();
};

const reasons: Readonly<Record<number, string>> = {
  400: 'Bad Request',
  404: 'Not Found',
  408: 'Request Timeout',
  413: 'Payload Too Large',
  431: 'Request Header Fields Too Large',
};

/**
 * A whole response as text, for a socket on which Node could not parse a request. (decision 9: requests that
 * aren't proper HTTP)
 */
export const rawResponse = (status: number, json: string, envelope: Envelope): string => {
  const headers = headerList(
    { ...envelope, close: true },
    { 'content-type': jsonType, 'content-length': `${Buffer.byteLength(json)}` },
  );
  const lines = headers.flatMap((name, at) => (at % 2 === 0 ? [`${name}: ${headers[at + 1] ?? ''}`] : []));
  return `HTTP/1.1 ${status} ${reasons[status] ?? 'Error'}\r\n${lines.join('\r\n')}\r\n\r\n${json}`;
};

export const jsonType = 'application/json; charset=utf-8';
