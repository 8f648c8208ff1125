import { expect } from 'chai';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { DatabaseSync } from '@photostructure/sqlite';
import { MongoDatabase } from '../../adapters/mongodb/database.js';
import { migrate } from '../../bin/migrate.js';
import { describeWithEngines } from '../support/runner/engines.js';
import { freshUrl } from '../adapters/mongodb/support.js';
import { SystemClock } from '../../adapters/system/clock.js';

const clock = new SystemClock();

const linesOf = async (settings: { readonly dataDir: string; readonly mongoUrl: string | null }) => {
  const lines: string[] = [];
  await migrate({ settings, clock, say: (line) => lines.push(line) });
  return lines.map((line) => line.replace(/[\d.]+ s\b/, '0 s'));
};
const done = 'Everything is as this version needs it, after 0 s. Start it now.';

describe('npm start -- migrate', () => {
  let dataDir: string;
  before(() => {
    dataDir = mkdtempSync(join(tmpdir(), 'card-migrate-'));
  });
  after(() => rmSync(dataDir, { recursive: true, force: true }));

  it('tells which indexes it makes in the data directory, and when it has ended', async () => {
    const embedded = { dataDir, mongoUrl: null };
    expect(await linesOf(embedded)).to.deep.equal([`There are no data in ${dataDir} yet: nothing to do.`]);
    const database = new DatabaseSync(join(dataDir, 'events.db'));
    database.exec(
      'create table idempotency_keys (org text, key text, body text, code text, accepted_at integer, primary key (org, key))',
    );
    database.close();
    expect(await linesOf(embedded)).to.deep.equal([
      'Making the index idempotency_keys_by_age of idempotency_keys (0 rows) ...',
      done,
    ]);
    expect(await linesOf(embedded)).to.deep.equal([done]);
  });

  describeWithEngines(['MONGODB_URL'], 'with MongoDB', (url) => {
    it('makes the indexes there', async () => {
      const mongoUrl = freshUrl(url);
      expect(await linesOf({ dataDir, mongoUrl })).to.deep.equal([done]);
      const database = new MongoDatabase(mongoUrl, clock);
      const indexes = await database.collection('deliveries').indexes();
      await database.dropAll();
      await database.close();
      expect(indexes.map(({ name }) => name)).to.include('of_endpoint');
    });
  });
});
