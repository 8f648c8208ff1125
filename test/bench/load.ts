import autocannon from 'autocannon';

/** One run of load, described on the command line as JSON; its figures come out as JSON. A process of its own, so that it shares nothing with what it measures. */
export interface Load {
  readonly url: string;
  readonly method: 'GET' | 'POST';
  readonly token: string;
  readonly body?: string;
  /** A fresh Idempotency-Key with every request. */
  readonly keyed?: boolean;
  readonly connections: number;
  readonly seconds: number;
}

export interface LoadResult {
  readonly requestsPerSecond: number;
  /** Milliseconds. */
  readonly p50: number;
  readonly p99: number;
  readonly failed: number;
}

const run = async ({ url, method, token, body, keyed = false, connections, seconds }: Load): Promise<LoadResult> => {
  let sent = 0;
  const headers = { authorization: `Bearer ${token}`, ...(body !== undefined && { 'content-type': 'application/json' }) };
  const result = await autocannon({
    url,
    method,
    headers,
    connections,
    duration: seconds,
    ...(body !== undefined && { body }),
    ...(keyed && { requests: [{ setupRequest: (request) => ({ ...request, headers: { ...headers, 'idempotency-key': `${process.pid}-${sent++}` } }) }] }),
  });
  return { requestsPerSecond: result.requests.average, p50: result.latency.p50, p99: result.latency.p99, failed: result.non2xx + result.errors };
};

process.stdout.write(JSON.stringify(await run(JSON.parse(process.argv[2] ?? '{}') as Load)));
