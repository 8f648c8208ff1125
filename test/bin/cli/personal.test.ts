import { expect } from 'chai';
import { copyFileSync, readFileSync, writeFileSync } from 'node:fs';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { keysPath, openPersonalKeys } from '../../../adapters/sqlite/keys/personal-keys.js';
import { SystemClock } from '../../../adapters/system/clock.js';
import { SystemEntropy } from '../../../adapters/system/entropy.js';
import { keyRing, MissingPersonalKey, type KeyRing } from '../../../application/personal/key-ring.js';
import { masterKeys } from '../../../bin/settings/secret-files.js';
import { command } from '../../support/servers/programs.js';

describe('personal data on the command line', () => {
  let directory: string;
  beforeEach(async () => void (directory = await mkdtemp(join(tmpdir(), 'cards-personal-'))));
  afterEach(() => rm(directory, { recursive: true, force: true }));

  const at = (name: string): string => join(directory, name);
  const cli = (...args: readonly string[]) => command(args, { DATA_DIR: directory });

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

    const { code, out } = await cli('personal', 'rotate', '--json');
    const rotated = JSON.parse(out) as { readonly wrapped: number };
    expect([code, rotated]).to.deep.equal([0, { newest: 'newest', wrapped: rotated.wrapped, unreadable: 0 }]);
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
    const refused = await old.load([keys[1]?.id ?? '']).catch((error: unknown) => error);
    expect(refused).to.be.instanceOf(MissingPersonalKey);
    old.close();
  });

  it('is nowhere to be given up where DATA_DIR holds no log', async () => {
    const { code, error } = await cli('personal', 'give-up', '--by', 'Ada');
    expect([code, error]).to.deep.equal([1, `There is no ${at('events.db')}. Set DATA_DIR.\n`]);
  });
});
