/** Resolves with the promise or when the signal aborts, whichever comes first. */
export const settledOrAborted = async (promise: Promise<unknown>, signal: AbortSignal): Promise<void> => {
  if (signal.aborted) return;
  let abort: () => void = () => undefined;
  const aborted = new Promise<void>((resolve) => (abort = resolve));
  signal.addEventListener('abort', abort);
  try {
    await Promise.race([promise, aborted]);
  } finally {
    signal.removeEventListener('abort', abort);
  }
};
