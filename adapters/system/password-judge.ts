import { once } from 'node:events';
import { Worker } from 'node:worker_threads';
import { z } from 'zod';
import { type PasswordJudge, TooManySignIns } from '../../application/ports/passwords.js';
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
export class JudgingThread implements PasswordJudge {
  #thread: Worker | null = null;
  #last: Promise<unknown> = Promise.resolve();
  #waiting = 0;

  constructor(
    private readonly program = new URL('./judging-thread.js', import.meta.url),
    private readonly maxTime = usualTime,
  ) {}

  async judge(password: string, known: readonly string[]): Promise<string | null> {
    if (this.#waiting >= maxWaiting) throw new TooManySignIns('too many passwords wait to be judged');
    this.#waiting += 1;
    const judged = this.#last.then(() => this.#ask({ password: password.slice(0, maxJudged), known }));
    this.#last = judged.catch(() => undefined);
    try {
      return await judged;
    } finally {
      this.#waiting -= 1;
    }
  }

  async close(): Promise<void> {
    const thread = this.#thread;
    this.#thread = null;
    await thread?.terminate();
  }

  async #ask(question: object): Promise<string | null> {
    this.#thread ??= new Worker(this.program);
    this.#thread.postMessage(question);
    const end = AbortSignal.timeout(this.maxTime);
    try {
      const [judgement]: unknown[] = await once(this.#thread, 'message', { signal: end });
      return Judgement.parse(judgement);
    } catch (error) {
      await this.close();
      throw end.aborted ? new TooManySignIns('a password took too long to be judged') : error;
    }
  }
}
