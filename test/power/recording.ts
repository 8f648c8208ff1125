import { spawnSync } from 'node:child_process';
import { cp, mkdir, mkdtemp, readFile, readdir, rm, symlink, writeFile } from 'node:fs/promises';
import { existsSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { openForReading } from '../../adapters/sqlite/database.js';
import { keysPath, openPersonalKeys } from '../../adapters/sqlite/keys/personal-keys.js';
import type { StoredBlock } from '../../application/ports/personal-keys.js';
import type { LoggedEvent } from '../../domain/events.js';
import { clientsOf } from '../crash/tenant.js';
import type { Clients } from '../crash/client.js';
import { spawnService, type ServiceProcess } from '../crash/service-process.js';
import { inFiles } from '../soak/stage.js';
import { SeededEntropy } from '../support/memory/entropy.js';
import { freePort } from '../support/servers/ports.js';
import { eventually } from '../support/time/eventually.js';
import { operationsFrom, straceArguments, type Operation } from './operations.js';

/** A key that a client sent, and the card that it got. */
export interface UsedKey {
  readonly key: string;
  readonly code: string;
}

/** What some runs of the service did to their files, and what was true in the end. */
export interface Recording {
  readonly operations: readonly Operation[];
  readonly log: readonly LoggedEvent[];
  readonly keys: readonly UsedKey[];
  readonly blocks: readonly StoredBlock[];
  /** The files of secrets, by name. */
  readonly secrets: ReadonlyMap<string, Buffer>;
}

/** Where files are that are thrown away: in memory if this machine has a place there. */
export const scratch = (): Promise<string> =>
  mkdtemp(join(existsSync('/dev/shm') ? '/dev/shm' : tmpdir(), 'cards-power-'));

/** Whether strace can watch a process here: it must be installed, and the machine must let it. */
export const canRecord = (): boolean => {
  const { status } = spawnSync('strace', ['-D', '-f', '--seccomp-bpf', '-o', '/dev/null', 'true']);
  return status === 0;
};

const clientCount = 4;

const root = fileURLToPath(new URL('../../../', import.meta.url));

/** A copy of the service whose commits SQLite does not sync one by one. */
const weakened = async (place: string): Promise<string> => {
  const copy = join(place, 'weak');
  for (const name of ['adapters', 'application', 'bin', 'domain', 'projections'])
    await cp(join(root, 'dist', name), join(copy, 'dist', name), { recursive: true });
  await cp(join(root, 'package.json'), join(copy, 'package.json'));
  await symlink(join(root, 'node_modules'), join(copy, 'node_modules'));
  const file = join(copy, 'dist/adapters/sqlite/database.js');
  const code = await readFile(file, 'utf8');
  const weak = code.replace('synchronous = full', 'synchronous = normal');
  if (weak === code) throw new Error('there is nothing to weaken');
  await writeFile(file, weak);
  return join(copy, 'dist/bin/serve.js');
};

const work = async (clients: Clients, calls: number): Promise<void> => {
  const goal = clients.history.length + calls;
  const working = clients.work(clientCount);
  await eventually(() => clients.history.length >= goal, { what: 'answers' });
  clients.stop();
  await working;
};

/** Resolves with the trace when strace has written the end of the process. */
const traced = (path: string): Promise<string> =>
  eventually(
    async () => {
      const trace = await readFile(path, 'utf8');
      return /^\d+ +\+\+\+ [^\n]*\n$/m.test(trace.slice(-200)) && trace;
    },
    { what: 'the end of the trace' },
  );

const usedKeys = (directory: string): readonly UsedKey[] => {
  const database = openForReading(join(directory, 'events.db'));
  try {
    const rows: readonly UsedKey[] = database
      .prepare('select key, code from idempotency_keys order by key')
      .all();
    return rows.map(({ key, code }) => ({ key, code }));
  } finally {
    database.close();
  }
};

const numbersIn = (log: readonly LoggedEvent[]): readonly number[] => [
  ...new Set(log.flatMap((event) => blockOf(event) ?? [])),
];

/** The number of the block in which the key of an event's personal data stands. */
export const blockOf = ({ metadata }: LoggedEvent): number | null =>
  metadata.keyId === null || metadata.keyId === undefined ? null : Number(metadata.keyId.split('.')[0]);

const blocksOf = async (directory: string, log: readonly LoggedEvent[]): Promise<readonly StoredBlock[]> => {
  const keys = openPersonalKeys(keysPath(directory), { readOnly: true });
  try {
    return await keys.load(numbersIn(log));
  } finally {
    keys.close();
  }
};

const secretsOf = async (directory: string): Promise<ReadonlyMap<string, Buffer>> => {
  const names = (await readdir(directory)).filter((name) => /\.(key|token)$/.test(name));
  return new Map(
    await Promise.all(names.map(async (name) => [name, await readFile(join(directory, name))] as const)),
  );
};

/**
 * Records the service through three runs on one directory: one that is killed, one that starts after that and
 * is stopped, and one that starts after that. `weak`: with SQLite as it would be without `synchronous =
 * full`.
 */
export const record = async ({
  calls,
  seed,
  weak = false,
}: {
  readonly calls: number;
  readonly seed: number;
  readonly weak?: boolean;
}): Promise<Recording> => {
  const place = await scratch();
  const directory = join(place, 'data');
  await mkdir(directory, { mode: 0o700 });
  const port = await freePort();
  const program = weak ? { program: await weakened(place) } : {};
  const traces: string[] = [];
  const run = async (
    signal: 'SIGKILL' | 'SIGTERM',
    during: (service: ServiceProcess) => Promise<void>,
  ): Promise<void> => {
    const path = join(place, `trace-${traces.length}`);
    const service = spawnService(directory, port, ['strace', ...straceArguments(path)], program);
    await service.ready;
    await during(service);
    await service.end(signal);
    traces.push(await traced(path));
  };
  try {
    let clients: Clients | null = null;
    await run('SIGKILL', async (service) => {
      clients = await clientsOf(service, directory, new SeededEntropy(seed), 100_000);
      await work(clients, calls);
    });
    await run('SIGTERM', async () => (clients === null ? undefined : work(clients, calls)));
    await run('SIGTERM', () => Promise.resolve());
    const log = await inFiles(directory).readLog(0n);
    return {
      operations: operationsFrom(traces.join('\n'), directory),
      log,
      keys: usedKeys(directory),
      blocks: await blocksOf(directory, log),
      secrets: await secretsOf(directory),
    };
  } finally {
    await rm(place, { recursive: true, force: true });
  }
};
