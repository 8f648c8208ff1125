import { expect } from 'chai';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { VirtualClock } from '../../support/memory/clock.js';
import { SqliteProjectionStore } from '../../../adapters/sqlite/read/projection-store.js';
import { SqliteReadModels } from '../../../adapters/sqlite/read/read-models.js';
import { projectionStoreContract } from '../../contract/projection-store.js';
import { readModelsContract, saveAll } from '../../contract/read-models.js';
import { notes, storedNote } from '../../support/fixtures/notes.js';

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

describe('the read models in SQLite', () => {
  it('parse no document again that has not changed', async () => {
    const { store, readModels, close } = await open();
    const read = async () => {
      const [listed] = await readModels.page(notes, { org: 'o', limit: 10 });
      return [listed, await readModels.get(notes, 'a')];
    };
    try {
      await saveAll(store, notes, [storedNote('a', 3, { org: 'o', text: 'first' }, 3)]);
      const [first] = await read();
      for (const again of await read()) expect(again).to.equal(first);
      await saveAll(store, notes, [storedNote('a', 3, { org: 'o', text: 'second' }, 4)]);
      for (const changed of await read()) expect(changed).not.to.equal(first);
    } finally {
      await close();
    }
  });
});
