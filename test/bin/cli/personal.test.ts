import { DatabaseSync } from '@photostructure/sqlite';
import { expect } from 'chai';
import { copyFileSync, existsSync, readFileSync, writeFileSync } from 'node:fs';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { pino } from 'pino';
import { keysPath, openPersonalKeys } from '../../../adapters/sqlite/keys/personal-keys.js';
import { SystemClock } from '../../../adapters/system/clock.js';
import { SystemEntropy } from '../../../adapters/system/entropy.js';
import { keyRing, MissingPersonalKey, type KeyRing } from '../../../application/personal/key-ring.js';
import type { RawEvent } from '../../../application/log/hash-chain.js';
import { runCommandLine } from '../../../bin/cli/program.js';
import { masterKeys } from '../../../bin/secret-files.js';
import { startService, type Service } from '../../../bin/service.js';
import { readSettings } from '../../../bin/settings.js';
import { streamName } from '../../../domain/ids.js';
import { olderChain, olderEvent, olderFile } from '../../support/fixtures/older-file.js';
import { clientsOf } from '../../support/http/service.js';
import { eventually } from '../../support/time/eventually.js';

const code = 'HC-7K3M9QX';
const org = '6c0f6a3e-0000-4000-8000-000000000001';
/** A cancelled card, and its organization. */
const older = (): RawEvent[] => [
  olderEvent(streamName('organization', org), 'OrganizationCreated', { name: 'Acme', houseHand: 'Everyday' }),
  ...olderChain('version-1'),
];

