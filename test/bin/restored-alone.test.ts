import { DatabaseSync } from '@photostructure/sqlite';
import { expect } from 'chai';
import { cpSync, existsSync, mkdirSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { giveUpKeysOf } from '../../bin/offline/personal-data.js';
import { readSettings } from '../../bin/settings/settings.js';
import type { Service } from '../../bin/wiring/service.js';
import { aCard, clientOf, clientsOf, type Fields } from '../support/http/service.js';
import { refusalOf as refusalIn, serviceIn } from '../support/http/service-in.js';
import { read } from '../support/runner/repository.js';
import { eventually } from '../support/time/eventually.js';

// The notary would end the process, too, where the log is older than its signed head.
const reporting = { LOG_ON_DAMAGE: 'report' };
const start = (directory: string): Promise<Service> => serviceIn(directory, reporting);
const refusalOf = (directory: string) => refusalIn(directory, reporting);

const suffixes = ['', '-wal', '-shm', '-journal'];

/** Replaces one of the files of a stopped service by that of another directory, or removes it. */
const replace = (directory: string, name: string, from: string | null): void => {
  for (const suffix of suffixes) {
    const path = join(directory, `${name}${suffix}`);
    rmSync(path, { force: true });
    if (from !== null && existsSync(join(from, `${name}${suffix}`)))
      cpSync(join(from, `${name}${suffix}`), path);
  }
};

describe('files of a data directory that are restored alone', () => {
  const directories: string[] = [];
  const made = async (): Promise<string> => {
    const directory = await mkdtemp(join(tmpdir(), 'cards-'));
    directories.push(directory);
    return directory;
  };
  let yesterday = '';
  let today = '';
  let org = '';
  let key = '';

  /** A copy of today's files. */
  const copy = async (): Promise<string> => {
    const directory = await made();
    cpSync(today, directory, { recursive: true });
    return directory;
  };

  /** The names of the recipients of all cards, once their list is built. */
  const shownIn = async (directory: string, cards: number): Promise<readonly unknown[]> => {
    const service = await start(directory);
    try {
      const api = clientOf(service.baseUrl, key);
      const rows = await eventually(async () => {
        const list = (await api('/api/v1/cards')).rows;
        return list.length === cards && list;
      });
      return rows.map(({ recipient }) => (recipient as Fields)['name']);
    } finally {
      await service.stop();
    }
  };

  before(async () => {
    const live = await made();
    let service = await start(live);
    ({ org, key } = await clientsOf(service).tenant());
    const send = async () => {
      const { status } = await clientOf(service.baseUrl, key)('/api/v1/cards', { body: aCard() });
      expect(status).to.equal(201);
    };
    await send();
    await service.stop();
    yesterday = await made();
    cpSync(live, yesterday, { recursive: true });
    service = await start(live);
    await send();
    await send();
    await service.stop();
    today = live;
  });

  after(() => Promise.all(directories.map((directory) => rm(directory, { recursive: true, force: true }))));

  for (const [what, from, events] of [
    ['keys.db is missing', () => null, 3],
    ["keys.db is yesterday's", () => yesterday, 2],
  ] as const)
    it(`${what}: the start is refused, and names the organization, the number of events and the file`, async () => {
      const directory = await copy();
      replace(directory, 'keys.db', from());
      for (const again of [1, 2]) {
        const refusal = await refusalOf(directory);
        expect(refusal?.code, `start ${again}`).to.equal(78);
        expect(refusal?.message).to.include(`${events} events`).and.include(org).and.include('keys.db');
        replace(directory, 'read.db', null);
      }
      expect(existsSync(join(directory, 'keys.db'))).to.equal(from() !== null);
      replace(directory, 'keys.db', today);
      expect(await refusalOf(directory)).to.equal(null);
    });

  it('keys.db is of another installation: the start is refused', async () => {
    const [directory, other] = [await copy(), await made()];
    const service = await start(other);
    const tenant = await clientsOf(service).tenant();
    expect((await tenant.api('/api/v1/cards', { body: aCard() })).status).to.equal(201);
    await service.stop();
    replace(directory, 'keys.db', other);
    cpSync(join(other, 'personal.key'), join(directory, 'personal.key'));
    const refusal = await refusalOf(directory);
    expect([refusal?.code, refusal?.message.includes('3 events')], refusal?.message).to.deep.equal([
      78,
      true,
    ]);
  });

  const spoiled: Readonly<Record<string, (path: string) => void>> = {
    'overwritten with other bytes': (path) => writeFileSync(path, 'x'.repeat(8_192)),
    'cut off': (path) => writeFileSync(path, readFileSync(path).subarray(0, 50_000)),
    'damaged near its beginning': (path) =>
      writeFileSync(
        path,
        readFileSync(path).map((byte, at) => (at < 100 || at > 600 ? byte : 255 - byte)),
      ),
    'damaged in its pages': (path) => writeFileSync(path, readFileSync(path).fill('x', 4_096)),
    'a folder': (path) => mkdirSync(path),
  };
  for (const [how, spoil] of Object.entries(spoiled))
    it(`keys.db is ${how}: the start is refused, and names the file and what to restore`, async () => {
      const directory = await copy();
      const path = join(directory, 'keys.db');
      if (how === 'a folder') rmSync(path);
      spoil(path);
      const refusal = await refusalOf(directory);
      expect(refusal?.code, refusal?.message).to.equal(78);
      expect(refusal?.message)
        .to.include(path)
        .and.match(/restore it from the newest backup\. Without one, move it aside/);
      const giveUp = () => giveUpKeysOf(readSettings({ DATA_DIR: directory }), 'Ada');
      const refused: unknown = await giveUp().catch((error: unknown) => error);
      expect(refused).to.be.an('error');
      rmSync(path, { recursive: true });
      expect((await giveUp()).events).to.be.greaterThan(0);
    });

  it('a file is moved away while it is written to: the service is not ready until it is back', async () => {
    const directory = await copy();
    const service = await start(directory);
    const disk = async (): Promise<unknown> => {
      const { parts } = (await (await fetch(`${service.baseUrl}/readyz`)).json()) as {
        readonly parts: readonly Fields[];
      };
      return parts.find(({ name }) => name === 'disk')?.['detail'];
    };
    expect(await disk()).to.equal(null);
    for (const name of ['events.db', 'events.db-wal', 'keys.db']) {
      const path = join(directory, name);
      renameSync(path, `${path}.moved`);
      cpSync(`${path}.moved`, path);
      expect(await disk()).to.include(`${path} was removed or replaced`);
      renameSync(`${path}.moved`, path);
      expect(await disk()).to.equal(null);
    }
    await service.stop();
  });

  it('events.db is damaged beside its events: the start is refused, and names it', async () => {
    const directory = await copy();
    const path = join(directory, 'events.db');
    const database = new DatabaseSync(path);
    const found: unknown = database
      .prepare("select rootpage as page from sqlite_master where name = 'delivery_targets'")
      .get();
    database.close();
    const { page } = found as { readonly page: number };
    writeFileSync(path, readFileSync(path).fill('x', (page - 1) * 4_096, page * 4_096));
    const refusal = await refusalOf(directory);
    expect(refusal).to.deep.equal({
      code: 1,
      message:
        'events.db in DATA_DIR is damaged: database disk image is malformed. Restore it from a backup (docs/incidents.md#a-damaged-log).',
    });
  });

  for (const [name, ofFolder, ofText] of [
    ['events.db', 'is a folder. Restore', null],
    ['read.db', 'is a folder. Move it aside', null],
    ['lock.db', "can't be used: ", 'It holds nothing: remove it.'],
    ['log.head', 'is a folder. Restore', 'Put back the key, or the file. If it is damaged'],
    ['rehearsal.json', 'restore the backup into a new folder', 'restore the backup into a new folder'],
    ['backup.json', 'restore the backup into a new folder', 'restore the backup into a new folder'],
  ] as const)
    it(`${name} is a folder, or other text: the start is refused, and says what to do`, async () => {
      const directory = await copy();
      const path = join(directory, name);
      for (const [says, spoil] of [
        [ofFolder, () => mkdirSync(path)],
        [ofText, () => writeFileSync(path, `{bad${' '.repeat(200)}`)],
      ] as const) {
        rmSync(path, { recursive: true, force: true });
        if (says === null) continue;
        spoil();
        const refusal = await refusalOf(directory);
        expect(refusal?.code, refusal?.message).to.equal(78);
        expect(refusal?.message).to.include(path).and.include(says);
      }
    });

  it('personal.key is of another installation: the start is refused, and names the key that is missing', async () => {
    const directory = await copy();
    const id = readFileSync(join(directory, 'personal.key'), 'utf8').split(':')[0] ?? '';
    writeFileSync(join(directory, 'personal.key'), `other:${Buffer.alloc(32, 1).toString('base64')}`);
    const refusal = await refusalOf(directory);
    expect([refusal?.code, refusal?.message.includes(id)], refusal?.message).to.deep.equal([78, true]);
  });

  it('personal.key is missing: the start is refused, names its place, and makes no other one', async () => {
    const directory = await copy();
    const path = join(directory, 'personal.key');
    rmSync(path);
    const refusal = await refusalOf(directory);
    expect(refusal?.code).to.equal(78);
    expect(refusal?.message).to.include(
      `PERSONAL_KEY_FILE ${path} does not exist. Restore it from a backup.`,
    );
    expect(existsSync(path)).to.equal(false);
  });

  it("read.db is yesterday's or missing: every card is shown with its recipient", async () => {
    for (const from of [yesterday, null]) {
      const directory = await copy();
      replace(directory, 'read.db', from);
      expect(await shownIn(directory, 3)).to.deep.equal(Array(3).fill('Ada Lovelace'));
    }
  });

  it("events.db is yesterday's: read.db refuses it with exit code 1; without read.db its cards are shown with their recipients", async () => {
    const directory = await copy();
    replace(directory, 'events.db', yesterday);
    expect((await refusalOf(directory))?.code).to.equal(1);
    replace(directory, 'read.db', null);
    expect(await shownIn(directory, 1)).to.deep.equal(['Ada Lovelace']);
  });

  it('each alone is missing: the next start does what the page of incidents says', async () => {
    const [, section = ''] = read('docs/incidents.md').split('## A lost database file\n');
    const rows = [...(section.split('\n## ')[0] ?? '').matchAll(/^\| `(\w+\.db)` +\| (.+?) +\|$/gm)];
    const expected = rows.map(([, file, text = '']) => [
      file,
      Number(/exit code (\d+)/.exec(text)?.[1] ?? 0),
    ]);
    const found = [];
    for (const file of ['read.db', 'keys.db', 'events.db']) {
      const directory = await copy();
      replace(directory, file, null);
      found.push([file, (await refusalOf(directory))?.code ?? 0]);
    }
    expect(found).to.deep.equal(expected);
  });
});
