import { expect } from 'chai';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { sqliteImportRecords, sqliteSignInRecords } from '../../../adapters/sqlite/records/records.js';
import { recordsContract } from '../../contract/records.js';
import { VirtualClock } from '../../support/memory/clock.js';
import { openDirectory, openNew, type OpenedFile } from './setup.js';

type Make<Port> = (options: OpenedFile & { readonly clock: VirtualClock }) => Port;

const inDirectory =
  <Port>(make: Make<Port>) =>
  async () => {
    const directory = await mkdtemp(join(tmpdir(), 'cards-sqlite-'));
    const clock = new VirtualClock();
    let file = await openDirectory(directory);
    return {
      records: make({ ...file, clock }),
      clock,
      reopen: async () => {
        await file.close();
        file = await openDirectory(directory);
        return make({ ...file, clock });
      },
      close: async () => {
        await file.close();
        await rm(directory, { recursive: true, force: true });
      },
    };
  };

recordsContract('signing in, in SQLite', ['session', 'link', 'form'], inDirectory(sqliteSignInRecords));
recordsContract(
  'imports, in SQLite',
  ['import', 'import-part', 'import-bad'],
  inDirectory(sqliteImportRecords),
);

describe('records of two ports in one file', () => {
  it('are removed by their own port alone, once they have ended', async () => {
    const file = await openNew();
    const clock = new VirtualClock();
    const [signIns, imports] = [
      sqliteSignInRecords({ ...file, clock }),
      sqliteImportRecords({ ...file, clock }),
    ];
    const rest = { id: 'a', owner: 'ada', data: {}, ends: clock.now() + 1 };
    await signIns.add({ kind: 'form', ...rest });
    await imports.add({ kind: 'import', ...rest });
    await clock.advance(1);
    const left = () => file.database.prepare('select kind from sign_in_records').all();
    await signIns.removeEnded();
    expect(left()).to.deep.equal([{ kind: 'import' }]);
    await imports.removeEnded();
    expect(left()).to.deep.equal([]);
    await file.close();
  });

  it('lie where older versions of the service kept all of them', async () => {
    const file = await openNew();
    const clock = new VirtualClock();
    await sqliteImportRecords({ ...file, clock }).add({
      kind: 'import-part',
      id: 'an-upload 00000000',
      owner: 'an-upload',
      data: { rows: [] },
      ends: null,
    });
    expect(file.database.prepare('select * from sign_in_records').all()).to.deep.equal([
      {
        kind: 'import-part',
        id: 'an-upload 00000000',
        owner: 'an-upload',
        data: '{"rows":[]}',
        ends: null,
        version: 0,
      },
    ]);
    await file.close();
  });
});
