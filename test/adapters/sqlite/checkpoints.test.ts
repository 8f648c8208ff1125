import { expect } from 'chai';
import { Instant, Uuid } from '../../../domain/ids.js';
import { inNewDirectory, openDirectory } from './setup.js';
import { sqliteCheckpoints } from '../../../adapters/sqlite/records/records.js';

const event = { id: Uuid.parse('an-id'), hash: 'a hash', at: Instant.parse('2026-03-01T12:00:00.000Z') };

describe('the checkpoints of the events file', () => {
  it('keep position, event, state and since when work is open, and are never taken back', () =>
    inNewDirectory(async (directory) => {
      for (let start = 0; start < 2; start += 1) {
        const file = await openDirectory(directory);
        try {
          const checkpoints = sqliteCheckpoints(file);
          expect(await checkpoints.load('none')).to.equal(null);
          await checkpoints.save('relay', { position: 9n, event, state: null });
          await checkpoints.save('relay', { position: 8n, state: 'late' });
          expect(await checkpoints.load('relay')).to.deep.equal({ position: 9n, event, state: null });
          await checkpoints.save('reconciler', { position: 3n, openSince: 1_000, state: [] });
          expect(await checkpoints.all()).to.deep.equal([
            { name: 'reconciler', position: 3n, openSince: 1_000 },
            { name: 'relay', position: 9n, event },
          ]);
        } finally {
          await file.close();
        }
      }
    }));
});
