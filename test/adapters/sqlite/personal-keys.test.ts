import { expect } from 'chai';
import { mkdtemp, readdir, readFile, rm, stat } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { keysPath, openPersonalKeys } from '../../../adapters/sqlite/keys/personal-keys.js';
import { PersonalKeysUnavailable } from '../../../application/ports/personal-keys.js';
import { personalKeysContract } from '../../contract/personal-keys.js';
import { inNewDirectory } from './setup.js';

personalKeysContract('SQLite', async () => {
  const directory = await mkdtemp(join(tmpdir(), 'cards-keys-'));
  const keys = openPersonalKeys(keysPath(directory));
  const close = async () => {
    keys.close();
    await rm(directory, { recursive: true, force: true });
  };
  return { keys, close };
});

describe('the file of the personal keys', () => {
  const block = (byte: number) => ({
    wrappedBy: 'a',
    iv: Buffer.alloc(12, byte),
    sealed: Buffer.alloc(8_208, byte),
  });

  it('keeps nothing of a block that was replaced, in no file, and belongs to its owner alone', () =>
    inNewDirectory(async (directory) => {
      const keys = openPersonalKeys(keysPath(directory));
      const number = 1;
      await keys.add([{ number, ...block(0xa7) }]);
      const found = async () => {
        const names = await readdir(directory);
        const files = await Promise.all(names.map((name) => readFile(join(directory, name))));
        return files.some((bytes) => bytes.includes(Buffer.alloc(32, 0xa7)));
      };
      expect(await found()).to.equal(true);
      await keys.replace({ number, version: 1, ...block(1) });
      expect(await found()).to.equal(false);
      expect((await stat(keysPath(directory))).mode & 0o777).to.equal(0o600);
      keys.close();
    }));

  it('is read by a second connection, and keeps its blocks', () =>
    inNewDirectory(async (directory) => {
      const keys = openPersonalKeys(keysPath(directory));
      const reader = openPersonalKeys(keysPath(directory), { readOnly: true });
      const number = 1;
      await keys.add([{ number, ...block(3) }]);
      expect(await reader.load([number])).to.deep.equal([{ number, version: 1, ...block(3) }]);
      let refused: unknown = null;
      await reader.add([{ number: 2, ...block(4) }]).catch((error: unknown) => (refused = error));
      expect(refused).to.be.instanceOf(PersonalKeysUnavailable);
      reader.close();
      keys.close();
      const again = openPersonalKeys(keysPath(directory));
      expect(await again.load([number])).to.deep.equal([{ number, version: 1, ...block(3) }]);
      again.close();
    }));
});
