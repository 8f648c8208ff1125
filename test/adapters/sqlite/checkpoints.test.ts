import { DatabaseSync } from '@photostructure/sqlite';
import { expect } from 'chai';
import { join } from 'node:path';
import { SqliteCheckpoints } from '../../../adapters/sqlite/records/checkpoints.js';
import { Instant, Uuid } from '../../../domain/ids.js';
import { inNewDirectory, openDirectory } from './setup.js';

const event = { id: Uuid.parse('an-id'), hash: 'a hash', at: Instant.parse('2026-03-01T12:00:00.000Z') };

describe('the checkpoints of the events file', () => {
  it('keep position, event and state, are never taken back, and read what an older version saved', () =>
    inNewDirectory(async (directory) => {
      const old = new DatabaseSync(join(directory, 'events.db'));
      old.exec(`
        create table checkpoints (name text primary key, position integer not null, state text not null) strict, without rowid;
        insert into checkpoints values ('relay', 7, '{"rebuiltTo":"0"}');
      `);
      old.close();
      for (let start = 0; start < 2; start += 1) {
        const file = await openDirectory(directory);
        try {
          const checkpoints = new SqliteCheckpoints(file.writer, file.database);
          expect(await checkpoints.load('none')).to.equal(null);
          if (start === 0)
            expect(await checkpoints.load('relay')).to.deep.equal({
              position: 7n,
              state: { rebuiltTo: '0' },
            });
          await checkpoints.save('relay', { position: 9n, event, state: null });
          await checkpoints.save('relay', { position: 8n, state: 'late' });
          expect(await checkpoints.load('relay')).to.deep.equal({ position: 9n, event, state: null });
        } finally {
          await file.close();
        }
      }
    }));
});
