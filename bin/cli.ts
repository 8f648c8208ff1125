import { fstatSync, writeFileSync } from 'node:fs';
import { createInterface } from 'node:readline/promises';
import { runCommandLine } from './cli/program.js';

// Its output, such as a backup, holds names, addresses and secrets.
process.umask(0o077);

// The reader of the output may have seen enough, as in `… | head`.
process.stdout.on('error', (error: NodeJS.ErrnoException) => {
  if (error.code !== 'EPIPE') throw error;
  process.exit();
});

/** Asks on standard error. Closing the input means no. */
const confirm = async (question: string): Promise<boolean> => {
  const lines = createInterface({ input: process.stdin, output: process.stderr });
  const closed = new Promise<string>((resolve) => lines.once('close', () => resolve('')));
  try {
    return /^y(es)?$/i.test((await Promise.race([lines.question(`${question} (y/N) `), closed])).trim());
  } finally {
    lines.close();
  }
};

/** All of a text, or an error: for a file, process.stdout drops what a disk has no more room for. */
const isFile = fstatSync(1).isFile();
const write = (text: string): void =>
  isFile ? writeFileSync(1, Buffer.from(text)) : void process.stdout.write(text);

const isTerminal = process.stdin.isTTY && process.stdout.isTTY;

process.exitCode = await runCommandLine(process.argv.slice(2), {
  environment: process.env,
  write,
  complain: (text) => void process.stderr.write(text),
  ...(isTerminal && { confirm }),
});