describe('personal data on the command line', function () {
  this.timeout(60_000);
  let directory: string;
  let service: Service | null = null;
  beforeEach(async () => void (directory = await mkdtemp(join(tmpdir(), 'cards-personal-'))));
  afterEach(async () => {
    await stop();
    await rm(directory, { recursive: true, force: true });
  });

  const settings = () => ({
    PORT: '0',
    DEMO: 'off',
    DATA_DIR: directory,
    LOG_ORIGIN: 'cards.example.com/log',
  });
  const failures: unknown[] = [];
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
  const cli = async (...args: readonly string[]) => {
    let out = '';
    let error = '';
    const exit = await runCommandLine(args, {
      environment: { ...settings(), BASE_URL: service?.baseUrl ?? '' },
      write: (text) => void (out += text),
      complain: (text) => void (error += text),
    });
    return { exit, out, error };
  };
  const at = (name: string): string => join(directory, name);
  const stored = (): string =>
    ['events.db', 'events.db-wal']
      .filter((name) => existsSync(at(name)))
      .map((name) => readFileSync(at(name), 'latin1'))
      .join('');

  /** What the stand-alone verifier says of the card and its personal data, once all of it is signed. */
  const verified = async (running: Service, name: string, ...more: readonly string[]): Promise<string> => {
    const { anonymous, operator } = clientsOf(running);
    const key = (await anonymous('/log/key')).text.trim();
    await eventually(async () => {
      const { body } = await operator('/operator/v1/anchor');
      return Number(body['tree_size']) === Number(body['position']) ? body : null;
    });
    const taken = await cli('export', 'card', code, '--out', at(name), '--personal', 'include');
    expect(taken.error).to.equal('');
    expect(taken.exit).to.equal(0);
    const { exit, out } = await cli('log', 'verify', at(name), '--key', key, ...more);
    expect([exit, out.trimEnd().split('\n').at(-1)], out).to.deep.equal([0, 'VERIFIED']);
    return /personal data is what was recorded: (.*)/.exec(out)?.[1] ?? '';
  };
  const shown = async (): Promise<string> => (await cli('card', 'show', code, '--json')).out;

  it('that version 1 left in the clear is sealed offline: hashes and proofs stay, and it can be erased', async () => {
    olderFile(directory, older());
    const running = await serve();
    expect(await verified(running, 'before')).to.match(/^1 shown/);
    const note = (await clientsOf(running).anonymous('/log/checkpoint')).text;
    await writeFile(at('anchor'), note);
    const early = await cli('personal', 'seal');
    expect([early.exit, early.error.includes(directory)], early.error).to.deep.equal([1, true]);
    await stop();
    expect(stored()).to.include('Analytical');
    const sealed = await cli('personal', 'seal', '--json');
    expect([sealed.exit, JSON.parse(sealed.out)]).to.deep.equal([0, { sealed: 1, erased: 0 }]);
    expect(JSON.parse((await cli('personal', 'seal', '--json')).out)).to.deep.equal({ sealed: 0, erased: 0 });
    expect(stored()).to.not.include('Analytical');
    await rm(at('read.db'), { force: true });

    const again = await serve();
    expect(await eventually(async () => ((await shown()).includes('Ada Lovelace') ? true : null))).to.equal(
      true,
    );
    const size = /\n(\d+)\n/.exec(note)?.[1] ?? '';
    const key = (await clientsOf(again).anonymous('/log/key')).text.trim();
    await cli('export', 'card', code, '--out', at('since'), '--since', size);
    const since = await cli('log', 'verify', at('since'), '--key', key, '--anchor', at('anchor'));
    expect([since.exit, since.out.includes('VERIFIED')], since.out).to.deep.equal([0, true]);
    expect(await verified(again, 'after')).to.match(/^1 shown/);

    expect((await cli('erase', 'card', code, '--org', org, '--reason', 'asked')).error).to.equal('');
    await eventually(async () => {
      const keys = openPersonalKeys(keysPath(directory), { readOnly: true });
      try {
        return (await keys.mark()) === null ? null : true;
      } finally {
        keys.close();
      }
    });
    expect(await shown()).to.not.include('Ada Lovelace');
    expect(await verified(again, 'erased')).to.match(/^0 shown/);
    expect(failures).to.deep.equal([]);
  });

  it('of a card that was erased before can’t be opened once it is sealed', async () => {
    olderFile(directory, older());
    await serve();
    expect((await cli('erase', 'card', code, '--org', org, '--reason', 'asked')).error).to.equal('');
    await stop();
    const sealed = await cli('personal', 'seal', '--json');
    expect([sealed.exit, JSON.parse(sealed.out)]).to.deep.equal([0, { sealed: 0, erased: 1 }]);
    expect(stored()).to.not.include('Analytical');
    expect(await verified(await serve(), 'erased')).to.match(/^0 shown/);
  });

  it('is not sealed if it is not what was recorded: exit code 1, the position is named', async () => {
    olderFile(directory, older());
    const database = new DatabaseSync(at('events.db'));
    database.exec("update events set personal = replace(personal, 'Ada', 'Eve') where position = 2");
    database.close();
    const { exit, error } = await cli('personal', 'seal');
    expect([exit, error.includes('damaged at position 2')], error).to.deep.equal([1, true]);
    expect(stored()).to.include('Eve Lovelace');
  });

  it('opens with the new line of PERSONAL_KEY_FILE alone once its keys are rotated; older copies of the keys do not', async () => {
    const [entropy, clock] = [new SystemEntropy(), new SystemClock()];
    const path = at('personal.key');
    const ringOver = (file: string): KeyRing & { readonly close: () => void } => {
      const store = openPersonalKeys(file);
      const masters = masterKeys(path, entropy, true, 'PERSONAL_KEY_FILE');
      return { ...keyRing({ store, masters, clock, entropy }), close: store.close };
    };
    const before = ringOver(keysPath(directory));
    await before.ready();
    const keys = Array.from({ length: 300 }, () => before.next());
    const [gone] = keys;
    await before.ready();
    await before.destroy([gone?.id ?? '']);
    before.close();
    copyFileSync(keysPath(directory), at('older.db'));
    const lines = readFileSync(path, 'utf8');
    const newer = `newest:${Buffer.alloc(32, 7).toString('base64')}\n`;
    writeFileSync(path, `${newer}${lines}`, { mode: 0o600 });

    const { exit, out } = await cli('personal', 'rotate', '--json');
    const rotated = JSON.parse(out) as { readonly wrapped: number };
    expect([exit, rotated]).to.deep.equal([0, { newest: 'newest', wrapped: rotated.wrapped, unreadable: 0 }]);
    expect(rotated.wrapped).to.be.at.least(2);
    expect(JSON.parse((await cli('personal', 'rotate', '--json')).out)).to.include({ wrapped: 0 });

    writeFileSync(path, newer, { mode: 0o600 });
    const after = ringOver(keysPath(directory));
    await after.load(keys.map(({ id }) => id));
    expect(keys.map(({ id }) => after.keyOf(id)?.toString('hex') ?? null)).to.deep.equal(
      keys.map(({ key }, index) => (index === 0 ? null : key.toString('hex'))),
    );
    after.close();
    const old = ringOver(at('older.db'));
    const refused = await old.load(['1.1']).catch((error: unknown) => error);
    expect(refused).to.be.instanceOf(MissingPersonalKey);
    old.close();
  });
});
