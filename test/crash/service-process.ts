import { spawn, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import type { Role } from '../../bin/wiring/roles.js';

const thisProgram = fileURLToPath(new URL('../../bin/serve.js', import.meta.url));

/** The service in a process of its own. */
export interface ServiceProcess {
  readonly url: string;
  readonly pid: number;
  /** Its exit code; null if a signal ended it. */
  readonly ended: Promise<number | null>;
  /** Resolves when it listens; rejects with its output if it ended before that. */
  readonly ready: Promise<void>;
  readonly stderr: () => string;
  /** Lines of the log so far; warnings and worse, unless another level was asked for. */
  readonly lines: () => readonly string[];
  /** Sends a signal and waits for it to end. */
  readonly end: (signal: 'SIGKILL' | 'SIGTERM' | 'SIGINT') => Promise<number | null>;
}

/**
 * Starts the service on a data directory, by default embedded, whatever engines the environment names.
 * `wrapped` are programs to start it through; each must replace itself with the next.
 */
export const spawnService = (
  dataDir: string,
  port: number,
  wrapped: readonly string[] = [],
  {
    program = thisProgram,
    role = 'all',
    environment: more = {},
  }: {
    readonly program?: string;
    readonly role?: Role;
    readonly environment?: Readonly<Record<string, string>>;
  } = {},
): ServiceProcess => {
  const environment = {
    DEMO: 'off',
    LOG_LEVEL: 'warn',
    RATE_LIMIT_PER_MINUTE: '1000000000',
    ...more,
    PORT: String(port),
    DATA_DIR: dataDir,
  };
  const child: ChildProcess = spawn('env', [...wrapped, process.execPath, program, role], {
    env: { PATH: process.env['PATH'] ?? '', ...environment },
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  let said = '';
  let complained = '';
  child.stderr?.on('data', (chunk: Buffer) => (complained += chunk.toString()));
  const ended = once(child, 'exit').then(([code]: unknown[]) => (typeof code === 'number' ? code : null));
  const listening = new Promise<void>((resolve) => {
    child.stdout?.on('data', (chunk: Buffer) => {
      said += chunk.toString();
      if (said.includes('http://')) resolve();
    });
  });
  const died = ended.then((code) =>
    Promise.reject(new Error(`the service ended with ${code} before it listened: ${complained}`)),
  );
  const ready = Promise.race([listening, died]);
  // Not every test waits for it; a rejection must not count as unhandled.
  ready.catch(() => undefined);
  return {
    url: `http://127.0.0.1:${port}`,
    pid: child.pid ?? 0,
    ended,
    ready,
    stderr: () => complained,
    lines: () => said.split('\n').filter((line) => line.startsWith('{')),
    end: (signal) => {
      child.kill(signal);
      return ended;
    },
  };
};

/** Calls the operator API and returns the body of the response. Throws if it refuses. */
export const operate = async (
  { url }: ServiceProcess,
  dataDir: string,
  path: string,
  body: object,
): Promise<Readonly<Record<string, unknown>>> => {
  const token = (await readFile(join(dataDir, 'operator.token'), 'utf8')).trim();
  const headers = { authorization: `Bearer ${token}`, 'content-type': 'application/json' };
  const response = await fetch(`${url}/operator/v1${path}`, {
    method: 'POST',
    headers,
    body: JSON.stringify(body),
  });
  if (!response.ok) throw new Error(`POST ${path}: ${response.status} ${await response.text()}`);
  return (await response.json()) as Readonly<Record<string, unknown>>;
};
