import { DatabaseSync } from '@photostructure/sqlite';
import { expect } from 'chai';
import { mkdirSync, mkdtempSync, rmSync, statSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { VirtualClock } from '../../support/memory/clock.js';
import { sqliteProjectionStore } from '../../../adapters/sqlite/read/projection-store.js';
import { sqliteReadModels } from '../../../adapters/sqlite/read/read-models.js';
import { projectionStoreContract } from '../../contract/projection-store.js';
import { readModelsContract, saveAll } from '../../contract/read-models.js';
import { counts, notes, storedNote } from '../../support/fixtures/notes.js';

const open = async () => {
  const directory = mkdtempSync(join(tmpdir(), 'read-models-'));
  const path = join(directory, 'read.db');
  const clock = new VirtualClock();
  const store = sqliteProjectionStore({ path });
  const readModels = sqliteReadModels({ path, clock });
  return {
    directory,
    path,
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

describe('the file of the projection store in SQLite', () => {
  const tables = (path: string): readonly unknown[] => {
    const database = new DatabaseSync(path);
    const names = "select name from sqlite_master where type = 'table' and name <> 'builds' order by name";
    const rows = database.prepare(names).all();
    database.close();
    return rows.map(({ name }) => name);
  };

  it('stays as it is if a rebuild begins while a build is being removed', async () => {
    const { store, path, close } = await open();
    try {
      const documents = Array.from({ length: 1_200 }, (_, at) => storedNote(`n${at}`, at + 1, { org: 'o' }));
      await saveAll(store, notes, documents);
      await store.active(counts);
      await store.activate(notes, (await store.startBuild(notes)).generation);
      await store.tidy();
      const tidied = store.tidy();
      await store.startBuild(notes);
      await tidied;
      expect(tables(path)).to.deep.equal(['counts_v1_g1', 'notes_v1_g2', 'notes_v1_g3']);
    } finally {
      await close();
    }
  });

  it('holds no build for long that nothing feeds after a start', async () => {
    const { store, path, close } = await open();
    try {
      await saveAll(store, notes, [storedNote('a', 1, { org: 'o' })]);
      await store.active(counts);
      await store.startBuild(notes);
      const later = { ...notes, version: 2 };
      const ofAnotherShape = { ...later, indexes: {}, across: [] };
      await store.active(later);
      await store.active(ofAnotherShape);
      store.close();

      const upgraded = sqliteProjectionStore({ path });
      upgraded.keep([later, counts]);
      for (const _ of [1, 2]) await upgraded.tidy();
      expect(tables(path)).to.deep.equal(['counts_v1_g1', 'notes_v1_g1', 'notes_v2_g3']);
      upgraded.close();

      const back = sqliteProjectionStore({ path });
      back.keep([notes]);
      for (const _ of [1, 2]) await back.tidy();
      expect(tables(path)).to.deep.equal(['notes_v1_g1']);
      back.close();
    } finally {
      await close();
    }
  });

  it('is not written to at length when a start finds a build that nothing feeds', async () => {
    const { store, path, close } = await open();
    try {
      await saveAll(store, notes, [storedNote('a', 1, { org: 'o' })]);
      const { generation } = await store.startBuild(notes);
      const documents = Array.from({ length: 5_000 }, (_, at) => storedNote(`n${at}`, at + 1, { org: 'o' }));
      await store.save([{ projection: notes, generation, documents, checkpoint: 5_000n }]);
      store.close();
      const next = sqliteProjectionStore({ path });
      next.keep([notes]);
      expect(statSync(`${path}-wal`).size).to.be.below(64 * 1024);
      next.close();
    } finally {
      await close();
    }
  });

  it('is begun again by the next use if it could not be made', async () => {
    const { store, path, directory, close } = await open();
    try {
      await saveAll(store, notes, [storedNote('a', 1, { org: 'o' })]);
      const database = new DatabaseSync(path);
      database.exec('drop table builds');
      database.close();
      rmSync(directory, { recursive: true });
      for (const _ of [1, 2])
        expect(await store.active(notes).catch((error: unknown) => error)).to.be.an('error');
      mkdirSync(directory);
      expect(await store.active(notes)).to.deep.equal({ generation: 1, checkpoint: 0n });
    } finally {
      await close();
    }
  });
});
