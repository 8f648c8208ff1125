import { SystemClock } from '../../adapters/system/clock.js';
import { readable } from './print.js';
import { anyOrg, longVerb, option } from './verb.js';

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
  option('from', 'only events after this position'),
  option('category', 'only streams of this category, such as card or credits'),
  option('stream', 'only this stream, such as card-HC-7K3M9QX'),
  anyOrg,
  option('types', 'only events of these types, separated by commas'),
  option('until', 'ends after this position, or, with head, after the newest event'),
  option('personal', 'withhold leaves out what events say about a person'),
];

export const watchEvents = longVerb(
  'events watch',
  'Show the events of the log, then new ones as they happen, until Ctrl-C or the end that you name',
  parameters,
  async ({ input, client, json, print }) => {
    const { org: organization, ...given } = Object.fromEntries(
      parameters.map(({ name }) => [name, input.text(name)]),
    );
    const query = { ...given, organization };
    for await (const event of client.stream({ method: 'GET', path: '/events', query }, untilInterrupted()))
      print(json ? event : `${readable(event)}\n`);
  },
);
