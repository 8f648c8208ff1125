import { once } from 'node:events';
import { parentPort, Worker, workerData } from 'node:worker_threads';
import type { Tenant } from '../http/service.js';
import { aCard } from '../http/service.js';

interface Sending {
  readonly baseUrl: string;
  readonly key: string;
}

const send = async ({ baseUrl, key }: Sending): Promise<number> => {
  const began = performance.now();
  const response = await fetch(`${baseUrl}/api/v1/cards`, {
    method: 'POST',
    headers: { authorization: `Bearer ${key}`, 'content-type': 'application/json' },
    body: JSON.stringify(aCard()),
  });
  await response.arrayBuffer();
  if (response.status !== 201) throw new Error(`a send beside was answered with ${response.status}`);
  return performance.now() - began;
};

const { port, sending } = (workerData ?? {}) as { readonly port?: true; readonly sending?: Sending };
if (parentPort !== null && port === true && sending !== undefined) {
  for (let warm = 0; warm < 20; warm += 1) await send(sending);
  for (;;) parentPort.postMessage(await send(sending));
}

/** In milliseconds. */
export interface Sends {
  readonly p99: number;
  readonly count: number;
}

const enough = 150;
/** Milliseconds: with fewer sends by then, it is known that they take long. */
const longest = 20_000;

/**
 * How long sends of an organization take, one after the other in a thread of their own, while `work` is done
 * again and again.
 */
export const sendsBeside = async (
  baseUrl: string,
  { key }: Pick<Tenant, 'key'>,
  work: () => Promise<unknown>,
): Promise<Sends> => {
  const thread = new Worker(new URL(import.meta.url), {
    workerData: { port: true, sending: { baseUrl, key } satisfies Sending },
  });
  const times: number[] = [];
  try {
    await once(thread, 'message');
    const began = performance.now();
    let last = began;
    thread.on('message', (time: number) => {
      times.push(time);
      last = performance.now();
    });
    const failed = once(thread, 'error').then(([error]: unknown[]) => Promise.reject(error as Error));
    failed.catch(() => undefined);
    while (times.length < enough && performance.now() - began < longest) await Promise.race([work(), failed]);
    // One that has no response yet takes as long at least.
    times.push(performance.now() - last);
  } finally {
    await thread.terminate();
  }
  const sorted = times.toSorted((one, other) => one - other);
  return { p99: sorted[Math.floor(sorted.length * 0.99)] ?? NaN, count: sorted.length };
};
