import { STATUS_CODES } from 'node:http';
import type { Exchange } from './exchange.js';

/** The parts of every response. (docs/contract.md#responses) */
type Envelope = Pick<Exchange, 'id' | 'allowance' | 'reset' | 'close'>;

/** A header that is sent several times has several values. */
export type Headers = Readonly<Record<string, string | readonly string[]>>;

/** The headers as a flat list of names and values, which is the cheapest form for Node. */
export const headerList = ({ id, allowance, reset, close }: Envelope, extra: Headers): string[] => {
  const list = [
    'x-request-id', id,
    'x-ratelimit-limit', `${allowance.limit}`,
    'x-ratelimit-remaining', `${Math.max(0, allowance.remaining)}`,
    'x-ratelimit-reset', `${reset}`,
    'x-content-type-options', 'nosniff',
  ]; // prettier-ignore
  if (extra['cache-control'] === undefined) list.push('cache-control', 'no-store');
  if (close) list.push('connection', 'close');
  for (const name in extra) {
    const value = extra[name] ?? '';
    if (typeof value === 'string') list.push(name, value);
    else for (const each of value) list.push(name, each);
  }
  return list;
};

/**
 * A whole response as text, for a socket on which Node could not parse a request. (decision 9: requests that
 * aren't proper HTTP)
 */
export const rawResponse = (status: number, json: string, envelope: Envelope): string => {
  const headers = headerList(envelope, {
    'content-type': jsonType,
    'content-length': `${Buffer.byteLength(json)}`,
  });
  const lines = headers.flatMap((name, at) => (at % 2 === 0 ? [`${name}: ${headers[at + 1] ?? ''}`] : []));
  return `HTTP/1.1 ${status} ${STATUS_CODES[status]}\r\n${lines.join('\r\n')}\r\n\r\n${json}`;
};

export const jsonType = 'application/json; charset=utf-8';
