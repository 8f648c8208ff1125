import { DatabaseSync } from '@photostructure/sqlite';
import { expect } from 'chai';
import { once } from 'node:events';
import { existsSync } from 'node:fs';
import {
  chmod,
  copyFile,
  mkdir,
  mkdtemp,
  open,
  readdir,
  readFile,
  rename,
  rm,
  stat,
  writeFile,
} from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Worker } from 'node:worker_threads';
import { pino } from 'pino';
import { SystemClock } from '../../../adapters/system/clock.js';
import { SystemEntropy } from '../../../adapters/system/entropy.js';
import { lockDirectory } from '../../../adapters/sqlite/database.js';
import { runCommandLine } from '../../../bin/cli/program.js';
import { startService, type Service } from '../../../bin/wiring/service.js';
import { readSettings } from '../../../bin/settings/settings.js';
import { run } from '../../support/servers/programs.js';
import { uploadPicture } from '../../support/artwork/upload.js';
import { aCard, clientOf, clientsOf, type Tenant } from '../../support/http/service.js';
import { memberOf } from '../../support/http/visitor.js';
import { markDirectory, markOfDirectory } from '../../../bin/settings/rehearsal-mark.js';
import { UnusableSecretFile } from '../../../bin/settings/secret-files.js';
import { parseSigner, signerFrom, signerText, vkeyOf } from '../../../domain/signed-note.js';
import { eventually } from '../../support/time/eventually.js';

