import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { SqliteHookCalls } from '../../../adapters/sqlite/records/hook-calls.js';
import { hookCallsContract } from '../../contract/hook-calls.js';
import { openDirectory } from './setup.js';

hookCallsContract('SQLite', async () => {
  const directory = await mkdtemp(join(tmpdir(), 'cards-sqlite-'));
  let file = await openDirectory(directory);
  return {
    calls: new SqliteHookCalls(file),
    reopen: async () => {
      await file.close();
      file = await openDirectory(directory);
      return new SqliteHookCalls(file);
    },
    close: async () => {
      await file.close();
      await rm(directory, { recursive: true, force: true });
    },
  };
});
