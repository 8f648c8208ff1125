import { fork, type ChildProcess } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import type { Asked, Performed } from './worker.js';

const program = fileURLToPath(new URL('worker.js', import.meta.url));

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

/**
 * Performs runs in so many processes of their own until `next` returns null. Rejects if one of
 * them ends by itself.
 */
export const performIn = async (
  workers: number,
  next: () => Asked | null,
  onPerformed: (performed: Performed) => void,
  cwd = process.cwd(),
): Promise<void> => {
  const work = async (): Promise<void> => {
    const worker = fork(program, { cwd, execArgv: [] });
    try {
      for (let asked = next(); asked !== null; asked = next()) onPerformed(await performedBy(worker, asked));
    } finally {
      worker.removeAllListeners('exit');
      worker.kill();
    }
  };
  await Promise.all(Array.from({ length: workers }, work));
};
