import { spawn } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { runCommandLine } from '../../../bin/cli/program.js';
import type { Milliseconds } from '../../../domain/ids.js';

const program = (name: string): string => fileURLToPath(new URL(`../../../bin/${name}.js`, import.meta.url));

export interface Ended {
  readonly code: number | null;
  readonly out: string;
  readonly error: string;
}

export interface Running {
  /** What came on standard output so far. */
  readonly out: () => string;
  readonly kill: (signal: NodeJS.Signals) => void;
  /** Reads no more of its standard output, as `| head` does. */
  readonly leave: () => void;
  readonly ended: Promise<Ended>;
}

type Environment = Readonly<Record<string, string>>;

/** Starts `serve` or `cli` in a process of its own, with these settings and no others. */
export const start = (name: 'serve' | 'cli', args: readonly string[], environment: Environment): Running => {
  const child = spawn(process.execPath, [program(name), ...args], {
    env: { ...environment },
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  let out = '';
  let error = '';
  child.stdout.on('data', (chunk: Buffer) => (out += chunk.toString()));
  child.stderr.on('data', (chunk: Buffer) => (error += chunk.toString()));
  const ended = new Promise<Ended>((done, fail) => {
    child.once('error', fail);
    child.once('close', (code) => done({ code, out, error }));
  });
  return {
    out: () => out,
    kill: (signal) => void child.kill(signal),
    leave: () => void child.stdout.destroy(),
    ended,
  };
};

/**
 * The command line in this process: a start of its own would take a hundred times as long. By its clock no
 * time passes, unless another one is given.
 */
export const command = async (
  args: readonly string[],
  environment: Environment,
  monotonic: () => Milliseconds = () => 0,
): Promise<Ended> => {
  let out = '';
  let error = '';
  const code = await runCommandLine(args, {
    environment,
    write: (text) => void (out += text),
    complain: (text) => void (error += text),
    monotonic,
  });
  return { code, out, error };
};

export const run = (
  name: 'serve' | 'cli',
  args: readonly string[],
  environment: Environment,
): Promise<Ended> => start(name, args, environment).ended;
