import { once } from 'node:events';
import { Worker } from 'node:worker_threads';
import { z } from 'zod';
import { type PasswordJudge, TooManySignIns } from '../../application/ports/passwords.js';
import { limitConcurrency } from '../../application/timing/limit-concurrency.js';
import type { Milliseconds } from '../../domain/ids.js';

/** Later characters are not judged: the time grows with the square of the length. */
const maxJudged = 64;
const maxWaiting = 10;
const usualTime: Milliseconds = 5_000;

const Judgement = z.string().nullable();

/**
 * Judges passwords in a thread that begins with the first of them, one at a time. A judgement that takes too
 * long ends with its thread, and the next one gets a new one.
 */
export const judgingThread = (
  program = new URL('./judging-thread.js', import.meta.url),
  maxTime = usualTime,
): PasswordJudge & { readonly close: () => Promise<void> } => {
  const inTurn = limitConcurrency(1);
  let thread: Worker | null = null;
  let waiting = 0;

  const close = async (): Promise<void> => {
    const last = thread;
    thread = null;
    await last?.terminate();
  };

  const ask = async (question: object): Promise<string | null> => {
    thread ??= new Worker(program);
    thread.postMessage(question);
    const end = AbortSignal.timeout(maxTime);
    try {
      const [judgement]: unknown[] = await once(thread, 'message', { signal: end });
      return Judgement.parse(judgement);
    } catch (error) {
      await close();
      throw end.aborted ? new TooManySignIns('a password took too long to be judged') : error;
    }
  };

  return {
    judge: async (password, known) => {
      if (waiting >= maxWaiting) throw new TooManySignIns('too many passwords wait to be judged');
      waiting += 1;
      try {
        return await inTurn(() => ask({ password: password.slice(0, maxJudged), known }));
      } finally {
        waiting -= 1;
      }
    },
    close,
  };
};
