import { DatabaseSync } from '@photostructure/sqlite';
import { expect } from 'chai';
import { chmodSync, mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { checkCopy, copyKeys } from '../../../adapters/sqlite/backup.js';
import { unusableKeys } from '../../../adapters/sqlite/keys/personal-keys.js';
import { markOfDirectory } from '../../../bin/settings/rehearsal-mark.js';
import { readIfExists } from '../../../bin/settings/secret-files.js';
import { explain } from '../../../bin/wiring/exit.js';
import { messageOf } from '../../../domain/errors.js';
import { inNewDirectory } from '../../adapters/sqlite/setup.js';

const refusalOf = (work: () => unknown): ReturnType<typeof explain> => {
  try {
    work();
  } catch (error) {
    return explain(error);
  }
  throw new Error('it was done');
};

/** Root may read everything. */
const asAnotherUser = <Result>(work: () => Result): Result => {
  const isRoot = process.geteuid?.() === 0;
  if (isRoot) process.seteuid?.(65_534);
  try {
    return work();
  } finally {
    if (isRoot) process.seteuid?.(0);
  }
};

describe('a file that another user has made', () => {
  for (const [name, read, advice] of [
    ['rehearsal.json', markOfDirectory, ': run the command line as that user, too.'],
    [
      'secret.key',
      (directory: string) => readIfExists(join(directory, 'secret.key')),
      ', or be readable by its group (mode 0440).',
    ],
  ] as const)
    it(`is named, with advice: ${name}`, () =>
      inNewDirectory(async (directory) => {
        chmodSync(directory, 0o755);
        const path = join(directory, name);
        writeFileSync(path, '{}', { mode: 0 });
        const { code, message } = asAnotherUser(() => refusalOf(() => read(directory)));
        expect(code).to.equal(78);
        expect(message).to.equal(
          `${path} can't be read: EACCES: permission denied, open '${path}'. It must belong to the service's user${advice}`,
        );
      }));

  it('is not said to be damaged where it holds the keys of personal data', () => {
    expect(
      messageOf(
        unusableKeys('keys.db', Object.assign(new Error('unable to open database file'), { errcode: 14 })),
      ),
    ).to.match(
      /unable to open database file\. It must belong to the service's user: .*\. If the file is damaged/,
    );
  });
});

describe('a database that can not be opened where it lies', () => {
  it('is named, with what to do', () =>
    inNewDirectory(async (directory) => {
      const path = join(directory, 'events.db');
      const database = new DatabaseSync(path);
      database.exec('pragma journal_mode = wal; create table t (a)');
      database.close();
      // Where SQLite would make a file.
      mkdirSync(`${path}-wal`);
      for (const work of [() => checkCopy(path), () => copyKeys(path, join(directory, 'to.db'))]) {
        const { code, message } = refusalOf(work);
        expect(code).to.equal(78);
        expect(message).to.equal(
          `${path} can't be used: unable to open database file. It must belong to the service's user: run the command line as that user, too. Its folder must be writable: copy a read-only snapshot first.`,
        );
      }
    }));
});
