import { mkdir, readdir, readFile, readlink, symlink } from 'node:fs/promises';
import { join } from 'node:path';
import { expect } from 'chai';
import { headFile } from '../../../adapters/log-witness/head-file.js';
import { inNewDirectory } from '../sqlite/setup.js';

describe('the file of the last signed head', () => {
  it('is replaced where it is, also behind links, and before it is there', () =>
    inNewDirectory(async (folder) => {
      const safe = join(folder, 'safe');
      await mkdir(safe);
      await mkdir(join(folder, 'data', 'in'), { recursive: true });
      await symlink('data/in', join(folder, 'short'));
      await symlink('../../safe/log.head', join(folder, 'data', 'in', 'log.head'));
      await symlink('short/log.head', join(folder, 'log.head'));
      const file = headFile(join(folder, 'log.head'), []);
      for (const note of ['one', 'two']) {
        await file.keep(note);
        expect(await readFile(join(safe, 'log.head'), 'utf8')).to.equal(note);
        expect(await readlink(join(folder, 'log.head'))).to.equal('short/log.head');
        expect(await readlink(join(folder, 'data', 'in', 'log.head'))).to.equal('../../safe/log.head');
      }
      const plain = join(safe, 'plain');
      for (const note of ['one', 'two']) await headFile(plain, []).keep(note);
      expect(await readFile(plain, 'utf8')).to.equal('two');
      expect(await readdir(safe)).to.have.members(['log.head', 'plain']);
    }));
});
