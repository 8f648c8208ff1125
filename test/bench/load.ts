import autocannon from 'autocannon';

/**
 * One run of load, described on the command line as JSON; it prints its figures as JSON. It is a process of
 * its own, so that it shares nothing with what it measures.
 */
export interface Load {
  readonly url: string;
  /** Paths below `url`, requested in turn; none: `url` itself. */
  readonly paths?: readonly string[];
  readonly method: 'GET' | 'POST';
  readonly token: string;
  readonly body?: string;
  readonly cookie?: string;
  /** A fresh Idempotency-Key with every request. */
  readonly keyed?: boolean;
  readonly connections: number;
  readonly seconds: number;
  /** So many requests, however long they take; absent: as many as there is time for. */
  readonly amount?: number;
}

export interface LoadResult {
  readonly requests: number;
  readonly requestsPerSecond: number;
  /** Milliseconds. */
  readonly p50: number;
  readonly p99: number;
  readonly failed: number;
}

const run = async ({
  url,
  paths = [],
  method,
  token,
  body,
  cookie,
  keyed = false,
  connections,
  seconds,
  amount,
}: Load): Promise<LoadResult> => {
  let sent = 0;
  const headers = {
    ...(cookie === undefined ? { authorization: `Bearer ${token}` } : { cookie }),
    ...(body !== undefined && { 'content-type': 'application/json' }),
  };
  const prepare = (request: autocannon.Request): autocannon.Request => {
    sent += 1;
    const path = paths[sent % paths.length];
    return {
      ...request,
      ...(path !== undefined && { path }),
      ...(keyed && { headers: { ...headers, 'idempotency-key': `${process.pid}-${sent}` } }),
    };
  };
  const result = await autocannon({
    url,
    method,
    headers,
    connections,
    duration: seconds,
    ...(amount !== undefined && { amount }),
    ...(body !== undefined && { body }),
    ...((keyed || paths.length > 0) && { requests: [{ setupRequest: prepare }] }),
  });
  return {
    requests: result.requests.total,
    requestsPerSecond: result.requests.total / result.duration,
    p50: result.latency.p50,
    p99: result.latency.p99,
    failed: result.non2xx + result.errors,
  };
};

process.stdout.write(JSON.stringify(await run(JSON.parse(process.argv[2] ?? '{}') as Load)));
