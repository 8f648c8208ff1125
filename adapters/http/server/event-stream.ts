import type { ServerResponse } from 'node:http';
import type { Clock } from '../../../application/ports/system.js';
import type { ServerSentEvent, StreamResponse } from './route.js';

/** How often a comment is sent, so that proxies and clients see that the stream is alive. */
const heartbeatInterval = 15_000;

const oneLine = (text: string): string => text.replaceAll(/[\r\n\0]/g, ' ');

/** One event as it is sent. JSON never contains a bare line break, so the data is one line. */
export const formatEvent = ({ id, event, data }: ServerSentEvent): string =>
  `${id === undefined ? '' : `id: ${oneLine(id)}\n`}${event === undefined ? '' : `event: ${oneLine(event)}\n`}data: ${JSON.stringify(data)}\n\n`;

/**
 * Writes text at the pace of the client: the next piece is made once the one before has left this process.
 * False if it was aborted before the end. Throws the errors of the iteration.
 */
export const writeLines = async (
  response: ServerResponse,
  lines: AsyncIterable<string | Uint8Array>,
  signal: AbortSignal,
): Promise<boolean> => {
  for await (const piece of lines) {
    if (signal.aborted || !(await handOver(response, piece, signal))) return false;
  }
  return !signal.aborted;
};

/**
 * Writes text, and resolves once it has left this process, or when the signal aborts. Whatever waited here
 * would still be sent after a person whom it names was erased. False if the connection is gone: some versions
 * of Node say so at once and for ever, before its end can abort the signal.
 */
const handOver = (
  response: ServerResponse,
  text: string | Uint8Array,
  signal: AbortSignal,
): Promise<boolean> =>
  new Promise((resolve) => {
    const end = (isGone: boolean) => {
      signal.removeEventListener('abort', aborted);
      resolve(!isGone);
    };
    const aborted = () => end(false);
    signal.addEventListener('abort', aborted);
    response.write(text, (error) => end(error instanceof Error));
    if (signal.aborted) aborted();
  });

const beat = async (response: ServerResponse, text: () => string, clock: Clock, signal: AbortSignal) => {
  while (!signal.aborted) {
    await clock.sleep(heartbeatInterval, signal);
    // To a client that reads nothing, another beat would be the progress that keeps its connection open.
    if (!signal.aborted && response.writableLength === 0) response.write(text());
  }
};

const comment = ': still here\n\n';

/**
 * Writes events at the pace of the client, as `writeLines` does, until they end or the signal aborts. Returns
 * whether they ended. The head must have been written; the caller ends the response. Throws the errors of the
 * iteration.
 */
export const writeEvents = async (
  response: ServerResponse,
  { events, type, beat: alive }: StreamResponse,
  clock: Clock,
  client: AbortSignal,
): Promise<boolean> => {
  const isLines = type === 'application/jsonl';
  const format = isLines ? ({ data }: ServerSentEvent) => `${JSON.stringify(data)}\n` : formatEvent;
  const beatText = (): string => {
    const mark = alive?.() ?? null;
    return mark === null ? comment : formatEvent(mark);
  };
  const ending = new AbortController();
  const signal = AbortSignal.any([client, ending.signal]);
  // One listener for all turns: a race would leave something at the signal for each event.
  let stopWaiting = (): void => undefined;
  signal.addEventListener('abort', () => stopWaiting());
  const beats = isLines ? Promise.resolve() : beat(response, beatText, clock, signal);
  const iterator = events[Symbol.asyncIterator]();
  try {
    while (!signal.aborted) {
      const turn = await new Promise<IteratorResult<ServerSentEvent> | null>((resolve, reject) => {
        stopWaiting = () => resolve(null);
        iterator.next().then(resolve, reject);
      });
      if (turn === null) return false;
      if (turn.done === true) return !signal.aborted;
      if (!(await handOver(response, format(turn.value), signal))) return false;
    }
    return false;
  } finally {
    ending.abort();
    // The source gets the same signal; a generator that is still waiting must not hold up the end of the
    // response.
    void iterator.return?.().then(undefined, () => undefined);
    await beats;
  }
};
