import { once } from 'node:events';
import { Worker } from 'node:worker_threads';
import { z } from 'zod';
import { type PasswordJudge, TooManySignIns } from '../../application/ports/passwords.js';
import type { Milliseconds } from '../../domain/ids.js';
import { fairTurns } from './fair-turns.js';

/** Later characters are not judged: the time grows with the square of the length. */
const maxJudged = 64;
const turnLimits = { atOnce: 1, maxPlacesOfOne: 4, maxWaiting: 20, what: 'judged' };
const usualTime: Milliseconds = 5_000;

const Judgement = z.string().nullable();

/**
 * Judges passwords in a thread that begins with the first of them, one at a time, each network in its turn. A
 * judgement that takes too long ends with its thread, and the next one gets a new one.
 */
export const judgingThread = (
  program = new URL('./judging-thread.js', import.meta.url),
  maxTime = usualTime,
): PasswordJudge & { readonly close: () => Promise<void> } => {
  const turns = fairTurns(turnLimits);
  let thread: Worker | null = null;

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
    judge: (password, known, client) =>
      turns.take(client, () => ask({ password: password.slice(0, maxJudged), known })),
    close,
  };
};
