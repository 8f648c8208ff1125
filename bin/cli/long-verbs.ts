import { SystemClock } from '../../adapters/system/clock.js';
import type { Milliseconds } from '../../domain/ids.js';
import type { OperatorClient } from './client.js';
import { readable } from './print.js';
import type { CommandInput, Verb } from './verb.js';

export interface VerbContext {
  readonly input: CommandInput;
  readonly client: OperatorClient;
  readonly json: boolean;
  readonly print: (text: string) => void;
  /** Writes a value as JSON, or else the text for people. */
  readonly show: (value: object, text: string) => void;
  readonly complain: (text: string) => void;
  readonly monotonic: () => Milliseconds;
  readonly environment: Readonly<Record<string, string | undefined>>;
}

/** A verb that runs for a while or makes more than one call. */
export interface LongVerb extends Omit<Verb, 'call'> {
  /** True if it can do without an organization: an API key knows its own. */
  readonly isForOwners?: boolean;
  readonly run: (running: VerbContext) => Promise<void>;
}

/** `npm run` forwards a Ctrl-C that the terminal has sent here already. Only a later one means impatience. */
const sameCtrlCWithin = 1_000;

/** A signal that aborts on Ctrl-C. A second Ctrl-C ends the process. */
export const untilInterrupted = (): AbortSignal => {
  const controller = new AbortController();
  const clock = new SystemClock();
  let first: number | null = null;
  process.on('SIGINT', () => {
    first ??= clock.monotonic();
    if (clock.monotonic() - first > sameCtrlCWithin) process.exit(130);
    controller.abort();
  });
  return controller.signal;
};

const parameters = [
  { name: 'from', description: 'only events after this position' },
  { name: 'category', description: 'only streams of this category, such as card or credits' },
  { name: 'stream', description: 'only this stream, such as card-HC-7K3M9QX' },
  { name: 'organization', description: 'only events of the organization with this id' },
  { name: 'types', description: 'only events of these types, separated by commas' },
  { name: 'until', description: 'ends after this position, or, with head, after the newest event' },
  { name: 'personal', description: 'withhold leaves out what events say about a person' },
];

const watchEvents: LongVerb = {
  noun: 'events',
  verb: 'watch',
  description:
    'Show the events of the log, then new ones as they happen, until Ctrl-C or the end that you name',
  options: parameters,
  run: async ({ input, client, json, print }) => {
    const query = Object.fromEntries(parameters.map(({ name }) => [name, input.text(name)]));
    for await (const event of client.stream({ method: 'GET', path: '/events', query }, untilInterrupted()))
      print(json ? event : `${readable(event)}\n`);
  },
};

export const longVerbs: readonly LongVerb[] = [watchEvents];
