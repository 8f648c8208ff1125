import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';
import { createInterface } from 'node:readline';

/** Starts `bin/witness.js` for a log, with its key and its state in a directory. */
export const startWitness = async (
  directory: string,
  log: string,
): Promise<{ readonly vkey: string; readonly url: string; readonly stop: () => Promise<void> }> => {
  const program = join(import.meta.dirname, '../../../bin/witness.js');
  const [key, state] = [join(directory, 'witness.key'), join(directory, 'witness.state')];
  const name = 'witness.example.com/w1';
  const child = spawn(
    process.execPath,
    [program, '--name', name, '--log', log, '--key', key, '--state', state, '--port', '0'],
    { stdio: ['ignore', 'pipe', 'inherit'] },
  );
  const stop = async (): Promise<void> => {
    const ended = once(child, 'exit');
    if (child.kill('SIGTERM')) await ended;
  };
  let vkey: string | null = null;
  for await (const line of createInterface({ input: child.stdout })) {
    const url = /^listening on (.+)$/.exec(line)?.[1];
    if (url === undefined) vkey = line;
    else if (vkey !== null) return { vkey, url, stop };
  }
  throw new Error('the witness did not start');
};
