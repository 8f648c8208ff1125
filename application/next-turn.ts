/** Lets everything else have its turn that waits for this thread. */
export const nextTurn = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));
