import { SystemClock } from '../../adapters/system/clock.js';
import type { Milliseconds } from '../../domain/ids.js';
import type { VerbContext } from './verb.js';

const reportInterval: Milliseconds = 5_000;

type Output = Pick<VerbContext, 'complain' | 'monotonic'>;

/** Reports the progress of long work: nothing for the first seconds, then a line every few seconds. */
export const progressOn = ({ complain, monotonic }: Output): ((text: () => string) => void) => {
  let next = monotonic() + reportInterval;
  return (text) => {
    const now = monotonic();
    if (now < next) return;
    next = now + reportInterval;
    complain(`${text()} ...\n`);
  };
};

export const count = (number: number): string => number.toLocaleString('en-US');

export const eventsOn = (output: Output): ((done: number) => void) => {
  const report = progressOn(output);
  return (done) => report(() => `${count(done)} events`);
};

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
