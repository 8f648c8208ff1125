import { closeSync, openSync, writeSync } from 'node:fs';
import { join } from 'node:path';
import { DatabaseSync } from '@photostructure/sqlite';
import { expect } from 'chai';
import { errcodeOf, resultCode, type Database } from '../../../adapters/sqlite/database.js';
import { noStream, type EventStore } from '../../../application/ports/event-store.js';
import { derivedUuid, streamName, type Instant } from '../../../domain/ids.js';
import { eventStoreContract } from '../../contract/event-store.js';
import { sealEvents } from '../../support/fixtures/seal-events.js';
import { inNewDirectory, openNew } from './setup.js';

eventStoreContract('SQLite', async () => {
  const file = await openNew();
  return { store: file.eventStore, atomic: true, idempotency: file.idempotencyStore, close: file.close };
});

const appendNotes = async (store: EventStore, count: number): Promise<void> => {
  const stream = streamName('card', 'a-card');
  const metadata = {
    org: null,
    actor: { kind: 'system', id: null },
    requestId: null,
    correlationId: 'c',
    causationId: 'c',
    schemaVersion: 1,
    occurredAt: '2026-03-01T12:00:00.000Z' as Instant,
    subject: null,
    keyId: null,
  } as const;
  const notes = Array.from({ length: count }, (_, index) => ({
    id: derivedUuid('note', index),
    type: 'Noted',
    data: { index },
    metadata,
  }));
  await store.append([{ stream, expected: noStream, events: sealEvents(stream, null, notes) }]);
};

/** How many turns everybody else had while the work was done. */
const turnsDuring = async (work: () => Promise<void>): Promise<number> => {
  let turns = 0;
  let working = true;
  const count = (): void => {
    turns += 1;
    if (working) setImmediate(count);
  };
  setImmediate(count);
  await work();
  working = false;
  return turns;
};

describe('the SQLite log', () => {
  it('gives everybody else a turn between two batches, followed or read', async () => {
    const { eventStore: store, close } = await openNew();
    try {
      await appendNotes(store, 300);
      const followed = await turnsDuring(async () => {
        let seen = 0;
        const { signal } = new AbortController();
        for await (const batch of store.follow(0n, { signal, batch: 10 }))
          if ((seen += batch.length) === 300) break;
      });
      const read = await turnsDuring(async () => {
        for (let after = 0n; after < 300n; after += 10n) await store.readLog(after, 10);
      });
      expect([followed >= 29, read >= 29], `${followed} and ${read} turns`).to.deep.equal([true, true]);
    } finally {
      await close();
    }
  });

  it('gives everybody else a turn between two batches of several followers, too', async () => {
    const { eventStore: store, close } = await openNew();
    try {
      await appendNotes(store, 300);
      const { signal } = new AbortController();
      const followOnce = async (): Promise<void> => {
        let seen = 0;
        for await (const batch of store.follow(0n, { signal, batch: 10 }))
          if ((seen += batch.length) === 300) return;
      };
      const turns = await turnsDuring(async () => {
        await Promise.all([followOnce(), followOnce(), followOnce(), followOnce()]);
      });
      expect(turns).to.be.at.least(4 * 29);
    } finally {
      await close();
    }
  });
});

describe('an error of SQLite', () => {
  const overwrite = (path: string, at: number): void => {
    const file = openSync(path, 'r+');
    writeSync(file, Buffer.alloc(4_096, 7), 0, 4_096, at);
    closeSync(file);
  };
  const failures: Readonly<Record<string, readonly [number, (database: Database, path: string) => void]>> = {
    'a missing table': [resultCode.error, (database) => database.exec('drop table notes')],
    'a file that another one locks': [
      resultCode.busy,
      (_, path) => new DatabaseSync(path).exec('begin immediate'),
    ],
    'a read-only file': [resultCode.readonly, (database) => database.exec('pragma query_only = on')],
    'damaged pages': [resultCode.corrupt, (_, path) => overwrite(path, 4_096)],
    'a full disk': [resultCode.full, (database) => database.exec('pragma max_page_count = 1')],
    'a file that is no database': [resultCode.notADatabase, (_, path) => overwrite(path, 0)],
  };
  for (const [what, [code, spoil]] of Object.entries(failures))
    it(`has the same result code from every call, for ${what}`, () =>
      inNewDirectory(async (directory) => {
        const path = join(directory, 'notes.db');
        const made = new DatabaseSync(path);
        made.exec('create table notes (text text)');
        made.close();
        const database = new DatabaseSync(path);
        const statement = database.prepare('insert into notes values (zeroblob(100000)) returning text');
        spoil(database, path);
        const calls = [
          () => statement.run(),
          () => statement.get(),
          () => statement.all(),
          () => [...statement.iterate()],
        ];
        const codes = calls.map((call) => {
          try {
            call();
            return 'no error';
          } catch (error) {
            return errcodeOf(error);
          }
        });
        expect(codes).to.deep.equal(calls.map(() => code));
        database.close();
      }));
});
