import { spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { readFile, stat, truncate, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';
import { expect } from 'chai';
import { DamagedLog } from '../../../application/log/damaged-log.js';
import { DataDirectoryInUse } from '../../../adapters/sqlite/errors.js';
import { eventually } from '../../support/time/eventually.js';
import { appendNotes } from './notes.js';
import { inNewDirectory, openDirectory } from './setup.js';

const child = fileURLToPath(new URL('./child.js', import.meta.url));

/** Runs a scenario of child.ts, perhaps under another program. Returns its exit code and its last line. */
const runChild = (scenario: string, directory: string, count: number, wrapped: readonly string[] = []) => {
  const command = [...wrapped, process.execPath, child, scenario, directory, String(count)];
  const { status, stdout, stderr } = spawnSync('env', command, { encoding: 'utf8' });
  const said: unknown = JSON.parse(stdout.trim().split('\n').at(-1) || '{}');
  return { status, said, stderr };
};

/** Whether this program runs on this machine as the tests need it. */
const works = (program: string, ...args: readonly string[]): boolean =>
  spawnSync(program, args, { stdio: 'ignore' }).status === 0;

/** Stops at the calls that are traced alone: at every call, it would take most of the time. */
const strace = ['strace', '-f', '--seccomp-bpf', '-o'] as const;

const syncs = 'fsync,fdatasync';

describe('the durability of the events file', () => {
  describe('under strace', () => {
    before(function () {
      if (!works(...strace, '/dev/null', 'true')) this.skip();
    });

    /** How many of these calls succeed while a child opens an events file, appends and closes it. */
    const counted = async (directory: string, calls: string, appends: number): Promise<number> => {
      const log = join(directory, 'strace.log');
      const { status } = runChild('append', join(directory, `data-${appends}`), appends, [
        ...strace,
        log,
        '-e',
        `trace=${calls}`,
      ]);
      expect(status).to.equal(0);
      return (await readFile(log, 'utf8')).split('\n').filter((line) => /^\d+ +\w+\(.*\) += \d+/.test(line))
        .length;
    };

    it('makes one fsync for each append that waits for its own commit', () =>
      inNewDirectory(async (directory) => {
        const without = await counted(directory, syncs, 0);
        expect((await counted(directory, syncs, 30)) - without).to.be.at.least(30);
      }));

    it('ends the process without settling the append if an fsync fails', () =>
      inNewDirectory(async (directory) => {
        const data = join(directory, 'data');
        const first = (await counted(directory, syncs, 0)) + 10;
        const failing = [
          ...strace,
          '/dev/null',
          '-e',
          `trace=${syncs}`,
          '-e',
          `inject=${syncs}:error=EIO:when=${first}+`,
        ];
        const { status, said } = runChild('sync', data, 0, failing);
        expect(status).to.equal(75);
        const { acknowledged } = said as { acknowledged: number };
        expect(acknowledged).to.be.greaterThan(0);
        const file = await openDirectory(data);
        expect(Number((await file.eventStore.head()).position) - acknowledged).to.be.oneOf([0, 1]);
        await file.close();
      }));

    for (const error of ['ENOSPC', 'EROFS', 'EIO']) {
      it(`refuses appends while writing fails with ${error}, still reads, and appends again afterwards`, () =>
        inNewDirectory(async (directory) => {
          const data = join(directory, 'data');
          const first = (await counted(directory, 'pwrite64', 0)) + 10;
          const failing = [
            ...strace,
            '/dev/null',
            '-e',
            'trace=pwrite64',
            '-e',
            `inject=pwrite64:error=${error}:when=${first}..${first + 8}`,
          ];
          const { status, said } = runChild('interrupted', data, 40, failing);
          expect(status).to.equal(0);
          const { outcomes, reads } = said as { outcomes: string[]; reads: boolean[] };
          expect(new Set(outcomes)).to.deep.equal(new Set(['appended', 'unavailable']));
          expect([outcomes[0], outcomes.at(-1)]).to.deep.equal(['appended', 'appended']);
          expect(new Set(reads)).to.deep.equal(new Set([true]));
          const file = await openDirectory(data);
          expect((await file.eventStore.readLog(0n, 100)).length).to.equal(
            outcomes.filter((outcome) => outcome === 'appended').length,
          );
          await file.close();
        }));
    }
  });

  it('refuses appends while the disk is full, still reads, and stores whatever fits', function () {
    if (!works('unshare', '-m', 'sh', '-c', 'mount -t tmpfs tmpfs /mnt')) return this.skip();
    return inNewDirectory(async (directory) => {
      const disk = [
        'unshare',
        '-m',
        'sh',
        '-c',
        `mount -t tmpfs -o size=6m tmpfs ${directory} && exec "$@"`,
        'sh',
      ];
      const { said } = runChild('full', directory, 4_500_000, disk);
      const { stored } = said as { stored: number };
      expect(stored).to.be.greaterThan(10);
      expect(said).to.deep.equal({
        stored,
        whileFull: { read: stored, head: stored },
        group: ['unavailable', 'unavailable'],
        mixed: ['appended', 'unavailable', 'appended'],
        after: { head: stored + 2 },
        reopened: stored + 2,
      });
    });
  });

  it('refuses appends while the file may not grow, and appends again when it may', function () {
    if (!works('prlimit', '--version')) return this.skip();
    return inNewDirectory(async (directory) => {
      const limit = ['sh', '-c', 'trap "" XFSZ; ulimit -S -f 2000; exec "$@"', 'sh'];
      const { said } = runChild('limited', join(directory, 'data'), 0, limit);
      const { stored } = said as { stored: number };
      expect(stored).to.be.greaterThan(3);
      expect(said).to.deep.equal({ stored, head: stored, appended: true, log: stored + 1 });
    });
  });
});

describe('the data directory', () => {
  /** Starts a process that appends and holds the directory, calls `body`, then kills the process. */
  const whileHeld = async <T>(
    directory: string,
    body: (kill: () => Promise<void>) => Promise<T>,
  ): Promise<T> => {
    const holder = spawn(process.execPath, [child, 'hold', directory, '5'], {
      stdio: ['pipe', 'pipe', 'inherit'],
    });
    const ended = once(holder, 'exit');
    const kill = async () => {
      holder.kill('SIGKILL');
      await ended;
    };
    try {
      const [line]: string[] = await once(createInterface(holder.stdout), 'line');
      expect(line).to.equal('{"holding":true}');
      return await body(kill);
    } finally {
      await kill();
    }
  };

  it('is refused to a second process at once, with its name in the message', () =>
    inNewDirectory((directory) =>
      whileHeld(directory, async () => {
        let refused: unknown;
        await openDirectory(directory).catch((error: unknown) => (refused = error));
        expect(refused).to.be.instanceOf(DataDirectoryInUse);
        expect(refused).to.have.property('directory', directory);
        expect(refused).to.have.property('message').that.includes(directory);
      }),
    ));

  it('is free after a kill -9, and holds what was acknowledged', () =>
    inNewDirectory((directory) =>
      whileHeld(directory, async (kill) => {
        await kill();
        const file = await openDirectory(directory);
        expect((await file.eventStore.readLog(0n, 10)).map(({ position }) => position)).to.deep.equal([
          1n,
          2n,
          3n,
          4n,
          5n,
        ]);
        await appendNotes(file.eventStore, 1, 5);
        await file.close();
        expect(file.damage).to.deep.equal([]);
      }),
    ));

  /**
   * Kills a process that has appended five times, and changes its write-ahead log. Returns the error of the
   * next start, or the head that it finds.
   */
  const afterCrash = (change: (log: string) => Promise<void>): Promise<unknown> =>
    inNewDirectory((directory) =>
      whileHeld(directory, async (kill) => {
        await kill();
        await change(join(directory, 'events.db-wal'));
        return openDirectory(directory).then(
          async (file) => {
            const { position } = await file.eventStore.head();
            await file.close();
            return position;
          },
          (error: unknown) => error,
        );
      }),
    );
  const flipByteAfter = (text: string) => async (log: string) => {
    const bytes = await readFile(log);
    const at = bytes.indexOf(text) + text.length;
    bytes[at] = (bytes[at] ?? 0) ^ 1;
    await writeFile(log, bytes);
  };

  it('is refused if its write-ahead log was damaged: SQLite would drop the rest without a word', async () => {
    const error = await afterCrash(flipByteAfter('"id":1'));
    expect(error).to.be.instanceOf(DamagedLog);
    expect(error).to.have.property('position', 2n);
  });

  it('is opened although a crash tore the last commit', async () => {
    expect(await afterCrash(async (log) => truncate(log, (await stat(log)).size - 100))).to.equal(4n);
  });

  it('is refused to a second opener in the same process, and free after it is closed', () =>
    inNewDirectory(async (directory) => {
      const file = await openDirectory(directory);
      let refused: unknown;
      await openDirectory(directory).catch((error: unknown) => (refused = error));
      expect(refused).to.be.instanceOf(DataDirectoryInUse);
      expect(runChild('knock', directory, 0).said)
        .to.have.property('refused')
        .that.includes(directory);
      await file.close();
      expect(runChild('knock', directory, 0).said).to.deep.equal({ opened: true });
    }));

  it('is made if it does not exist', () =>
    inNewDirectory(async (directory) => {
      const file = await openDirectory(join(directory, 'a', 'b'));
      expect(await file.eventStore.head()).to.deep.equal({ position: 0n, event: null });
      await file.close();
    }));

  it('keeps the log across a restart', () =>
    inNewDirectory(async (directory) => {
      const first = await openDirectory(directory);
      await appendNotes(first.eventStore, 20);
      const before = { head: await first.eventStore.head(), log: await first.eventStore.readLog(0n, 100) };
      await first.close();
      const second = await openDirectory(directory);
      expect({
        head: await second.eventStore.head(),
        log: await second.eventStore.readLog(0n, 100),
      }).to.deep.equal(before);
      await appendNotes(second.eventStore, 1, 20);
      await eventually(async () => (await second.eventStore.head()).position === 21n);
      await second.close();
    }));
});
