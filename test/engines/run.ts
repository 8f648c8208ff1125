import { spawn, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';
import { parseArgs } from 'node:util';
import { SystemClock } from '../../adapters/system/clock.js';
import { SystemEntropy } from '../../adapters/system/entropy.js';
import { EventStoreDbStandIn } from './eventstoredb-stand-in.js';
import { masterKeys } from '../../bin/settings/secret-files.js';

// `npm run engines [eventstoredb] [mongodb] [rabbitmq]` starts the engines of the distributed deployment for
// development without Docker. It prints settings on standard output as lines for a shell, and everything else
// on standard error. Nothing is kept. `--append-time 2` lets every append to the stand-in of EventStoreDB
// take two milliseconds, as on a disk.

interface Running {
  readonly url: string;
  /** Resolves when the engine ends. */
  readonly ended: Promise<unknown>;
  stop(): Promise<void>;
}

const say = (text: string): void => void process.stderr.write(`${text}\n`);

const script = fileURLToPath(new URL('../../../test/engines/start', import.meta.url));

const standIn = async (appendTime: number): Promise<Running> => {
  const server = await EventStoreDbStandIn.start(new SystemClock());
  server.appendTime = appendTime;
  return { url: server.url, ended: new Promise(() => undefined), stop: () => Promise.resolve(server.down()) };
};

/** The first line that the program prints, or null if it ends without one. */
const firstLine = async (child: ChildProcess): Promise<string | null> => {
  if (child.stdout === null) return null;
  for await (const line of createInterface({ input: child.stdout })) return line;
  return null;
};

const starting = new Set<ChildProcess>();

/**
 * Runs `test/engines/start` in its own process group, so that Ctrl-C reaches only this program. If the engine
 * doesn't start, says why and returns null.
 */
const started = async (name: string): Promise<Running | null> => {
  const child = spawn(script, [name], { stdio: ['ignore', 'pipe', 'pipe'], detached: true });
  const words: string[] = [];
  child.stderr.on('data', (chunk: Buffer) => words.push(chunk.toString()));
  const ended = once(child, 'close');
  starting.add(child);
  const url = await firstLine(child);
  starting.delete(child);
  child.stdout.resume();
  if (url === null) {
    await ended;
    if (!child.killed)
      say(
        `${name} can't be started on this machine:\n  ${words.join('').trim().split('\n').slice(-3).join('\n  ')}`,
      );
    return null;
  }
  const stop = async (): Promise<void> => {
    child.kill('SIGTERM');
    await ended;
  };
  return { url, ended, stop };
};

const { values: options, positionals: args } = parseArgs({
  allowPositionals: true,
  options: { 'append-time': { type: 'string', default: '0' } },
});

const engines = {
  eventstoredb: {
    variable: 'EVENTSTORE_URL',
    start: () => standIn(Number(options['append-time'])),
    about: 'a stand-in, which speaks the protocol and keeps everything in memory',
  },
  mongodb: {
    variable: 'MONGODB_URL',
    start: () => started('mongodb'),
    about: 'mongo-java-server, without sessions and transactions',
  },
  rabbitmq: { variable: 'RABBITMQ_URL', start: () => started('rabbitmq'), about: 'RabbitMQ, one node' },
} as const;
type EngineName = keyof typeof engines;
const names: readonly EngineName[] = ['eventstoredb', 'mongodb', 'rabbitmq'];

const run = async (wanted: readonly EngineName[]): Promise<number> => {
  const directory = mkdtempSync(join(tmpdir(), 'card-engines-'));
  const running: Running[] = [];
  let stopping = false;
  const asked = new Promise<void>((resolve) => {
    const stop = (): void => {
      stopping = true;
      for (const child of starting) child.kill('SIGTERM');
      resolve();
    };
    for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) process.on(signal, stop);
  });
  try {
    say(`Starting ${wanted.join(', ')} …`);
    const found = await Promise.all(
      wanted.map(async (name) => {
        const engine = await engines[name].start();
        if (engine !== null) running.push(engine);
        return { name, engine };
      }),
    );
    if (stopping) return 0;
    if (running.length === 0) return 69;
    masterKeys(join(directory, 'secret.key'), new SystemEntropy(), true);
    masterKeys(join(directory, 'event.key'), new SystemEntropy(), true, 'EVENT_KEY_FILE');
    masterKeys(join(directory, 'personal.key'), new SystemEntropy(), true, 'PERSONAL_KEY_FILE');
    for (const { name, engine } of found) if (engine !== null) say(`${name}: ${engines[name].about}`);
    say('Paste this into another terminal, then `npm start` there:');
    for (const { name, engine } of found)
      if (engine !== null) process.stdout.write(`export ${engines[name].variable}='${engine.url}'\n`);
    process.stdout.write(`export DATA_DIR='${directory}' DEMO=on\n`);
    if (found.some(({ engine }) => engine === null)) say('The service starts only with all three of them.');
    say('Ctrl-C stops all of them and deletes what they hold.');
    const ended = running.map(({ ended: end }) => end.then(() => 'ended' as const));
    if ((await Promise.race([asked, ...ended])) !== 'ended' || stopping) return 0;
    say('An engine has ended by itself. Stopping the others.');
    return 1;
  } finally {
    await Promise.all(running.map((engine) => engine.stop()));
    rmSync(directory, { recursive: true, force: true });
  }
};

const unknown = args.filter((arg) => !names.some((name) => name === arg));
if (unknown.length > 0) {
  say(`Unknown engine: ${unknown.join(', ')}. Name some of ${names.join(', ')}; without a name, all start.`);
  process.exit(2);
}
process.exit(await run(args.length === 0 ? names : names.filter((name) => args.includes(name))));
