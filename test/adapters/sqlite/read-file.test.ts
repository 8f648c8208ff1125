import { DatabaseSync } from '@photostructure/sqlite';
import { keysPath, openPersonalKeys } from '../../../adapters/sqlite/keys/personal-keys.js';
import { mkdtempSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect } from 'chai';
import { FinalError } from '../../../domain/errors.js';
import { numberFrom, type Database } from '../../../adapters/sqlite/database.js';
import { CheckpointPastHead } from '../../../adapters/sqlite/errors.js';
import { openEventsFile, type EventsFile } from '../../../adapters/sqlite/log/events-file.js';
import { sqliteProjectionStore } from '../../../adapters/sqlite/read/projection-store.js';
import {
  openReadFile,
  type ReadFile,
  type ReadFileOptions,
} from '../../../adapters/sqlite/read/read-file.js';
import { SystemClock } from '../../../adapters/system/clock.js';
import { ReadModelsUnavailable } from '../../../application/ports/read-models.js';
import { currentReadModels } from '../../../application/projecting/read-your-writes.js';
import { eventually } from '../../support/time/eventually.js';
import {
  counts,
  noteEvent,
  notes,
  noteStream,
  storedNote,
  type NoteChange,
} from '../../support/fixtures/notes.js';
import { sealEvents } from '../../support/fixtures/seal-events.js';

const clock = new SystemClock();

const fail = (error: Error): void => {
  throw error;
};

const inDirectory = async (run: (directory: string) => Promise<void>): Promise<void> => {
  const directory = mkdtempSync(join(tmpdir(), 'read-file-'));
  try {
    await run(directory);
  } finally {
    rmSync(directory, { recursive: true });
  }
};

/** A file of keys without a key: the notes hold no personal data. */
const noKeys = (directory: string): ReadFileOptions['keys'] => {
  openPersonalKeys(keysPath(directory)).close();
  return { path: keysPath(directory), masters: [{ id: 'a', key: Buffer.alloc(32, 1) }] };
};

const opened = async (
  directory: string,
  run: (events: EventsFile, file: ReadFile) => Promise<void>,
  thread = new URL('../../support/fixtures/notes-thread.js', import.meta.url),
): Promise<void> => {
  const events = await openEventsFile({ directory, clock, onUnknownOutcome: fail, onDamage: fail });
  try {
    const file = await openReadFile({
      directory,
      log: events.shared,
      keys: noKeys(directory),
      clock,
      thread,
      fail,
    });
    try {
      await run(events, file);
    } finally {
      await file.close();
    }
  } finally {
    await events.close();
  }
};

/** Works on read.db without the service. */
const onReadFile = <Result>(directory: string, work: (database: Database) => Result): Result => {
  const database = new DatabaseSync(join(directory, 'read.db'), { timeout: 1_000 });
  try {
    return work(database);
  } finally {
    database.close();
  }
};

const write = async (
  { eventStore }: EventsFile,
  id: string,
  revision: number,
  change: NoteChange,
): Promise<bigint> => {
  const stream = noteStream(id);
  const last = await eventStore.readLast(stream);
  const before = last && { revision: last.revision, hash: last.metadata.hash };
  const events = sealEvents(stream, before, [noteEvent(id, revision, change)]);
  const [outcome] = await eventStore.append([{ stream, expected: revision - 1, events }]);
  if (outcome?.kind !== 'appended') throw new Error(`not appended: ${outcome?.kind}`);
  return outcome.position;
};

const checkpoints = (file: ReadFile) => file.status().projections.map(({ checkpoint }) => checkpoint);

const caughtUp = (events: EventsFile, file: ReadFile) =>
  eventually(async () => {
    const { position } = await events.eventStore.head();
    return checkpoints(file).length > 0 && checkpoints(file).every((checkpoint) => checkpoint === position);
  });

/** The queries as the service makes them: each waits for what was committed before it. */
const queries = ({ readModels, readYourWrites }: ReadFile) => currentReadModels(readModels, readYourWrites);

const textsOf = async (file: ReadFile, id: string) =>
  (await queries(file).get(notes, id))?.document.texts ?? null;

