import { expect } from 'chai';
import { cp, mkdtemp, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { pino } from 'pino';
import { openForWriting } from '../../../adapters/sqlite/database.js';
import { openLogFile } from '../../support/fixtures/offline-log.js';
import { SystemClock } from '../../../adapters/system/clock.js';
import { SystemEntropy } from '../../../adapters/system/entropy.js';
import { runCommandLine } from '../../../bin/cli/program.js';
import { startService, type Service } from '../../../bin/wiring/service.js';
import { readSettings } from '../../../bin/settings/settings.js';
import { openNote, parseCheckpointText, parseSigner } from '../../../domain/signed-note.js';
import { aCard, clientsOf } from '../../support/http/service.js';
import { eventually } from '../../support/time/eventually.js';

describe('log accept-restore, in the embedded service,', function () {
  this.timeout(60_000);
  let folder: string;
  let directory: string;
  let service: Service | null = null;
  const failures: unknown[] = [];
  const settings = () => ({
    PORT: '0',
    DEMO: 'off',
    DATA_DIR: directory,
    LOG_ORIGIN: 'cards.example.com/log',
  });
  const serve = async (): Promise<Service> => {
    failures.length = 0;
    service = await startService({
      settings: readSettings(settings()),
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
  const cli = async (...words: readonly string[]) => {
    let [out, error] = ['', ''];
    const code = await runCommandLine([...words, '--json'], {
      environment: { ...settings(), BASE_URL: service?.baseUrl ?? '' },
      write: (text) => void (out += text),
      complain: (text) => void (error += text),
    });
    return { code, out, error };
  };
  const whole = (running: Service): Promise<number> =>
    eventually(async () => {
      const { body } = await clientsOf(running).operator('/operator/v1/anchor');
      return body['tree_size'] === Number(body['position']) ? Number(body['position']) : null;
    });
  /** The head that was signed last. */
  const head = async () => {
    const signer = parseSigner((await readFile(join(directory, 'log.key'), 'utf8')).trim());
    return parseCheckpointText(openNote(await readFile(join(directory, 'log.head'), 'utf8'), [signer]).text);
  };
  const events = async (): Promise<readonly { readonly type: string; readonly data: string }[]> => {
    const file = openLogFile(join(directory, 'events.db'));
    return file.log.readStored(0n, 10_000).finally(file.close);
  };
  const emptied = (): void => {
    const database = openForWriting(join(directory, 'events.db'));
    database.exec('delete from log_tiles; delete from log_tree; delete from log_checkpoints');
    database.close();
  };
  const restoreYesterday = async (): Promise<void> => {
    for (const name of ['events.db', 'keys.db', 'read.db'].flatMap((each) => [
      each,
      `${each}-wal`,
      `${each}-shm`,
    ])) {
      await rm(join(directory, name), { force: true });
      await cp(join(folder, 'yesterday', name), join(directory, name)).catch(() => undefined);
    }
  };

  beforeEach(async () => {
    folder = await mkdtemp(join(tmpdir(), 'cards-restored-'));
    directory = join(folder, 'today');
    await whole(await serve());
    await stop();
    await cp(directory, join(folder, 'yesterday'), { recursive: true });
    const running = await serve();
    const { api } = await clientsOf(running).tenant();
    await api('/api/v1/cards', { body: aCard() });
    await whole(running);
    await stop();
  });
  afterEach(async () => {
    await stop();
    await rm(folder, { recursive: true, force: true });
  });

  it('records which head is given up, and by whom, and lets an older copy go on; an export shows it', async () => {
    const given = await head();
    await restoreYesterday();
    const before = await events();
    const refusal = await serve().catch((error: unknown) => String(error));
    expect(refusal).to.include('log accept-restore');
    const { code, out, error } = await cli('log', 'accept-restore', '--by', 'Ada Lovelace');
    const said = { size: given.size, root: given.root.toString('base64') };
    expect([code, error, JSON.parse(out)]).to.deep.equal([0, '', { given_up: said, events: before.length }]);
    expect(await head()).to.include({ size: before.length });
    const [recorded, ...others] = (await events()).slice(before.length);
    expect([recorded?.type, JSON.parse(recorded?.data ?? ''), others]).to.deep.equal([
      'HeadGivenUp',
      { ...said, from: before.length, by: 'Ada Lovelace' },
      [],
    ]);
    const running = await serve();
    expect(await whole(running)).to.be.greaterThan(before.length);
    const file = await clientsOf(running).operator('/operator/v1/exports?from=0');
    expect([file.status, file.text.includes('HeadGivenUp'), failures]).to.deep.equal([200, true, []]);
    expect((await fetch(`${running.baseUrl}/readyz`)).status).to.equal(200);
  });

  it('begins anew where the last head is lost, and only if it is told to', async () => {
    await rm(join(directory, 'log.head'));
    emptied();
    const before = await events();
    const without = await cli('log', 'accept-restore', '--by', 'Ada');
    expect([without.code, without.error.includes('--begin-anew')]).to.deep.equal([1, true]);
    expect(await events()).to.deep.equal(before);
    const anew = await cli('log', 'accept-restore', '--by', 'Ada', '--begin-anew');
    expect([anew.code, JSON.parse(anew.out)]).to.deep.equal([0, { given_up: null, events: before.length }]);
    expect(await head()).to.include({ size: before.length });
    expect(JSON.parse((await events()).at(-1)?.data ?? '')).to.deep.equal({
      size: null,
      root: null,
      from: before.length,
      by: 'Ada',
    });
    expect(await whole(await serve())).to.be.greaterThan(before.length);
    expect(failures).to.deep.equal([]);
  });

  it('gives nothing up where the log holds the last head, and does not begin anew beside it', async () => {
    const [signed, before] = [await head(), await events()];
    for (const [more, says] of [
      [[], 'holds the head of'],
      [['--begin-anew'], 'leave --begin-anew out'],
    ] as const) {
      const { code, error } = await cli('log', 'accept-restore', '--by', 'Ada', ...more);
      expect([code, error.includes(says)], error).to.deep.equal([1, true]);
    }
    expect((await cli('log', 'accept-restore')).code).to.equal(2);
    expect([await head(), await events()]).to.deep.equal([signed, before]);
  });

  it('is refused for a log that its own checkpoints contradict: that is no older copy', async () => {
    const signed = await head();
    const database = openForWriting(join(directory, 'events.db'));
    database.exec('delete from log_tiles; delete from log_tree');
    database.exec('delete from events where position = (select max(position) from events)');
    database.close();
    const { code, error } = await cli('log', 'accept-restore', '--by', 'Ada');
    expect([code, error.includes('was signed')], error).to.deep.equal([1, true]);
    expect(await head()).to.deep.equal(signed);
    expect((await events()).some(({ type }) => type === 'HeadGivenUp')).to.equal(false);
  });

  it('needs the key of the log, and the data directory for itself', async () => {
    await serve();
    const beside = await cli('log', 'accept-restore', '--by', 'Ada');
    expect([beside.code, beside.error.includes('in use')], beside.error).to.deep.equal([1, true]);
    await stop();
    await rm(join(directory, 'log.key'));
    const without = await cli('log', 'accept-restore', '--by', 'Ada');
    expect([without.code, without.error.includes('LOG_KEY_FILE')], without.error).to.deep.equal([1, true]);
  });
});
