import type { Clock } from './ports/system.js';

/** Lets everything else have its turn that waits for this thread. */
export const nextTurn = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));

const waiting: (() => void)[] = [];

const letOneIn = (): void => {
  waiting.shift()?.();
  if (waiting.length > 0) setImmediate(letOneIn);
};

/**
 * As `nextTurn`, before a step that holds up the thread for some milliseconds, such as reading a page of the
 * log. Of all who ask for it, each turn of the event loop lets in one: several followers that catch up would
 * otherwise keep requests waiting for a step of each of them.
 */
export const turnAlone = (): Promise<void> =>
  new Promise((resolve) => {
    if (waiting.push(resolve) === 1) setImmediate(letOneIn);
  });

/** How many milliseconds a piece of long work may hold up the thread. */
const longestPiece = 5;

/** For long work, to be awaited after each small step: once a few milliseconds are over, as `turnAlone`. */
export const givingWay = (clock: Pick<Clock, 'monotonic'>): (() => Promise<void>) => {
  let began = clock.monotonic();
  return async () => {
    if (clock.monotonic() - began < longestPiece) return;
    await turnAlone();
    began = clock.monotonic();
  };
};
