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
