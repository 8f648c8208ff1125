import type { ServerResponse } from 'node:http';
import type { Clock } from '../../application/ports/system.js';
import type { ServerSentEvent } from './route.js';

/** A comment is sent this often, so that proxies and clients see that the stream lives. */
const heartbeat = 15_000;

const oneLine = (text: string): string => text.replaceAll(/[\r\n\0]/g, ' ');

/** One event as the wire has it. JSON never holds a bare line break, so the data is one line. */
export const formatEvent = ({ id, event, data }: ServerSentEvent): string =>
  `${id === undefined ? '' : `id: ${oneLine(id)}\n`}${event === undefined ? '' : `event: ${oneLine(event)}\n`}data: ${JSON.stringify(data)}\n\n`;

const drained = (response: ServerResponse, signal: AbortSignal): Promise<void> =>
  new Promise((resolve) => {
    const done = () => {
      response.off('drain', done);
      signal.removeEventListener('abort', done);
      resolve();
    };
    response.on('drain', done);
    signal.addEventListener('abort', done);
    if (signal.aborted) done();
  });

const beat = async (response: ServerResponse, clock: Clock, signal: AbortSignal): Promise<void> => {
  while (!signal.aborted) {
    await clock.sleep(heartbeat, signal);
    if (!signal.aborted) response.write(': still here\n\n');
  }
};

/**
 * Writes events until they end or the signal aborts, at the pace of the client. The head must have been
 * written.
 * Throws what the iteration throws. The response is ended by the caller.
 */
export const writeEvents = async (
  response: ServerResponse,
  events: AsyncIterable<ServerSentEvent>,
  clock: Clock,
  client: AbortSignal,
): Promise<void> => {
  const ending = new AbortController();
  const end = () => ending.abort();
  client.addEventListener('abort', end);
  if (client.aborted) end();
  const { signal } = ending;
  const aborted = new Promise<null>((resolve) => signal.addEventListener('abort', () => resolve(null)));
  const beats = beat(response, clock, signal);
  const iterator = events[Symbol.asyncIterator]();
  try {
    while (!signal.aborted) {
      const turn = await Promise.race([iterator.next(), aborted]);
      if (turn === null || turn.done === true) return;
      if (!response.write(formatEvent(turn.value))) await drained(response, signal);
    }
  } finally {
    client.removeEventListener('abort', end);
    end();
    // The source sees the same signal; a generator that still waits must not hold up the answer's end.
    void iterator.return?.().then(undefined, () => undefined);
    await beats;
  }
};
