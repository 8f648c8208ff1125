import { Agent, request } from 'node:http';
import { rounds } from '../runner/effort.js';

/** How many requests a process is stopped under. */
export const requestsOfADrain = Number(
  process.env['DRAIN_REQUESTS'] ?? rounds({ usually: 400, thoroughly: 2_000 }),
);

export interface Sending {
  readonly count: number;
  /** Where a balancer sends the request of this number. */
  readonly target: (number: number) => string;
  readonly key: string;
  /** Its path, and the body of a POST. */
  readonly what: (number: number) => readonly [path: string, body?: object];
}

const send = (agent: Agent, { target, key, what }: Sending, number: number): Promise<string> =>
  new Promise((resolve) => {
    const [path, body] = what(number);
    const headers = { authorization: `Bearer ${key}`, 'content-type': 'application/json' };
    const method = body === undefined ? 'GET' : 'POST';
    request(`${target(number)}${path}`, { agent, method, headers }, (response) => {
      response.resume().once('end', () => resolve(String(response.statusCode)));
    })
      .once('error', (error) => resolve(error.message))
      .end(body === undefined ? undefined : JSON.stringify(body));
  });

/**
 * Sends so many requests over four connections that are kept and two at a time that are not. Returns how
 * often each status came, or the reason that none did.
 */
export const sendAll = async (sending: Sending): Promise<Readonly<Record<string, number>>> => {
  const answers: Record<string, number> = {};
  let begun = 0;
  const client = async (agent: Agent): Promise<void> => {
    while (begun < sending.count) {
      const answer = await send(agent, sending, begun++);
      answers[answer] = (answers[answer] ?? 0) + 1;
    }
  };
  const [kept, fresh] = [new Agent({ keepAlive: true }), new Agent({ keepAlive: false })];
  await Promise.all([kept, kept, kept, kept, fresh, fresh].map(client));
  kept.destroy();
  return answers;
};