describe('a backup of the embedded engine', () => {
  let directory: string;
  let service: Service | null = null;
  beforeEach(async () => {
    directory = await mkdtemp(join(tmpdir(), 'cards-backup-'));
  });
  afterEach(async () => {
    await service?.stop();
    service = null;
    await rm(directory, { recursive: true, force: true });
  });

  const settingsIn = (folder: string) => ({ PORT: '0', DEMO: 'off', DATA_DIR: join(directory, folder) });
  const serve = async (folder: string, fail = (error: unknown) => void expect.fail(String(error))) => {
    service = await startService({
      settings: readSettings(settingsIn(folder)),
      role: 'all',
      clock: new SystemClock(),
      entropy: new SystemEntropy(),
      log: pino({ level: 'silent' }),
      fail,
    });
    return service;
  };
  const stop = async (): Promise<void> => {
    await service?.stop();
    service = null;
  };
  const cli = async (
    args: readonly string[],
    folder = 'data',
    more: Readonly<Record<string, string>> = {},
  ) => {
    let out = '';
    let error = '';
    const code = await runCommandLine(args, {
      environment: { ...settingsIn(folder), ...more },
      write: (text) => void (out += text),
      complain: (text) => void (error += text),
    });
    return { code, out, error };
  };
  const at = (...names: string[]): string => join(directory, ...names);
  const head = (folder: string): Promise<string> => readFile(at(folder, 'log.head'), 'utf8');
  /** Until the original signed more events than its backup holds: its thread gives way to all others. */
  const untilMoreIsSigned = async (): Promise<void> => {
    const { position } = JSON.parse(await readFile(at('copy', 'backup.json'), 'utf8')) as {
      readonly position: string;
    };
    await eventually(async () => BigInt((await head('data')).split('\n')[1] ?? '') > BigInt(position), {
      within: 60_000,
    });
  };
  const send = async ({ api }: Tenant, key: string): Promise<string> =>
    (await api('/api/v1/cards', { body: aCard(), headers: { 'idempotency-key': key } })).id;

  it('holds every card that was acknowledged before it began, while the service goes on, and can be restored', async () => {
    const running = await serve('data');
    const { operator, tenant: makeTenant } = clientsOf(running);
    const tenant = await makeTenant({ credits: 1_000_000, requestsPerMinute: 1_000_000 });
    const owner = await memberOf({ baseUrl: running.baseUrl, operator }, tenant.org, 'owner');
    await owner.submit(await uploadPicture(owner, tenant.org), 'save', { fit: 'fill' });
    const [front = ''] =
      /\/pictures\/[^"]+/.exec((await owner.get(`/console/${tenant.org}/designs`)).text) ?? [];
    const masterAt = async (base: string): Promise<Buffer> => {
      const response = await fetch(`${base}${front.replace('thumbnail.webp', 'front.jpg')}`);
      expect(response.status).to.equal(200);
      return Buffer.from(await response.arrayBuffer());
    };
    const uploaded = await masterAt(running.baseUrl);
    const before: string[] = [];
    for (let at = 0; at < 20; at++) before.push(await send(tenant, `before ${at}`));
    let isOver = false;
    const going = (async () => {
      let sent = 0;
      for (; !isOver; sent++) expect(await send(tenant, `during ${sent}`)).to.match(/^HC-/);
      return sent;
    })();
    const made = await run('cli', ['backup', at('copy'), '--json'], settingsIn('data'));
    await untilMoreIsSigned();
    isOver = true;
    expect([made.code, made.error, (await going) > 0]).to.deep.equal([0, '', true]);
    const { position, hash } = JSON.parse(made.out) as { readonly position: string; readonly hash: string };
    expect((await readdir(at('copy'))).toSorted()).to.deep.equal([
      'artwork',
      'backup.json',
      'event.key',
      'events.db',
      'keys.db',
      'log.head',
      'log.key',
      'operator.token',
      'personal.key',
      'secret.key',
    ]);
    for (const name of (await readdir(at('copy'))).filter((each) => each !== 'artwork'))
      expect([name, (await stat(at('copy', name))).mode & 0o777]).to.deep.equal([name, 0o600]);
    await stop();

    expect(await cli(['restore', at('copy')], 'restored')).to.include({ code: 0, error: '' });
    const rehearsal = await serve('restored');
    const anchor = (await clientsOf(rehearsal).operator('/operator/v1/anchor')).body;
    expect([anchor['position'], anchor['hash']]).to.deep.equal([position, hash]);
    await stop();
    expect(await cli(['promote'], 'restored')).to.include({ code: 0, error: '' });
    // The original signed more than the backup holds.
    expect((await cli(['log', 'accept-restore', '--by', 'Ada Lovelace'], 'restored')).code).to.equal(0);
    const again = await serve('restored');
    expect(again.operatorToken).to.equal(running.operatorToken);
    const api = clientOf(again.baseUrl, tenant.key);
    for (const code of before) {
      const { body } = await api(`/api/v1/cards/${code}`);
      expect(body['recipient']).to.include({ name: 'Ada Lovelace' });
    }
    const replay = await api('/api/v1/cards', { body: aCard(), headers: { 'idempotency-key': 'before 0' } });
    expect([replay.id, replay.headers.get('idempotent-replay')]).to.deep.equal([before[0], 'true']);
    const fronts = (await api('/api/v1/collection')).rows.map((row) => new URL(String(row['preview_url'])));
    expect(fronts).to.have.length.greaterThan(0);
    for (const { pathname } of fronts)
      expect((await fetch(`${again.baseUrl}${pathname}`)).status, pathname).to.equal(200);
    expect((await masterAt(again.baseUrl)).equals(uploaded)).to.equal(true);
  });

  it('goes on while pictures are put and removed', async () => {
    await serve('data');
    await stop();
    const artwork = at('data', 'artwork');
    const putAndRemove = `
      const { mkdirSync, renameSync, rmSync, writeFileSync } = require('node:fs');
      const { parentPort } = require('node:worker_threads');
      for (let n = 0; ; n++) {
        const place = ${JSON.stringify(artwork)} + '/' + '0' + (n % 16).toString(16);
        const unfinished = ${JSON.stringify(artwork)} + '/unfinished/1';
        rmSync(place, { recursive: true, force: true });
        for (const folder of [place, unfinished]) mkdirSync(folder, { recursive: true });
        writeFileSync(unfinished + '/master.jpg', 'a picture');
        renameSync(unfinished, place + '/' + 'f'.repeat(62));
        if (n === 16) parentPort.postMessage('there are some');
      }`;
    const worker = new Worker(putAndRemove, { eval: true });
    try {
      await once(worker, 'message');
      for (const nth of [1, 2])
        expect(await cli(['backup', at(`copy ${nth}`)])).to.include({ code: 0, error: '' });
    } finally {
      await worker.terminate();
    }
  });

  it('can be one file, without the secrets', async () => {
    await serve('data');
    expect((await cli(['backup', at('copy.db')])).code).to.equal(0);
    await stop();
    expect(await cli(['restore', at('copy.db')], 'restored')).to.include({ code: 0, error: '' });
    expect((await readdir(at('restored'))).toSorted()).to.deep.equal([
      'events.db',
      'lock.db',
      'rehearsal.json',
    ]);
    expect(await serve('restored').catch((error: unknown) => error)).to.be.instanceOf(UnusableSecretFile);
    for (const name of ['event.key', 'log.key', 'log.head'])
      await copyFile(at('data', name), at('restored', name));
    await serve('restored');
  });

  it('replaces nothing: neither another backup nor data', async () => {
    await serve('data');
    await stop();
    const { out } = await cli(['backup', at('copy')]);
    expect(out).to.match(
      /^Backed up to .*\n  files:\n    events\.db\n(    [a-z.]+\n)+    \d+ below artwork\/\n  last event: \d+ \w+\n$/,
    );
    for (const to of [at('copy'), at('copy', 'events.db')]) {
      const { code, error } = await cli(['backup', to]);
      expect([code, error]).to.deep.equal([
        1,
        `${to} already exists. Name a new one: a backup never replaces another.\n`,
      ]);
    }
    expect((await cli(['restore', at('copy')])).error).to.include('holds data already');
  });

  it('is made neither over a file nor in the data directory itself', async () => {
    await serve('data');
    await stop();
    const file = at('a file');
    await writeFile(file, 'mine');
    expect(await cli(['backup', file])).to.include({
      code: 1,
      error: `${file} already exists. Name a new one: a backup never replaces another.\n`,
    });
    for (const to of [at('data'), at('data', 'copy'), at('data', 'copy.db')]) {
      const { code, error } = await cli(['backup', to]);
      expect([code, error]).to.deep.equal([
        1,
        to === at('data')
          ? `${to} already exists. Name a new one: a backup never replaces another.\n`
          : `${to} is in DATA_DIR ${at('data')}, and would be lost with it. Name a place elsewhere.\n`,
      ]);
    }
  });

  it('leaves secret files that are there, which must hold all lines of the copy', async () => {
    await serve('data');
    await stop();
    await cli(['backup', at('copy')]);
    await mkdir(at('other'), { mode: 0o700 });
    const write = (name: string, text: string) => writeFile(at('other', name), text, { mode: 0o600 });
    const older = (name: string) => readFile(at('copy', name), 'utf8');
    const newKey = `new:${Buffer.alloc(32, 1).toString('base64')}`;
    for (const name of ['secret.key', 'event.key', 'log.key']) {
      await write(name, newKey);
      const { code, error } = await cli(['restore', at('copy')], 'other');
      expect([code, error]).to.deep.equal([
        1,
        `${at('other', name)} lacks lines of the one in the backup. Keep the newer one; it must still hold the older lines.\n`,
      ]);
      expect(existsSync(at('other', 'rehearsal.json'))).to.equal(false);
      await rm(at('other', name));
    }
    const signer = parseSigner((await older('log.key')).trim());
    await write('secret.key', `${newKey}\n${await older('secret.key')}`);
    await write('event.key', `${newKey}\n${(await older('event.key')).trim()}:retired`);
    await write(
      'log.key',
      `${signerText(signerFrom(signer.name, 'note', Buffer.alloc(32, 7)))}\n${vkeyOf(signer)}\n`,
    );
    await write('operator.token', 't'.repeat(32));
    const { code, out } = await cli(['restore', at('copy')], 'other');
    expect(code).to.equal(0);
    for (const name of ['secret.key', 'event.key', 'log.key', 'operator.token'])
      expect(out).to.include(`${at('other', name)} is not the backup's, and was kept.`);
    expect(out)
      .to.include(`${at('other', 'log.head')} is the backup's.`)
      .and.not.include('personal.key is not');
    expect(await readFile(at('other', 'operator.token'), 'utf8')).to.equal('t'.repeat(32));
  });

  it('takes over what its original signed later when it is promoted, and is then refused', async () => {
    const tenant = await clientsOf(await serve('data')).tenant();
    await send(tenant, 'before');
    await cli(['backup', at('copy')]);
    for (let sent = 0; sent < 4; sent++) await send(tenant, `after ${sent}`);
    await untilMoreIsSigned();
    await stop();
    expect((await cli(['restore', at('copy')], 'restored')).out).to.include("log.head is the backup's.");
    expect(await cli(['promote'], 'restored')).to.include({ code: 0 });
    expect(await head('restored')).to.equal(await head('data'));
    const failures: unknown[] = [];
    await serve('restored', (error) => void failures.push(error)).catch((error: unknown) =>
      failures.push(error),
    );
    await eventually(() => failures.length > 0);
    expect(String(failures[0])).to.match(/the log ends before event \d+; a head of \d+ events was signed/);
    expect(await head('restored')).to.equal(await head('data'));
  });

  it('takes the place of its original where it lies', async () => {
    await serve('data');
    await cli(['backup', at('copy')]);
    expect((await cli(['promote'], 'copy')).error).to.include(
      `${at('data')}, of which this is a copy, is in use`,
    );
    await stop();
    expect((await cli(['promote'], 'copy')).out).to.include(
      `${at('data')}, the service until now, is a rehearsal`,
    );
    expect(markOfDirectory(at('data'))?.why).to.equal(`it was replaced by ${at('copy')}`);
    expect(markOfDirectory(at('copy'))).to.equal(null);
  });

  it('takes the place of what replaced its original, which must not run', async () => {
    const { key } = await clientsOf(await serve('data')).tenant();
    await stop();
    for (const to of ['copy', 'later copy']) await cli(['backup', at(to)]);
    await cli(['restore', at('copy')], 'second');
    await cli(['promote'], 'second');
    const card = () => clientOf(service?.baseUrl ?? '', key)('/api/v1/cards', { body: aCard() });
    expect(await cli(['backup', at('of a rehearsal')])).to.deep.equal({
      code: 1,
      out: '',
      error: `${at('data')}: this is a rehearsal: it was replaced by ${at('second')}. Nothing was backed up: name the place of the service itself.\n`,
    });
    expect((await cli(['backup', at('copy.db')])).code).to.equal(1);
    await serve('second');
    expect((await card()).status).to.equal(201);
    await cli(['restore', at('later copy')], 'third');
    expect((await cli(['promote'], 'third')).error).to.include(
      `${at('second')}, of which this is a copy, is in use`,
    );
    expect(markOfDirectory(at('third'))).to.not.equal(null);
    await stop();
    expect((await cli(['promote'], 'third')).out).to.include(
      `${at('second')}, the service until now, is a rehearsal`,
    );
    expect(['data', 'second', 'third'].map((name) => markOfDirectory(at(name))?.why)).to.deep.equal([
      `it was replaced by ${at('second')}`,
      `it was replaced by ${at('third')}`,
      undefined,
    ]);
    expect(await head('third')).to.equal(await head('second'));
    // And back.
    expect((await cli(['promote'], 'data')).out).to.include(
      `${at('third')}, the service until now, is a rehearsal`,
    );
    expect(markOfDirectory(at('data'))).to.equal(null);
  });

  it('takes the head of its original, also where what replaced that is gone', async () => {
    await serve('data');
    await stop();
    await cli(['backup', at('copy')]);
    const { api } = await clientsOf(await serve('data')).tenant();
    expect((await api('/api/v1/cards', { body: aCard() })).status).to.equal(201);
    await stop();
    const newest = await head('data');
    await cli(['restore', at('copy')], 'second');
    await cli(['promote'], 'second');
    await rm(at('second'), { recursive: true });
    await cli(['restore', at('copy')], 'third');
    await cli(['promote'], 'third');
    expect(await head('third')).to.equal(newest);
  });

  it('is not promoted beside a service that its original was moved to', async () => {
    await serve('data');
    await stop();
    await cli(['backup', at('copy')]);
    markDirectory(at('data'), { why: 'it was moved to the event store', state: 'moved' });
    expect((await cli(['promote'], 'copy')).error).to.equal(
      `${at('data')}, of which this is a copy, is not the service: it was moved to the event store. That one would go on beside this. If it never starts again, put its newest log.head at LOG_HEAD_FILE ${at('copy/log.head')}, move ${at('data')} aside, and promote this again.\n`,
    );
    expect(markOfDirectory(at('copy'))).to.not.equal(null);
    await rename(at('data'), at('aside'));
    expect((await cli(['promote'], 'copy')).code).to.equal(0);
  });

  it('is not restored where another process is at work', async () => {
    await serve('data');
    await stop();
    await cli(['backup', at('copy')]);
    await mkdir(at('restored'), { mode: 0o700 });
    const { release } = lockDirectory(at('restored'));
    try {
      const { code, error } = await cli(['restore', at('copy')], 'restored');
      expect([code, error.includes('is in use by another process')], error).to.deep.equal([1, true]);
      expect(await readdir(at('restored'))).to.not.include('rehearsal.json');
    } finally {
      release();
    }
    expect(await cli(['restore', at('copy')], 'restored')).to.include({ code: 0, error: '' });
  });

  it('is refused without a file that the log can not go on without, by its setting', async () => {
    await serve('data');
    await stop();
    const needed = {
      'secret.key': 'SECRET_KEY_FILE',
      'personal.key': 'PERSONAL_KEY_FILE',
      'event.key': 'EVENT_KEY_FILE',
      'log.key': 'LOG_KEY_FILE',
      'log.head': 'LOG_HEAD_FILE',
      'keys.db': 'DATA_DIR',
    };
    for (const [name, setting] of Object.entries(needed)) {
      await rename(at('data', name), at('aside'));
      const { code, error } = await cli(['backup', at('copy')]);
      expect([code, error]).to.deep.equal([
        1,
        `${setting} ${at('data', name)} is not there, and without it a copy of this log can't take its place. Set what the service is started with, or restore it; a name that ends in .db backs up the events alone.\n`,
      ]);
      await rename(at('aside'), at('data', name));
      if (setting === 'DATA_DIR') continue;
      // What can't be read, without rights that root has anyway.
      const below = at('data', 'events.db', name);
      const unreadable = await cli(['backup', at('copy')], 'data', { [setting]: below });
      expect([
        unreadable.code,
        unreadable.error.startsWith(`${setting} ${below} can't be copied: `),
      ]).to.deep.equal([1, true]);
    }
    expect(existsSync(at('copy'))).to.equal(false);
    await rm(at('data', 'operator.token'));
    expect(await cli(['backup', at('copy')])).to.include({ code: 0, error: '' });
  });

  it('leaves another service alone that has its data where the original had them', async () => {
    await serve('data');
    await stop();
    await cli(['backup', at('copy')]);
    await rm(at('data'), { recursive: true });
    await send(await clientsOf(await serve('data')).tenant(), 'of another service');
    await untilMoreIsSigned();
    const own = await head('copy');
    expect((await cli(['promote'], 'copy')).out).to.include(
      'copied from, or what replaced that, never starts',
    );
    expect([markOfDirectory(at('data')), await head('copy')]).to.deep.equal([null, own]);
  });

  it('that was restored in part is not promoted until it is restored again', async () => {
    await serve('data');
    await stop();
    await cli(['backup', at('copy')]);
    // Events are copied before secret files.
    const cut = await cli(['restore', at('copy')], 'restored', { SECRET_KEY_FILE: at('none', 'secret.key') });
    expect([cut.code === 0, existsSync(at('restored', 'events.db'))]).to.deep.equal([false, true]);
    expect(await cli(['promote'], 'restored')).to.include({
      code: 1,
      error: 'This is an unfinished copy. Run `log copy`, or `restore`, again first.\n',
    });
    expect(markOfDirectory(at('data'))).to.equal(null);
    expect(await cli(['restore', at('copy')], 'restored')).to.include({ code: 0, error: '' });
    expect((await readdir(at('restored'))).filter((name) => name.endsWith('.unfinished'))).to.deep.equal([]);
    expect(await cli(['promote'], 'restored')).to.include({ code: 0, error: '' });
    await serve('restored');
  });

  it('of servers is refused where there are none', async () => {
    await mkdir(at('copy'));
    await writeFile(at('copy', 'backup.json'), '{"format":1,"position":"0","hash":null,"files":{}}');
    expect(await cli(['restore', at('copy')], 'restored')).to.include({
      code: 1,
      error: `${at('copy')} holds no events.db: it is a backup of servers. Set EVENTSTORE_URL, MONGODB_URL and RABBITMQ_URL.\n`,
    });
    expect(existsSync(at('restored'))).to.equal(false);
  });

  it('is refused by restore if it is unfinished, or not what was backed up', async () => {
    await serve('data');
    await stop();
    await cli(['backup', at('copy')]);
    await cli(['backup', at('copy.db')]);
    const refusal = async (from: string) => {
      const { code, error } = await cli(['restore', from], 'restored');
      expect(await readdir(at('restored')).catch(() => [])).to.not.include('events.db');
      return [code, error];
    };
    expect(await refusal(at('none'))).to.deep.equal([1, `There is no backup at ${at('none')}.\n`]);
    await chmod(at('copy', 'secret.key'), 0o600);
    await writeFile(at('copy', 'secret.key'), 'other');
    expect(await refusal(at('copy'))).to.deep.equal([
      1,
      `${at('copy', 'secret.key')} is missing, or not what was backed up.\n`,
    ]);
    await rm(at('copy', 'backup.json'));
    expect((await refusal(at('copy')))[1]).to.include('is no finished backup');
    const database = new DatabaseSync(at('copy.db'));
    database.exec(`update events set data = replace(data, 'Everyday', 'Nowadays') where position = 1`);
    database.close();
    expect((await refusal(at('copy.db')))[1]).to.match(/can't be restored: .*damaged at position 1/s);
  });

  it('removes a copy of a log that is damaged, and says where', async () => {
    await serve('data');
    await stop();
    const database = new DatabaseSync(at('data', 'events.db'));
    database.exec(`update events set data = replace(data, 'Everyday', 'Nowadays') where position = 1`);
    database.close();
    const { code, error } = await cli(['backup', at('copy')]);
    expect(code).to.equal(1);
    expect(error).to.match(/not usable.*position 1/s);
    expect(existsSync(at('copy'))).to.equal(false);
  });

  it('leaves nothing of a copy that could not be finished', async () => {
    await serve('data');
    await stop();
    const events = await open(at('data', 'events.db'), 'r+');
    await events.write(Buffer.alloc(4_096, 7), 0, 4_096, (await events.stat()).size - 4_096);
    await events.close();
    expect((await cli(['backup', at('copy')])).error).to.include('was removed');
    expect(existsSync(at('copy'))).to.equal(false);
  });
});
