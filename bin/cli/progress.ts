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

/** The same, for work on events. */
export const eventsOn = (output: Output): ((done: number) => void) => {
  const report = progressOn(output);
  return (done) => report(() => `${count(done)} events`);
};
