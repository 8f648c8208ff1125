import { aCard } from './a-card.js';

/**
 * Polls `/healthz`, and sends cards if a key is given, one request after the other, until its standard input
 * ends; then it prints the longest of each in milliseconds, as JSON. It is a process of its own, so that
 * nothing but the service can hold it up.
 */
export interface Pulse {
  readonly url: string;
  /** Of an organization that has credits; null sends nothing. */
  readonly key: string | null;
}

/** Milliseconds. `post` is null if nothing was sent. */
export interface LongestGaps {
  readonly health: number;
  readonly post: number | null;
}

const pause = 5;

const { url, key } = JSON.parse(process.argv[2] ?? '{}') as Pulse;

let ended = false;

/** The longest time that a request took, of those that began before the end. */
const longest = async (request: () => Promise<Response>, status: number): Promise<number> => {
  let most = 0;
  for (let warm = 0; warm < 3; warm += 1) await (await request()).text();
  process.stdout.write('\n');
  while (!ended) {
    const began = performance.now();
    const response = await request();
    await response.text();
    if (response.status !== status) throw new Error(`${response.url} responded with ${response.status}`);
    most = Math.max(most, performance.now() - began);
    await new Promise((resolve) => setTimeout(resolve, pause));
  }
  return most;
};

process.stdin.on('end', () => (ended = true)).resume();
const [health, post] = await Promise.all([
  longest(() => fetch(`${url}/healthz`), 200),
  key === null
    ? null
    : longest(
        () =>
          fetch(`${url}/api/v1/cards`, {
            method: 'POST',
            headers: { authorization: `Bearer ${key}`, 'content-type': 'application/json' },
            body: aCard,
          }),
        201,
      ),
]);
process.stdout.write(JSON.stringify({ health, post } satisfies LongestGaps));
