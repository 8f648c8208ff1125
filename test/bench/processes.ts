import { spawn, type ChildProcess } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import type { Load, LoadResult } from './load.js';
import type { Production, ProductionLog } from './production.js';
import type { LongestGaps, Pulse } from './pulse.js';

const script = (name: string): string => join(import.meta.dirname, name);

export interface Started {
  readonly url: string;
  readonly child: ChildProcess;
  /** Milliseconds from the start of the process to its first output. */
  readonly readyAfter: number;
  readonly lines: readonly string[];
  readonly stop: () => Promise<void>;
}

/** What `npm start` gives Node: room for short-lived objects, so that they are collected less often. */
const serviceFlags = ['--max-semi-space-size=64'];

/** Starts a program and waits until it has printed its address. */
const start = async (
  file: string,
  flags: readonly string[],
  environment: Readonly<Record<string, string>>,
): Promise<Started> => {
  const began = performance.now();
  const child = spawn(process.execPath, [...flags, file], {
    env: { PATH: process.env['PATH'] ?? '', ...environment },
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  const lines: string[] = [];
  const stop = () =>
    new Promise<void>((resolve) => {
      if (child.exitCode !== null) resolve();
      child.once('exit', () => resolve());
      child.kill('SIGTERM');
    });
  const reader = createInterface({ input: child.stdout });
  const url = await new Promise<string>((resolve, reject) => {
    child.once('exit', (code) => reject(new Error(`${file} ended with code ${code}`)));
    reader.on('line', (line) => {
      lines.push(line);
      if (/"level":(?:50|60)/u.test(line)) console.error(line);
      const found = /http:\/\/127\.0\.0\.1:\d+/.exec(line);
      if (found !== null) resolve(found[0]);
    });
  });
  return { url, child, readyAfter: performance.now() - began, lines, stop };
};

export const startBare = (): Promise<Started> => start(script('bare.js'), [], {});

export interface StartedService extends Started {
  readonly dataDir: string;
  /** Calls the operator API. */
  readonly operate: (path: string, body?: object) => Promise<Readonly<Record<string, unknown>>>;
}

/** Starts the embedded service on a data directory. */
export const startService = async (
  dataDir: string,
  environment: Readonly<Record<string, string>> = {},
): Promise<StartedService> => {
  const started = await start(join(import.meta.dirname, '../../bin/serve.js'), serviceFlags, {
    PORT: '0',
    DATA_DIR: dataDir,
    LOG_LEVEL: 'warn',
    DEMO: 'off',
    ...environment,
  });
  const operate = async (path: string, body?: object): Promise<Readonly<Record<string, unknown>>> => {
    const token = readFileSync(join(dataDir, 'operator.token'), 'utf8').trim();
    const response = await fetch(`${started.url}/operator/v1${path}`, {
      method: body === undefined ? 'GET' : 'POST',
      headers: {
        authorization: `Bearer ${token}`,
        ...(body !== undefined && { 'content-type': 'application/json' }),
      },
      ...(body !== undefined && { body: JSON.stringify(body) }),
    });
    return (await response.json()) as Readonly<Record<string, unknown>>;
  };
  return { ...started, dataDir, operate };
};

/** Resolves once the service says that it is ready. */
export const caughtUp = async ({ url }: Started): Promise<void> => {
  for (;;) {
    const response = await fetch(`${url}/readyz`);
    if (response.ok) return;
    await new Promise((resolve) => setTimeout(resolve, 100));
  }
};

/** Starts a stand-in of EventStoreDB whose appends take that many milliseconds. */
export const startStandIn = async (
  appendTime: number,
): Promise<{ readonly url: string; readonly stop: () => void }> => {
  const child = spawn(process.execPath, [script('stand-in.js'), String(appendTime)], {
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  const stop = () => void child.kill();
  for await (const line of createInterface({ input: child.stdout }))
    return { ...(JSON.parse(line) as { readonly url: string }), stop };
  throw new Error('the stand-in of EventStoreDB did not start');
};

/** Starts a stand-in of EventStoreDB with cards in production. */
export const startProduction = async (
  wanted: Production,
): Promise<ProductionLog & { readonly stop: () => void }> => {
  const child = spawn(
    process.execPath,
    ['--max-old-space-size=8192', script('production.js'), JSON.stringify(wanted)],
    { stdio: ['ignore', 'pipe', 'inherit'] },
  );
  const stop = () => void child.kill();
  for await (const line of createInterface({ input: child.stdout }))
    return { ...(JSON.parse(line) as ProductionLog), stop };
  throw new Error('the stand-in of EventStoreDB did not start');
};

/** Puts load on an address from another process. */
export const load = async (wanted: Load): Promise<LoadResult> => {
  const child = spawn(process.execPath, [script('load.js'), JSON.stringify(wanted)], {
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  let output = '';
  for await (const chunk of child.stdout) output += String(chunk);
  return JSON.parse(output) as LoadResult;
};

/**
 * Does the work while another process polls `/healthz` and, if it has a key, sends cards. Returns what the
 * work returned, how long it took, and the longest that the other process had to wait for a response.
 */
export const besidePulse = async <T>(
  wanted: Pulse,
  work: () => Promise<T>,
): Promise<{ readonly result: T; readonly milliseconds: number; readonly gaps: LongestGaps }> => {
  const child = spawn(process.execPath, [script('pulse.js'), JSON.stringify(wanted)], {
    stdio: ['pipe', 'pipe', 'inherit'],
  });
  let output = '';
  const pulses = wanted.key === null ? 1 : 2;
  const beating = new Promise<void>((resolve, reject) => {
    child.once('exit', () => reject(new Error('the pulse has stopped')));
    child.stdout.on('data', (chunk) => {
      output += String(chunk);
      if (output.split('\n').length > pulses) resolve();
    });
  });
  await beating;
  const began = performance.now();
  const result = await work();
  const milliseconds = performance.now() - began;
  const ended = new Promise<void>((resolve) => child.once('close', () => resolve()));
  child.stdin.end();
  await ended;
  return { result, milliseconds, gaps: JSON.parse(output) as LongestGaps };
};

/** The resident memory of a process, in MiB; null if the machine does not report it. */
export const memoryOf = (child: ChildProcess): number | null => {
  try {
    const status = readFileSync(`/proc/${child.pid}/status`, 'utf8');
    return Math.round(Number(/VmRSS:\s+(\d+)/.exec(status)?.[1]) / 1024);
  } catch {
    return null;
  }
};

/**
 * Processor time that all threads of a process have used, in milliseconds; null if the machine does not
 * report it. A tick of the clock is 10 ms on every Linux.
 */
export const processorTimeOf = (child: ChildProcess): number | null => {
  try {
    const fields = readFileSync(`/proc/${child.pid}/stat`, 'utf8').split(') ')[1]?.split(' ') ?? [];
    return (Number(fields[11]) + Number(fields[12])) * 10;
  } catch {
    return null;
  }
};