describe('the file of the read models', () => {
  it('shows what was committed before the query, and makes no write wait for that', () =>
    inDirectory((directory) =>
      opened(directory, async (events, file) => {
        await caughtUp(events, file);
        for (let revision = 0; revision < 50; revision++) {
          await write(events, 'a', revision, { org: 'o', text: String(revision) });
          expect((await textsOf(file, 'a'))?.at(-1)).to.equal(String(revision));
        }
        expect(file.status().down).to.equal(null);
      }),
    ));

  it('goes on from its checkpoint after a restart', () =>
    inDirectory(async (directory) => {
      await opened(directory, async (events, file) => {
        await write(events, 'a', 0, { org: 'o', text: '1' });
        await caughtUp(events, file);
      });
      await opened(directory, async (events, file) => {
        expect(await textsOf(file, 'a')).to.deep.equal(['1']);
        expect(checkpoints(file)).to.deep.equal([1n, 1n]);
        await write(events, 'a', 1, { text: '2' });
        expect(await textsOf(file, 'a')).to.deep.equal(['1', '2']);
      });
    }));

  it('is made again if it is missing or damaged', () =>
    inDirectory(async (directory) => {
      const path = join(directory, 'read.db');
      await opened(directory, async (events) => void (await write(events, 'a', 0, { org: 'o', text: '1' })));
      const damages = [
        () => rmSync(path),
        () => writeFileSync(path, 'no database'),
        () => writeFileSync(path, Buffer.alloc(statSync(path).size, 'x')),
        () => writeFileSync(path, Buffer.alloc(statSync(path).size - 4_096, 7), { flag: 'r+' }),
      ];
      for (const damage of damages) {
        damage();
        await opened(directory, async (events, file) => {
          await caughtUp(events, file);
          expect(await textsOf(file, 'a')).to.deep.equal(['1']);
        });
      }
    }));

  it('is made again if a reader finds damage', () =>
    inDirectory(async (directory) => {
      const path = join(directory, 'read.db');
      await opened(directory, async (events, file) => {
        for (let number = 0; number < 60; number++)
          await write(events, `n${number}`, 0, { org: 'o', text: 'x'.repeat(2_000) });
        await caughtUp(events, file);
      });
      writeFileSync(
        path,
        readFileSync(path)
          .toString('latin1')
          .replaceAll('x'.repeat(1_000), `"${'y'.repeat(999)}`),
        'latin1',
      );
      await opened(directory, async (events, file) => {
        await caughtUp(events, file);
        const error: unknown = await queries(file)
          .page(notes, { org: 'o', limit: 60 })
          .catch((refusal: unknown) => refusal);
        expect(error).to.be.instanceOf(ReadModelsUnavailable);
        const rows = await eventually(async () => {
          const page = await queries(file).page(notes, { org: 'o', limit: 60 });
          return page.length === 60 ? page : null;
        });
        expect(new Set(rows.flatMap(({ document }) => document.texts))).to.deep.equal(
          new Set(['x'.repeat(2_000)]),
        );
        await write(events, 'n0', 1, { text: 'later' });
        expect((await textsOf(file, 'n0'))?.at(-1)).to.equal('later');
      });
    }));

  it('is made again if it lacks a table, whether a query or the projector finds that', () =>
    inDirectory(async (directory) => {
      await opened(directory, async (events, file) => {
        await write(events, 'a', 0, { org: 'o', text: '0' });
        await caughtUp(events, file);
      });
      for (const [at, table] of ['notes_v1_g1', 'counts_v1_g1', 'builds'].entries()) {
        onReadFile(directory, (database) => database.exec(`drop table ${table}`));
        await opened(directory, async (events, file) => {
          await eventually(async () => (await textsOf(file, 'a').catch(() => null))?.length === at + 1);
          await write(events, 'a', at + 1, { text: String(at + 1) });
          await caughtUp(events, file);
          await eventually(async () => (await queries(file).get(counts, 'a'))?.document.count === at + 2);
        });
      }
    }));

  it('is made again if it loses a table, or pages, that queries have read', () =>
    inDirectory((directory) =>
      opened(directory, async (events, file) => {
        const path = join(directory, 'read.db');
        for (let number = 0; number < 60; number++)
          await write(events, `n${number}`, 0, { org: 'o', text: 'x'.repeat(2_000) });
        const readAll = async () => {
          for (let number = 0; number < 60; number++)
            if ((await queries(file).get(notes, `n${number}`)) === null) return false;
          return true;
        };
        const changed = (sql: string): void =>
          onReadFile(directory, (database) => database.exec(`${sql}; pragma wal_checkpoint(truncate)`));
        const spoils = [
          () => changed('drop table notes_v1_g1'),
          () => {
            changed('vacuum');
            const pages = statSync(path).size / 4_096;
            const whole = readFileSync(path);
            writeFileSync(path, whole.fill(7, Math.floor(pages / 3) * 4_096, Math.floor(pages / 2) * 4_096));
          },
        ];
        for (const spoil of spoils) {
          await eventually(() => readAll().catch(() => false));
          spoil();
          const error: unknown = await readAll().catch((refusal: unknown) => refusal);
          expect(error).to.be.instanceOf(ReadModelsUnavailable);
        }
        await eventually(() => readAll().catch(() => false));
      }),
    ));

  it('is made again if it is found damaged while no thread runs', () => {
    const program = `
      import { parentPort } from 'node:worker_threads';
      parentPort.on('message', ({ kind }) => { if (kind === 'rebuild') throw new Error('this thread dies'); });
      await import(${JSON.stringify(new URL('../../support/fixtures/notes-thread.js', import.meta.url))});`;
    return inDirectory((directory) =>
      opened(
        directory,
        async (events, file) => {
          await write(events, 'a', 0, { org: 'o', text: '1' });
          expect(await textsOf(file, 'a')).to.deep.equal(['1']);
          await file.rebuild('notes');
          await eventually(() => file.status().down === 'this thread dies');
          onReadFile(directory, (database) => database.exec("update notes_v1_g1 set document = 'damaged'"));
          const error: unknown = await file.readModels.get(notes, 'a').catch((refusal: unknown) => refusal);
          expect(error).to.be.instanceOf(ReadModelsUnavailable);
          await eventually(async () => (await textsOf(file, 'a').catch(() => null))?.[0] === '1');
        },
        new URL(`data:text/javascript,${encodeURIComponent(program)}`),
      ),
    );
  });

  it('is projected again without a new event if its tidying finds damage', () =>
    inDirectory((directory) =>
      opened(directory, async (events, file) => {
        await write(events, 'a', 0, { org: 'o', text: '1' });
        await caughtUp(events, file);
        onReadFile(directory, (database) => database.exec('drop table builds'));
        const projected = "select count(*) from builds where state = 'active' and checkpoint = 1";
        await eventually(
          () => onReadFile(directory, (database) => numberFrom(database.prepare(projected))) === 2,
        );
        expect(await textsOf(file, 'a')).to.deep.equal(['1']);
      }),
    ));

  it('rebuilds a projection while it serves queries, and refuses an unknown name', () =>
    inDirectory((directory) =>
      opened(directory, async (events, file) => {
        for (let number = 0; number < 200; number++)
          await write(events, `n${number % 20}`, Math.floor(number / 20), { org: 'o', text: String(number) });
        await caughtUp(events, file);
        const before = await queries(file).page(notes, { org: 'o', limit: 50 });
        expect(before.length).to.equal(20);
        expect(await file.rebuild('nobody')).to.equal(false);
        const statuses: (bigint | null | undefined)[] = [];
        expect(await file.rebuild('notes')).to.equal(true);
        await write(events, 'live', 0, { org: 'o' });
        await eventually(() => {
          statuses.push(file.status().projections.find(({ name }) => name === 'notes')?.rebuilding);
          return statuses.at(-1) === null;
        });
        const after = await queries(file).page(notes, { org: 'o', limit: 50 });
        expect(after.slice(1)).to.deep.equal(before);
        expect(after[0]?.key).to.equal('live');
        await write(events, 'n1', 10, { text: 'later' });
        expect((await textsOf(file, 'n1'))?.at(-1)).to.equal('later');
      }),
    ));

  it('refuses to start if a projection is past the head of the log, and names both positions', () =>
    inDirectory(async (directory) => {
      await opened(directory, async (events) => void (await write(events, 'a', 0, { org: 'o' })));
      const store = sqliteProjectionStore({ path: join(directory, 'read.db') });
      const { generation } = await store.active(notes);
      await store.save([{ projection: notes, generation, documents: [storedNote('z', 7)], checkpoint: 7n }]);
      store.close();
      const error: unknown = await opened(directory, () => Promise.resolve()).catch(
        (refusal: unknown) => refusal,
      );
      expect(error).to.be.instanceOf(CheckpointPastHead);
      expect(error).to.include({ checkpoint: 7n, head: 1n });
    }));

  it('ends the process if another event stands at its checkpoint, and names both', () =>
    inDirectory(async (directory) => {
      await opened(directory, async (events, file) => {
        await write(events, 'a', 0, { org: 'o', text: '1' });
        await caughtUp(events, file);
      });
      for (const suffix of ['', '-wal', '-shm'])
        rmSync(join(directory, `events.db${suffix}`), { force: true });
      const failures: Error[] = [];
      const events = await openEventsFile({ directory, clock, onUnknownOutcome: fail, onDamage: fail });
      await write(events, 'b', 0, { org: 'o', text: 'of another log' });
      const file = await openReadFile({
        directory,
        log: events.shared,
        keys: noKeys(directory),
        clock,
        thread: new URL('../../support/fixtures/notes-thread.js', import.meta.url),
        fail: (error) => failures.push(error),
      });
      await eventually(() => failures.length > 0);
      await file.close();
      await events.close();
      expect(failures[0]).to.be.instanceOf(FinalError);
      expect(failures[0]?.message).to.match(
        /^The projection notes has read up to position 1, event \S+, but the event log has event \S+ there: it is another log/,
      );
    }));

  it('reports why its thread ended', () =>
    inDirectory((directory) =>
      opened(
        directory,
        async (_, file) => {
          expect(file.status().down).to.equal('this thread dies');
        },
        new URL('data:text/javascript,throw new Error("this thread dies")'),
      ),
    ));
});
