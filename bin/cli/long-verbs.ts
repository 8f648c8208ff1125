import { SystemClock } from '../../adapters/system/clock.js';
import type { OperatorClient } from './client.js';
import { readable } from './print.js';
import type { Option, Typed } from './verbs.js';

/** What a verb that is more than one call works with. */
export interface Running {
  readonly typed: Typed;
  readonly client: OperatorClient;
  readonly json: boolean;
  readonly print: (text: string) => void;
}

/** A verb that runs for a while or makes many calls. */
export interface LongVerb {
  readonly noun: string;
  readonly verb: string;
  readonly about: string;
  readonly thing?: string;
  readonly options: readonly Option[];
  readonly run: (running: Running) => Promise<void>;
}

/**
 * `npm run` passes on the Ctrl-C that the terminal has sent already: only one that comes later means that
 * somebody will not wait.
 */
const sameCtrlC = 1_000;

/** Aborts on Ctrl-C. Another one ends the process. */
export const untilInterrupted = (): AbortSignal => {
  const controller = new AbortController();
  const clock = new SystemClock();
  let first: number | null = null;
  process.on('SIGINT', () => {
    first ??= clock.monotonic();
    if (clock.monotonic() - first > sameCtrlC) process.exit(130);
    controller.abort();
  });
  return controller.signal;
};

const watchEvents: LongVerb = {
  noun: 'events',
  verb: 'watch',
  about: 'The log from a position, then live, until Ctrl-C',
  options: [
    { name: 'from', about: 'only events after this position' },
    { name: 'category', about: 'only streams of this category, such as card or credits' },
    { name: 'stream', about: 'only this stream, such as card-HC-7K3M9QX' },
  ],
  run: async ({ typed, client, json, print }) => {
    const query = {
      from: typed.text('from'),
      category: typed.text('category'),
      stream: typed.text('stream'),
    };
    for await (const event of client.stream({ method: 'GET', path: '/events', query }, untilInterrupted()))
      print(json ? event : `${readable(event)}\n`);
  },
};

export const longVerbs: readonly LongVerb[] = [watchEvents];
