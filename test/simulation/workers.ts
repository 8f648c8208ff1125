import { fork, type ChildProcess } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import type { Asked, Performed } from './worker.js';

export interface Work {
  /** How many processes. */
  readonly workers: number;
  /** The next run; null if there is none. */
  readonly next: () => Asked | null;
  /** Another build of `worker.js` than this one. */
  readonly program?: string;
}

/** Rejects if the process ends instead. */
const performedBy = (worker: ChildProcess, asked: Asked): Promise<Performed> =>
  new Promise((resolve, reject) => {
    const onExit = (code: number | null): void =>
      reject(new Error(`the run of seed ${asked.seed} ended with exit code ${code}`));
    worker.once('exit', onExit);
    worker.once('message', (performed: Performed) => {
      worker.off('exit', onExit);
      resolve(performed);
    });
    worker.send(asked);
  });

/** Performs runs in processes of their own. Rejects if one of them ends by itself. */
export const performIn = async (
  { workers, next, program = fileURLToPath(new URL('worker.js', import.meta.url)) }: Work,
  onPerformed: (performed: Performed) => void,
): Promise<void> => {
  const work = async (): Promise<void> => {
    const worker = fork(program, { execArgv: ['--max-semi-space-size=32'] });
    try {
      for (let asked = next(); asked !== null; asked = next()) onPerformed(await performedBy(worker, asked));
    } finally {
      worker.removeAllListeners('exit');
      worker.kill();
    }
  };
  await Promise.all(Array.from({ length: workers }, work));
};
