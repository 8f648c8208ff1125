import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { VirtualClock } from '../../support/memory/clock.js';
import { SqliteProjectionStore } from '../../../adapters/sqlite/read/projection-store.js';
import { SqliteReadModels } from '../../../adapters/sqlite/read/read-models.js';
import { projectionStoreContract } from '../../contract/projection-store.js';
import { readModelsContract } from '../../contract/read-models.js';

const open = async () => {
  const directory = mkdtempSync(join(tmpdir(), 'read-models-'));
  const path = join(directory, 'read.db');
  const clock = new VirtualClock();
  const store = new SqliteProjectionStore({ path });
  const readModels = new SqliteReadModels({ path, clock });
  return {
    directory,
    store,
    readModels,
    later: () => clock.advance(5_000),
    close: async () => {
      readModels.close();
      store.close();
      rmSync(directory, { recursive: true });
    },
  };
};

readModelsContract('SQLite', open);
projectionStoreContract('SQLite', open);
