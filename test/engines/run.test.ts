import { spawn } from 'node:child_process';
import { existsSync, mkdtempSync, readFileSync, rmSync, symlinkSync } from 'node:fs';
import { createConnection } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { expect } from 'chai';

const program = fileURLToPath(new URL('./run.js', import.meta.url));

const answers = (port: number): Promise<boolean> =>
  new Promise((done) => {
    const socket = createConnection(port, '127.0.0.1');
    socket.once('connect', () => done(true)).once('error', () => done(false));
    socket.once('connect', () => socket.destroy());
  });

describe('npm run engines', () => {
  /** A PATH with what a shell script needs, but no engine. */
  let bare: string;
  before(() => {
    bare = mkdtempSync(join(tmpdir(), 'card-path-'));
    symlinkSync(process.execPath, join(bare, 'node'));
    const found = (name: string): string =>
      ['/bin', '/usr/bin'].map((folder) => join(folder, name)).find(existsSync) ?? name;
    for (const name of ['bash', 'env', 'dirname', 'mktemp', 'id', 'rm'])
      symlinkSync(found(name), join(bare, name));
  });
  after(() => rmSync(bare, { recursive: true, force: true }));

  const start = (...args: string[]) => {
    const child = spawn(process.execPath, [program, ...args], {
      env: { PATH: bare },
      stdio: ['ignore', 'pipe', 'pipe'],
    });
    const said = { out: '', error: '' };
    child.stderr.on('data', (chunk: Buffer) => (said.error += chunk.toString()));
    const ended = new Promise<number | null>((done, fail) => child.once('error', fail).once('close', done));
    const ready = new Promise<void>((done) => {
      child.stdout.on('data', (chunk: Buffer) => {
        said.out += chunk.toString();
        if (said.out.includes('DATA_DIR')) done();
      });
    });
    return { child, said, ended, ready };
  };

  for (const signal of ['SIGINT', 'SIGTERM'] as const)
    it(`prints settings for the engines that it can start, names the others, ends on ${signal}`, async () => {
      const { child, said, ended, ready } = start('mongodb', 'eventstoredb');
      await Promise.race([ready, ended]);
      const [, port, directory] =
        /^export EVENTSTORE_URL='esdb:\/\/127\.0\.0\.1:(\d+)\?tls=false'\nexport DATA_DIR='(.+)' DEMO=on\n$/.exec(
          said.out,
        ) ?? [];
      expect(readFileSync(join(String(directory), 'secret.key'), 'utf8')).to.match(
        /^[0-9a-f]{8}:[\w+/]{43}=\n$/,
      );
      expect(await answers(Number(port))).to.equal(true);
      child.kill(signal);
      expect(await ended).to.equal(0);
      expect(said.error).to.include(
        "mongodb can't be started on this machine:\n  mongodb needs a JDK: apt-get install default-jdk-headless\n",
      );
      expect(said.error).to.include('eventstoredb: a stand-in, ');
      expect([await answers(Number(port)), existsSync(String(directory))]).to.deep.equal([false, false]);
    });

  it('ends if it can start no engine', async () => {
    const { said, ended } = start('mongodb');
    expect([await ended, said.out]).to.deep.equal([69, '']);
  });

  it('refuses an unknown engine and names those that there are', async () => {
    const { said, ended } = start('postgres');
    expect([await ended, said.out]).to.deep.equal([2, '']);
    expect(said.error).to.equal(
      'Unknown engine: postgres. Name some of eventstoredb, mongodb, rabbitmq; without a name, all start.\n',
    );
  });
});
