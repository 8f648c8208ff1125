import { DatabaseSync } from '@photostructure/sqlite';
import { expect } from 'chai';
import { chmod, copyFile, mkdir, mkdtemp, readdir, readFile, rm, stat, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { pino } from 'pino';
import { SystemClock } from '../../../adapters/system/clock.js';
import { SystemEntropy } from '../../../adapters/system/entropy.js';
import { runCommandLine } from '../../../bin/cli/program.js';
import { startService, type Service } from '../../../bin/wiring/service.js';
import { readSettings } from '../../../bin/settings/settings.js';
import { run } from '../../support/servers/programs.js';
import { aCard, clientOf, clientsOf, type Tenant } from '../../support/http/service.js';
import { UnusableSecretFile } from '../../../bin/settings/secret-files.js';

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
  const serve = async (folder: string): Promise<Service> => {
    service = await startService({
      settings: readSettings(settingsIn(folder)),
      role: 'all',
      clock: new SystemClock(),
      entropy: new SystemEntropy(),
      log: pino({ level: 'silent' }),
      fail: (error) => {
        throw error;
      },
    });
    return service;
  };
  const stop = async (): Promise<void> => {
    await service?.stop();
    service = null;
  };
  const cli = async (args: readonly string[], folder = 'data') => {
    let out = '';
    let error = '';
    const code = await runCommandLine(args, {
      environment: settingsIn(folder),
      write: (text) => void (out += text),
      complain: (text) => void (error += text),
    });
    return { code, out, error };
  };
  const at = (...names: string[]): string => join(directory, ...names);
  const send = async ({ api }: Tenant, key: string): Promise<string> =>
    (await api('/api/v1/cards', { body: aCard(), headers: { 'idempotency-key': key } })).id;

  it('holds every card that was acknowledged before it began, while the service goes on, and can be restored', async () => {
    const running = await serve('data');
    const tenant = await clientsOf(running).tenant({ credits: 1_000_000, requestsPerMinute: 1_000_000 });
    const before: string[] = [];
    for (let at = 0; at < 20; at++) before.push(await send(tenant, `before ${at}`));
    let isOver = false;
    const going = (async () => {
      let sent = 0;
      for (; !isOver; sent++) expect(await send(tenant, `during ${sent}`)).to.match(/^HC-/);
      return sent;
    })();
    const made = await run('cli', ['backup', at('copy'), '--json'], settingsIn('data'));
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
    expect(await cli(['promote'], 'restored')).to.include({ code: 0, error: '' });
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
    const operator = clientOf(again.baseUrl, again.operatorToken);
    const anchor = (await operator('/operator/v1/anchor')).body;
    expect([anchor['position'], anchor['hash']]).to.deep.equal([position, hash]);
  });

  it('can be one file, without the secrets', async () => {
    await serve('data');
    expect((await cli(['backup', at('copy.db')])).code).to.equal(0);
    await stop();
    expect(await cli(['restore', at('copy.db')], 'restored')).to.include({ code: 0, error: '' });
    expect((await readdir(at('restored'))).toSorted()).to.deep.equal(['events.db', 'rehearsal.json']);
    expect(await serve('restored').catch((error: unknown) => error)).to.be.instanceOf(UnusableSecretFile);
    for (const name of ['event.key', 'log.key', 'log.head'])
      await copyFile(at('data', name), at('restored', name));
    await serve('restored');
  });

  it('replaces nothing: neither another backup nor data', async () => {
    await serve('data');
    await stop();
    await cli(['backup', at('copy')]);
    for (const to of [at('copy'), at('copy', 'events.db')]) {
      const { code, error } = await cli(['backup', to]);
      expect([code, error]).to.deep.equal([
        1,
        `${to} already exists. Name a new one: a backup never replaces another.\n`,
      ]);
    }
    expect((await cli(['restore', at('copy')])).error).to.include('holds data already');
    await mkdir(at('other'), { mode: 0o700 });
    await writeFile(at('other', 'secret.key'), 'another', { mode: 0o600 });
    const { code, error } = await cli(['restore', at('copy')], 'other');
    expect([code, error.includes('is another file than the one in the backup')]).to.deep.equal([1, true]);
    expect(await readFile(at('other', 'secret.key'), 'utf8')).to.equal('another');
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
    expect(await readdir(at('copy'))).to.deep.equal([]);
  });
});
