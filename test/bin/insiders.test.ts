import { expect } from 'chai';
import { cp, mkdir, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { pino } from 'pino';
import { openForWriting } from '../../adapters/sqlite/database.js';
import { openLogFile } from '../support/fixtures/offline-log.js';
import { SystemClock } from '../../adapters/system/clock.js';
import { SystemEntropy } from '../../adapters/system/entropy.js';
import { frontierAt } from '../../application/log/log-proofs.js';
import type { Checkpoint } from '../../application/ports/log-tiles.js';
import type { StoredEvent } from '../../application/ports/raw-log.js';
import { explain } from '../../bin/wiring/exit.js';
import { startService, type Service } from '../../bin/wiring/service.js';
import { readSettings } from '../../bin/settings/settings.js';
import { rootOf } from '../../domain/merkle.js';
import { signerFrom, signerText } from '../../domain/signed-note.js';
import { logFile } from '../support/fixtures/log-file.js';
import { dropped, grownOtherwise, withMoreCredits, withoutTheLast } from '../support/fixtures/insiders.js';
import { takesNothingOut, type Change } from '../support/fixtures/served-manipulations.js';
import { macs, writeEventKeys } from '../support/fixtures/seal-events.js';
import { aCard, clientsOf } from '../support/http/service.js';
import { eventually } from '../support/time/eventually.js';

const treeTables = 'delete from log_tiles; delete from log_tree';
const logTables = `${treeTables}; delete from log_checkpoints; delete from log_damage`;

interface Place {
  readonly directory: string;
  /** A copy of the directory from before the last events. */
  readonly yesterday: string;
  readonly events: readonly StoredEvent[];
}

const files = ['events.db', 'keys.db', 'read.db'].flatMap((name) => [name, `${name}-wal`, `${name}-shm`]);

const inFile = (path: string, sql: string): void => {
  const database = openForWriting(path);
  database.exec(sql);
  database.close();
};

/** Rewrites the log, with every mark that tells how far it was read. */
const rewritten =
  (to: Change, sql: string) =>
  async ({ directory, events }: Place): Promise<void> => {
    const file = logFile(directory);
    file.replace(to(events));
    file.close();
    inFile(join(directory, 'events.db'), `delete from checkpoints; ${sql}`);
    inFile(join(directory, 'keys.db'), 'delete from shredder');
    for (const name of files.slice(6)) await rm(join(directory, name), { force: true });
  };

const anotherKey = `${signerText(signerFrom('cards.example.com/log', 'note', Buffer.alloc(32, 9)))}\n`;
const putAnotherKey = ({ directory }: Place): Promise<void> =>
  writeFile(join(directory, 'log.key'), anotherKey, { mode: 0o600 });
const without =
  (...names: readonly string[]) =>
  async ({ directory }: Place): Promise<void> => {
    for (const name of names) await rm(join(directory, name), { force: true });
  };

interface Attack {
  readonly what: string;
  readonly to: (place: Place) => Promise<void>;
  readonly code: 1 | 78;
  readonly says: RegExp;
}

const lostEnd = /the log ends (before event|after) \d+.* of \d+ (events )?was signed.*Restore events\.db/;
const otherRoot = /the first \d+ events do not give the root that was signed.*Restore events\.db/;

const attacks: readonly Attack[] = [
  {
    what: 'an event is rewritten, its stream is chained anew, and the tables of the log are emptied',
    to: rewritten(withMoreCredits, logTables),
    code: 1,
    says: otherRoot,
  },
  {
    what: 'an event is rewritten and chained anew, and tree and checkpoints are made anew over that',
    to: async (place) => {
      await rewritten(withMoreCredits, logTables)(place);
      await signedAnew(place);
    },
    code: 1,
    says: otherRoot,
  },
  {
    what: 'the last events are dropped with the checkpoints, the tree and every mark of who has read them',
    to: rewritten(withoutTheLast, logTables),
    code: 1,
    says: lostEnd,
  },
  {
    what: 'the last events are dropped, and others put in their place, more than were signed',
    to: rewritten(
      grownOtherwise((last, index) => last.position + BigInt(index + 1)),
      logTables,
    ),
    code: 1,
    says: otherRoot,
  },
  {
    what: "the store is swapped for yesterday's copy",
    to: async ({ directory, yesterday }) => {
      for (const name of files) await rm(join(directory, name), { force: true });
      for (const name of files) await cp(join(yesterday, name), join(directory, name)).catch(() => undefined);
    },
    code: 1,
    says: /log accept-restore/,
  },
  {
    what: 'the tables of the log are emptied, and the last signed head is deleted',
    to: async (place) => {
      inFile(join(place.directory, 'events.db'), logTables);
      await without('log.head')(place);
    },
    code: 78,
    says: /LOG_HEAD_FILE .* is missing.*Restore it/,
  },
  {
    what: 'the last signed head is deleted',
    to: without('log.head'),
    code: 78,
    says: /LOG_HEAD_FILE .* is missing.*Restore it/,
  },
  {
    what: 'log.key is deleted',
    to: without('log.key'),
    code: 78,
    says: /LOG_KEY_FILE .* is missing.*Restore it/,
  },
  {
    what: 'log.key and the last signed head are deleted, and the tables of the log are emptied',
    to: async (place) => {
      inFile(join(place.directory, 'events.db'), logTables);
      await without('log.key', 'log.head')(place);
    },
    code: 78,
    says: /LOG_KEY_FILE .* is missing.*Restore it/,
  },
  {
    what: 'log.key is replaced by another key of the same name',
    to: putAnotherKey,
    code: 78,
    says: /No key in LOG_KEY_FILE has signed the newest checkpoint/,
  },
  {
    what: 'log.key is replaced, and the tables of the log are emptied',
    to: async (place) => {
      inFile(join(place.directory, 'events.db'), logTables);
      await putAnotherKey(place);
    },
    code: 78,
    says: /No key in LOG_KEY_FILE has signed the head in LOG_HEAD_FILE .*log\.head/,
  },
  {
    what: 'log.key is replaced, and the last signed head is deleted',
    to: async (place) => {
      await putAnotherKey(place);
      await without('log.head')(place);
    },
    code: 78,
    says: /No key in LOG_KEY_FILE has signed the newest checkpoint/,
  },
  {
    what: 'log.key is replaced, the last signed head is deleted, and the tables of the log are emptied',
    to: async (place) => {
      inFile(join(place.directory, 'events.db'), logTables);
      await putAnotherKey(place);
      await without('log.head')(place);
    },
    code: 78,
    says: /LOG_HEAD_FILE .* is missing.*Restore it/,
  },
];

/** Makes the tables of the log as the service would, with notes that no key has signed. */
const signedAnew = async ({ directory }: Place): Promise<void> => {
  const { notarizeNow } = await import('../../application/log/notarize.js');
  const file = openLogFile(join(directory, 'events.db'));
  const note = await readFile(join(directory, 'log.head'), 'utf8').catch(() => 'forged\n');
  await notarizeNow({
    ...file,
    macs,
    clock: new SystemClock(),
    sign: () => note,
    scrubEvery: 86_400_000,
    restoreHint: '',
  });
  file.close();
};

describe('somebody who has the files of the store, but not log.key,', function () {
  this.timeout(60_000);
  let pristine: string;
  let place: Place;
  let service: Service | null = null;
  const failures: unknown[] = [];

  const start = async (directory: string, onDamage = 'exit'): Promise<Service> => {
    failures.length = 0;
    service = await startService({
      settings: readSettings({
        PORT: '0',
        DEMO: 'off',
        DATA_DIR: directory,
        LOG_ORIGIN: 'cards.example.com/log',
        LOG_ON_DAMAGE: onDamage,
      }),
      role: 'all',
      clock: new SystemClock(),
      entropy: new SystemEntropy(),
      log: pino({ level: 'silent' }),
      fail: (error) => failures.push(error),
    });
    return service;
  };
  const stop = async (): Promise<void> => {
    await service?.stop();
    service = null;
  };
  const published = async (directory: string): Promise<readonly Checkpoint[]> => {
    const file = openLogFile(join(directory, 'events.db'));
    return file.tiles.kept().finally(file.close);
  };
  const whole = (running: Service): Promise<number> =>
    eventually(async () => {
      const { body } = await clientsOf(running).operator('/operator/v1/anchor');
      return body['tree_size'] === Number(body['position']) ? Number(body['position']) : null;
    });

  before(async () => {
    pristine = await mkdtemp(join(tmpdir(), 'cards-'));
    const today = join(pristine, 'today');
    await mkdir(today);
    // They have the keys of events: what finds them out is the head that was signed.
    writeEventKeys(today);
    let running = await start(today);
    const { api } = await clientsOf(running).tenant();
    await api('/api/v1/cards', { body: aCard() });
    await whole(running);
    await stop();
    await cp(today, join(pristine, 'yesterday'), { recursive: true });
    running = await start(today);
    for (let number = 0; number < dropped; number += 1)
      await clientsOf(running).operator('/operator/v1/organizations', { body: { name: `Last ${number}` } });
    await whole(running);
    await stop();
  });
  beforeEach(async () => {
    const folder = await mkdtemp(join(tmpdir(), 'cards-'));
    await cp(pristine, folder, { recursive: true });
    const directory = join(folder, 'today');
    const file = openLogFile(join(directory, 'events.db'));
    const events = await file.log.readStored(0n, 10_000);
    file.close();
    place = { directory, yesterday: join(folder, 'yesterday'), events };
  });
  afterEach(async () => {
    await stop();
    await rm(join(place.directory, '..'), { recursive: true, force: true });
  });
  after(() => rm(pristine, { recursive: true, force: true }));

  /** What the service ends with: at its start, or soon after it. */
  const ending = async (): Promise<ReturnType<typeof explain>> => {
    const refused: unknown = await start(place.directory).then(
      () => null,
      (error: unknown) => error,
    );
    return explain(refused ?? (await eventually(() => failures[0] ?? null)));
  };

  for (const { what, to, code, says } of attacks)
    it(`is found out where ${what}: nothing is published, and the service ends with exit code ${code}`, async () => {
      await to(place);
      const before = await published(place.directory);
      const ended = await ending();
      await stop();
      expect(ended.message).to.match(says);
      expect(ended.code).to.equal(code);
      expect(await published(place.directory)).to.deep.equal(before);
    });

  for (const { what, to, code } of attacks)
    if (code === 1)
      it(`gets no export and no checkpoint from a service that goes on where ${what}`, async () => {
        await to(place);
        const before = await published(place.directory);
        const running = await start(place.directory, 'report');
        await takesNothingOut(clientsOf(running), place.events);
        const response = await fetch(`${running.baseUrl}/readyz`);
        expect(response.status).to.equal(503);
        expect(await response.text()).to.match(/"name":"log","ready":false/);
        await stop();
        expect(await published(place.directory)).to.deep.equal(before);
      });

  it('changes nothing where only the tables of the log are emptied: they are made again as they were', async () => {
    const [newest] = (await published(place.directory)).slice(-1);
    inFile(join(place.directory, 'events.db'), logTables);
    const running = await start(place.directory);
    await eventually(async () => (await clientsOf(running).anonymous('/log/checkpoint')).status === 200);
    await stop();
    expect(failures).to.deep.equal([]);
    const { tiles, close } = openLogFile(join(place.directory, 'events.db'));
    const again = await frontierAt(tiles, newest?.size ?? 0).finally(close);
    expect(rootOf(again)).to.deep.equal(newest?.root);
  });
});
