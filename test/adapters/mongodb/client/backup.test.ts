import { expect } from 'chai';
import { mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { dumpRecords, loadRecords } from '../../../../adapters/mongodb/client/backup.js';
import { describeWithEngines } from '../../../support/runner/engines.js';
import { freshDatabase } from '../support.js';

const sources = join(import.meta.dirname, '../../../../adapters/mongodb');

/** Every collection that the adapters name. */
const named = [
  ...new Set(
    readdirSync(sources, { recursive: true, encoding: 'utf8' })
      .filter((file) => file.endsWith('.js'))
      .flatMap((file) =>
        [
          ...readFileSync(join(sources, file), 'utf8').matchAll(
            /(?:collection|indexed|#of)(?:<[^()]*?>)?\(\s*'([\w.]+)'/g,
          ),
        ].map(([, name = '']) => name),
      ),
  ),
].toSorted();
/** They are made of the log, hold for moments, or are about this copy alone. */
const notKept = [
  'artwork.unfinished',
  'builds',
  'leases',
  'log_orgs',
  'log_tiles',
  'log_tree',
  'probe',
  'rate_counters',
  'rebuild_requests',
  'rehearsal',
  'releases',
];

describeWithEngines(['MONGODB_URL'], 'a copy of what lies in MongoDB', (url) => {
  it('holds every collection of ours that can not be made again, and none of others', async () => {
    const { database, end } = freshDatabase(url);
    const folder = mkdtempSync(join(tmpdir(), 'cards-'));
    try {
      for (const name of [...named, 'documents_cards_v1_g1', 'orders', 'personal_key_photos'])
        await database.collection(name).insertOne({ name });
      const files = await dumpRecords(database, folder, { onlyKeys: false });
      const wanted = named.filter((name) => !notKept.includes(name));
      expect(files.toSorted()).to.deep.equal(wanted.map((name) => `${name}.bson`));
      expect(named).to.include.members(notKept);
      await database.collection('orders').deleteMany({});
      await loadRecords(database, folder, files);
      expect(await database.collection('orders').countDocuments({})).to.equal(0);
    } finally {
      rmSync(folder, { recursive: true });
      await end();
    }
  });
});
