import { DatabaseSync } from '@photostructure/sqlite';
import { expect } from 'chai';
import { copyFile, mkdir, mkdtemp, readdir, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { pino } from 'pino';
import { SystemClock } from '../../../adapters/system/clock.js';
import { SystemEntropy } from '../../../adapters/system/entropy.js';
import { runCommandLine } from '../../../bin/cli/program.js';
import { logKeys } from '../../../bin/settings/log-keys.js';
import { startService, type Service } from '../../../bin/wiring/service.js';
import { readSettings } from '../../../bin/settings/settings.js';
import { emptyFrontier, rootOf } from '../../../domain/merkle.js';
import {
  checkpointText,
  openNote,
  parseCheckpointText,
  parseSigner,
  parseVkey,
  signNote,
  vkeyOf,
} from '../../../domain/signed-note.js';
import { clientsOf } from '../../support/http/service.js';
import { faultOfLog } from '../../support/http/service-in.js';
import { LogWitness } from '../../support/servers/log-witness.js';
import { eventually } from '../../support/time/eventually.js';

interface TreeRow {
  readonly size: number;
  readonly roots: Uint8Array;
  readonly position: number;
}

describe('the log of the log, as the operator of an embedded service has it', function () {
  this.timeout(60_000);
  let directory: string;
  let service: Service | null = null;
  beforeEach(async () => void (directory = await mkdtemp(join(tmpdir(), 'cards-log-'))));
  afterEach(async () => {
    await stop();
    await rm(directory, { recursive: true, force: true });
  });

  const settings = (more: Readonly<Record<string, string>> = {}) => ({
    PORT: '0',
    DEMO: 'off',
    DATA_DIR: directory,
    LOG_ORIGIN: 'cards.example.com/log',
    ...more,
  });
  const failures: unknown[] = [];
  const serve = async (more: Readonly<Record<string, string>> = {}): Promise<Service> => {
    failures.length = 0;
    service = await startService({
      settings: readSettings(settings(more)),
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
  const cli = async (line: string, more: Readonly<Record<string, string>> = {}) => {
    let out = '';
    let error = '';
    const code = await runCommandLine(line.split(' '), {
      environment: settings({ BASE_URL: service?.baseUrl ?? '', ...more }),
      write: (text) => void (out += text),
      complain: (text) => void (error += text),
    });
    return { code, out, error };
  };
  /** Changes the log without the service. */
  const tamper = (sql: string): void => {
    const database = new DatabaseSync(join(directory, 'events.db'));
    database.exec(sql);
    database.close();
  };
  /** What the service ends with. */
  const damage = (): Promise<string> =>
    eventually(() => failures.map(String).find((error) => error.includes('damaged at position')) ?? null);
  /** They would tell by themselves that the log has lost its end. */
  const withoutReadModels = async (): Promise<void> => {
    for (const tail of ['', '-wal', '-shm']) await rm(join(directory, `read.db${tail}`), { force: true });
  };
  const anchored = (running: Service, least: number) =>
    eventually(async () => {
      const { body } = await clientsOf(running).operator('/operator/v1/anchor');
      return Number(body['tree_size']) >= least ? body : null;
    });

  /** A service that has signed all its events, and was stopped; how many there are. */
  const signed = async (): Promise<number> => {
    const running = await serve();
    const { body } = await clientsOf(running).operator('/operator/v1/anchor');
    const { tree_size: size } = await anchored(running, Number(body['position']));
    await stop();
    return Number(size);
  };

  it('is shown, and proved, by the command line', async () => {
    const running = await serve();
    await anchored(running, 1);
    const note = (await cli('log checkpoint')).out;
    const signer = parseSigner((await readFile(join(directory, 'log.key'), 'utf8')).trim());
    expect(signer.name).to.equal('cards.example.com/log');
    expect(openNote(note, [signer]).verified).to.have.lengthOf(1);
    expect((await clientsOf(running).anonymous('/log/key')).text).to.equal(`${vkeyOf(signer)}\n`);
    expect((await cli('log status')).out).to.include('tree_size');
    expect((await cli('log proof --stream handwriting-everyday --revision 0')).out).to.match(
      /^c2sp\.org\/tlog-proof@v1\nextra /,
    );
    const missing = await cli('log proof --stream card-none --revision 0');
    expect([missing.code, missing.error]).to.deep.equal([
      1,
      'not_found: The signed log has no such event yet.\n',
    ]);
  });

  it('is made again from the events, and agrees with what was signed', async () => {
    const events = await signed();
    tamper('delete from log_tiles; delete from log_tree');
    const { code, out } = await cli('log rebuild --json');
    expect([code, JSON.parse(out)]).to.deep.equal([0, { events }]);
    await anchored(await serve(), events);
    expect(failures).to.deep.equal([]);
  });

  for (const [fate, change] of [
    ['lost', () => 'delete from log_tree'],
    [
      'set back',
      ({ size, roots, position }) =>
        `update log_tree set size = ${size}, roots = x'${Buffer.from(roots).toString('hex')}', position = ${position}`,
    ],
  ] as const satisfies readonly (readonly [string, (before: TreeRow) => string])[])
    it(`goes on from the events where the row of its tree was ${fate}`, async () => {
      await signed();
      const database = new DatabaseSync(join(directory, 'events.db'), { readOnly: true });
      const row: unknown = database.prepare('select size, roots, position from log_tree').get();
      database.close();
      const more = async (name: string): Promise<void> => {
        const running = await serve();
        const { operator } = clientsOf(running);
        await operator('/operator/v1/organizations', { body: { name } });
        await anchored(running, Number((await operator('/operator/v1/anchor')).body['position']));
        await stop();
      };
      await more('Before');
      tamper(change(row as TreeRow));
      await more('After');
      expect(failures).to.deep.equal([]);
      expect((await cli('log rebuild')).code).to.equal(0);
    });

  it('is not made again where events were removed or changed: exit code 1, the position is named', async () => {
    const events = await signed();
    tamper(`delete from events where position = ${events}`);
    const removed = await cli('log rebuild');
    expect(removed.code).to.equal(1);
    expect(removed.error).to.include(
      `damaged at position ${events - 1}: the log ends after ${events - 1} events`,
    );
    tamper("update events set data = replace(data, ':', ': ') where position = 3");
    const changed = await cli('log rebuild');
    expect(changed.code).to.equal(1);
    expect(changed.error).to.include('damaged at position 3: its hash does not match its content');
  });

  it('ends the process if an old event was changed, and says so at every start', async () => {
    await signed();
    tamper("update events set data = replace(data, ':', ': ') where position = 3");
    for (let start = 0; start < 2; start += 1) {
      await serve();
      const [error] = await eventually(() => (failures.length > 0 ? failures : null));
      expect(error).to.include({ name: 'DamagedLog', position: 3n });
      await stop();
    }
  });

  it('goes on with LOG_ON_DAMAGE=report, shows no checkpoint, proof or export, and is not ready', async () => {
    const events = await signed();
    tamper(`update events set data = replace(data, ':', ': ') where position = ${events}`);
    const running = await serve({ LOG_ON_DAMAGE: 'report' });
    const { anonymous, operator } = clientsOf(running);
    expect(await faultOfLog(running)).to.include(`damaged at position ${events}`);
    for (const path of ['/log/checkpoint', '/log/tile/0/000.p/1'])
      expect([path, (await anonymous(path)).code]).to.deep.equal([path, 'log_damaged']);
    expect((await operator('/operator/v1/anchor')).body).to.include({ tree_size: null, checkpoint: null });
    const written = await operator('/operator/v1/organizations', { body: { name: 'Still here' } });
    expect(written.status).to.equal(201);
    for (const path of [
      '/log/proof?stream=handwriting-everyday&revision=0',
      '/exports?from=0',
      `/exports?organization=${written.id}`,
    ])
      expect([path, (await operator(`/operator/v1${path}`)).code]).to.deep.equal([path, 'log_damaged']);
    expect(failures).to.deep.equal([]);
  });

  it('leaves a checkpoint an hour in LOG_ANCHOR_DIR, which contradicts a log that lost its end, its tree and its checkpoints, and whose last signed head is an older one', async () => {
    const anchors = join(directory, 'anchors');
    await mkdir(anchors);
    const more = { LOG_ANCHOR_DIR: anchors };
    await serve(more);
    const [name = ''] = await eventually(async () => {
      const names = (await readdir(anchors)).filter((each) => each.endsWith('.checkpoint'));
      return names.length > 0 ? names : null;
    });
    expect(name).to.match(/^\d{4}-\d\d-\d\dT\d\d\.checkpoint$/);
    await stop();
    const note = await readFile(join(anchors, name), 'utf8');
    const signer = parseSigner((await readFile(join(directory, 'log.key'), 'utf8')).trim());
    const { size } = parseCheckpointText(openNote(note, [signer]).text);
    tamper(`delete from events where position >= ${size}; delete from log_checkpoints;
      delete from log_tiles; delete from log_tree`);
    await writeFile(join(anchors, '2026-01-01T00.checkpoint'), 'nobody has signed this');
    const empty = { origin: signer.name, size: 0, root: rootOf(emptyFrontier) };
    await writeFile(join(directory, 'log.head'), signNote(checkpointText(empty), [signer]));
    await withoutReadModels();
    expect((await cli('log rebuild')).code, 'without the anchors').to.equal(0);
    const rebuilt = await cli('log rebuild', more);
    expect(rebuilt.error).to.include(`a checkpoint of ${size} was signed`);
    expect(rebuilt.code).to.equal(1);
    await serve(more);
    // The start adds to the catalogue what it lacks.
    expect(await damage()).to.match(
      new RegExp(`a checkpoint of ${size} was signed|the first ${size} events do not give the root`),
    );
  });

  it('is signed by a witness of LOG_POLICY_FILE, which contradicts an older copy of the log and of its last signed head', async () => {
    const running = await serve();
    await anchored(running, 1);
    const key = (await clientsOf(running).anonymous('/log/key')).text.trim();
    await stop();
    const older = join(directory, 'older.db');
    tamper(`vacuum into '${older}'`);
    await copyFile(join(directory, 'log.head'), join(directory, 'older.head'));
    const witness = new LogWitness(parseVkey(key));
    try {
      const policy = join(directory, 'policy');
      await writeFile(policy, `log ${key}\nwitness w1 ${witness.vkey} ${await witness.start()}\nquorum w1\n`);
      const more = { LOG_POLICY_FILE: policy };
      const again = await serve(more);
      await clientsOf(again).operator('/operator/v1/organizations', { body: { name: 'One more event' } });
      const { position } = (await clientsOf(again).operator('/operator/v1/anchor')).body;
      await eventually(async () => {
        const { text } = await clientsOf(again).anonymous('/log/checkpoint');
        const size = Number(text.split('\n')[1]);
        return text.includes('witness.example.com/w1') && size >= Number(position) ? text : null;
      });
      const measured = async (of: Service) =>
        /log_witness_refuses\{witness="witness.example.com\/w1"\} \d/.exec(
          (await clientsOf(of).anonymous('/metrics')).text,
        )?.[0] ?? null;
      expect(await measured(again)).to.match(/ 0$/);
      await stop();
      for (const tail of ['', '-wal', '-shm']) await rm(join(directory, `events.db${tail}`), { force: true });
      await withoutReadModels();
      await copyFile(older, join(directory, 'events.db'));
      await copyFile(join(directory, 'older.head'), join(directory, 'log.head'));
      const signed = witness.head;
      const stale = await serve(more);
      expect(await damage()).to.match(
        /witness\.example\.com\/w1 has signed (a tree of \d+ events, and this one has \d+|another tree)/,
      );
      expect((await clientsOf(stale).anonymous('/log/checkpoint')).code).to.equal('log_damaged');
      expect((await clientsOf(stale).operator('/operator/v1/exports?from=0')).code).to.equal('log_damaged');
      const ready = await fetch(`${stale.baseUrl}/readyz`);
      expect(ready.status).to.equal(503);
      expect(await ready.text()).to.match(/"name":"log","ready":false,[^}]*witness\.example\.com/);
      expect(witness.head).to.deep.equal(signed);
      expect(await measured(stale)).to.match(/ 1$/);
    } finally {
      await witness.stop();
    }
  });

  it('goes on under another name where its key is lost: with a new one, below which the vkey of the lost one stands', async () => {
    const events = await signed();
    const lost = vkeyOf(parseSigner((await readFile(join(directory, 'log.key'), 'utf8')).trim()));
    await rm(join(directory, 'log.key'));
    const elsewhere = join(directory, 'new');
    const another = { LOG_ORIGIN: 'cards.example.com/log2' };
    logKeys(readSettings({ ...another, DATA_DIR: elsewhere }), new SystemEntropy(), true);
    const key = await readFile(join(elsewhere, 'log.key'), 'utf8');
    await writeFile(join(directory, 'log.key'), key, { mode: 0o600 });
    const without: unknown = await serve(another).catch(String);
    expect(without).to.include('No key in LOG_KEY_FILE has signed the newest checkpoint');
    await writeFile(join(directory, 'log.key'), `${key}${lost}\n`);
    const running = await serve(another);
    await clientsOf(running).operator('/operator/v1/organizations', { body: { name: 'After the loss' } });
    await anchored(running, events + 1);
    const note = (await clientsOf(running).anonymous('/log/checkpoint')).text;
    expect(openNote(note, [parseSigner(key.trim())]).text).to.match(/^cards\.example\.com\/log2\n/);
    expect(failures).to.deep.equal([]);
  });

  it('is for the operator alone with LOG_PUBLIC=off', async () => {
    const running = await serve({ LOG_PUBLIC: 'off' });
    await anchored(running, 1);
    // By itself: the document of this service differs from that of others.
    const statusOf = async (path: string, headers: Readonly<Record<string, string>> = {}) =>
      (await fetch(`${running.baseUrl}${path}`, { headers })).status;
    const authorization = `Bearer ${running.operatorToken}`;
    for (const path of ['/log/checkpoint', '/log/key', '/log/tile/0/000.p/1']) {
      expect([path, await statusOf(path)]).to.deep.equal([path, 401]);
      expect([path, await statusOf(path, { authorization })]).to.deep.equal([path, 200]);
    }
  });
});
