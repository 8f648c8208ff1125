import { expect } from 'chai';
import { DatabaseSync } from '@photostructure/sqlite';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { openEventsFile } from '../../../adapters/sqlite/log/events-file.js';
import type { Database } from '../../../adapters/sqlite/database.js';
import { DataDirectoryInUse } from '../../../adapters/sqlite/errors.js';
import { migrateDirectory } from '../../../adapters/sqlite/migrate.js';
import { SystemClock } from '../../../adapters/system/clock.js';

const fail = (error: Error): never => {
  throw error;
};

describe('the data directory of an older version', () => {
  let directory: string;
  beforeEach(() => {
    directory = mkdtempSync(join(tmpdir(), 'card-migrate-'));
  });
  afterEach(() => rmSync(directory, { recursive: true, force: true }));

  const open = () =>
    openEventsFile({ directory, clock: new SystemClock(), onUnknownOutcome: fail, onDamage: fail });
  const inFile = <T>(work: (database: Database) => T): T => {
    const database = new DatabaseSync(join(directory, 'events.db'));
    try {
      return work(database);
    } finally {
      database.close();
    }
  };
  const schema = () =>
    inFile((database) => database.prepare('select name, sql from sqlite_master order by name').all());
  const reportsOf = () => {
    const reports: object[] = [];
    return { done: migrateDirectory(directory, (index) => reports.push(index)), reports };
  };

  it('gets the indexes and columns that it lacks, and names each index that is made', async () => {
    expect(reportsOf()).to.deep.equal({ done: false, reports: [] });
    await (await open()).close();
    const today = schema();
    inFile((database) => {
      database.exec(`
        insert into deliveries (id, org, endpoint, event, type, card, position, occurred_at, body, status, allowed, expires)
          values ('dlv_1', 'o', 'e', 'evt_1', 'card.created', 'HC-1', 1, 1, '{}', 'pending', 6, 1);
        drop index deliveries_of_cards;
        drop index deliveries_dead;
        drop index hook_calls_by_hook;
        alter table deliveries drop column ended_at;
        alter table deliveries drop column traceparent;`);
    });
    expect(reportsOf()).to.deep.equal({
      done: true,
      reports: [
        { table: 'deliveries', name: 'deliveries_of_cards', rows: 1 },
        { table: 'deliveries', name: 'deliveries_dead', rows: 1 },
        { table: 'hook_calls', name: 'hook_calls_by_hook', rows: 0 },
      ],
    });
    expect(schema()).to.deep.equal(today);
    expect(reportsOf()).to.deep.equal({ done: true, reports: [] });
  });

  it('is refused while a service runs on it', async () => {
    const running = await open();
    try {
      expect(() => reportsOf()).to.throw(DataDirectoryInUse);
    } finally {
      await running.close();
    }
  });
});
