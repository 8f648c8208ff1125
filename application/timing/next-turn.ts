import type { Clock } from '../ports/system.js';

/** Lets everything else have its turn that waits for this thread. */
export const nextTurn = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));

const waiting: (() => void)[] = [];

const letOneIn = (): void => {
  waiting.shift()?.();
  if (waiting.length > 0) setImmediate(letOneIn);
};

/**
 * As `nextTurn`, before a step that holds up the thread for some milliseconds, such as reading a page of the
 * log. Each turn of the event loop lets in one caller: several followers that catch up would otherwise keep
 * requests waiting for a step of each of them.
 */
export const turnAlone = (): Promise<void> =>
  new Promise((resolve) => {
    if (waiting.push(resolve) === 1) setImmediate(letOneIn);
  });

/** In milliseconds: how long a piece of long work may take, and the rest after it. */
const maxPiece = 3;
const maxRest = 100;
/** How long the rest takes, as a multiple of the piece. */
const rests = 2;

let rested: Promise<void> = Promise.resolve();

/**
 * For long work, to be awaited after each small step: it rests after a piece of some milliseconds. All such
 * work of a process takes turns: a request that waits for ten turns of the event loop would otherwise meet a
 * piece in each of them.
 */
export const givingWay = (clock: Pick<Clock, 'monotonic' | 'sleep'>): (() => Promise<void>) => {
  let began = clock.monotonic();
  return async () => {
    const worked = clock.monotonic() - began;
    if (worked < maxPiece) return;
    rested = rested.then(() => clock.sleep(Math.min(rests * worked, maxRest)));
    await rested;
    began = clock.monotonic();
  };
};
