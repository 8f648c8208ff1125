import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { SqliteSignInRecords } from '../../../adapters/sqlite/records/sign-in-records.js';
import { signInRecordsContract } from '../../contract/sign-in-records.js';
import { VirtualClock } from '../../support/memory/clock.js';
import { openDirectory } from './setup.js';

signInRecordsContract('SQLite', async () => {
  const directory = await mkdtemp(join(tmpdir(), 'cards-sqlite-'));
  const clock = new VirtualClock();
  let file = await openDirectory(directory);
  const make = () => new SqliteSignInRecords({ ...file, clock });
  return {
    records: make(),
    clock,
    reopen: async () => {
      await file.close();
      file = await openDirectory(directory);
      return make();
    },
    close: async () => {
      await file.close();
      await rm(directory, { recursive: true, force: true });
    },
  };
});
