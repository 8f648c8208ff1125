import { open, readFile, stat, truncate, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { DatabaseSync } from '@photostructure/sqlite';
import { expect } from 'chai';
import { openForReading } from '../../../adapters/sqlite/database.js';
import { DamagedLog } from '../../../application/log/damaged-log.js';
import { CheckpointPastHead } from '../../../adapters/sqlite/errors.js';
import { logChecker } from '../../../adapters/sqlite/verification/log-checker.js';
import { assertNotPast } from '../../../adapters/sqlite/verification/verification.js';
import { openEventsFile } from '../../../adapters/sqlite/log/events-file.js';
import { standingClock } from '../../support/time/standing-clock.js';
import { eventually } from '../../support/time/eventually.js';
import { appendNotes, noteStream, notes } from './notes.js';
import { inNewDirectory, openDirectory, start } from './setup.js';

/**
 * A closed directory with three streams that take turns: positions 1 to 30, ten events per stream. No event
 * is marked as read back.
 */
const written = async (directory: string): Promise<string> => {
  const file = await openDirectory(directory);
  const hashes: (string | null)[] = [null, null, null];
  for (let position = 1; position <= 30; position += 1) {
    const which = position % 3;
    const stream = noteStream(which);
    const revision = Math.ceil(position / 3) - 1;
    const events = notes(
      stream,
      `${position}`,
      [{ text: `the text of ${position}`, personal: { name: `name ${position}` } }],
      hashes[which] === null ? null : { revision: revision - 1, hash: hashes[which] ?? '' },
    );
    expect(await file.eventStore.append([{ stream, expected: revision - 1, events }])).to.deep.equal([
      { kind: 'appended', position: BigInt(position) },
    ]);
    hashes[which] = events[0]?.metadata.hash ?? null;
  }
  await file.close();
  const path = join(directory, 'events.db');
  tamper(path, 'delete from log_tiles; delete from log_tree');
  return path;
};

/** Changes the file without the service. */
const tamper = (path: string, sql: string): void => {
  const database = new DatabaseSync(path);
  database.exec(sql);
  database.exec('pragma wal_checkpoint(truncate)');
  database.close();
};

/** Says that events were notarized, so that the start does not read them back. */
const notarizedUpTo = (position: number): string =>
  `insert or replace into log_tree (id, size, roots, position, epoch) values (1, ${position}, x'', ${position}, 0)`;

const flipByte = async (path: string, text: string): Promise<void> => {
  const offset = (await readFile(path)).indexOf(text);
  if (offset < 0) throw new Error(`${text} is not in the file`);
  const file = await open(path, 'r+');
  await file.write(Buffer.from([text.charCodeAt(0) ^ 1]), 0, 1, offset);
  await file.close();
};

/** Overwrites the page that holds the text. */
const spoilPage = async (path: string, text: string): Promise<void> => {
  const offset = (await readFile(path)).indexOf(text);
  if (offset < 0) throw new Error(`${text} is not in the file`);
  const file = await open(path, 'r+');
  await file.write(Buffer.alloc(4_096, 7), 0, 4_096, offset - (offset % 4_096));
  await file.close();
};

/** The error that the start throws, or null. */
const startError = async (directory: string): Promise<unknown> => {
  let refused: unknown = null;
  await openDirectory(directory).then(
    (file) => file.close(),
    (error: unknown) => (refused = error),
  );
  return refused;
};

const isDamaged = (path: string): boolean => {
  const database = openForReading(path);
  try {
    return logChecker(database)(0, 100) !== 30;
  } catch (error) {
    if (error instanceof DamagedLog) return true;
    throw error;
  } finally {
    database.close();
  }
};

const expectDamageAt = (error: unknown, position: bigint): void => {
  expect(error).to.be.instanceOf(DamagedLog);
  expect(error).to.have.property('position', position);
  expect(error).to.have.property('message').that.includes(`position ${position}`);
};

describe('the check of the log', () => {
  it('finds no damage in an intact log', () =>
    inNewDirectory(async (directory) => {
      const path = await written(directory);
      expect(await startError(directory)).to.equal(null);
      const database = openForReading(path);
      const check = logChecker(database);
      expect([check(0, 7), check(7, 100), check(30, 100)]).to.deep.equal([7, 30, 30]);
      database.close();
    }));

  for (const [what, sql] of [
    ['changed data', `update events set data = replace(data, 'text', 'test') where position = 17`],
    [
      'changed metadata',
      `update events set metadata = replace(metadata, 'system', 'hook') where position = 17`,
    ],
    [
      'a changed hash',
      `update events set metadata = replace(metadata, '"hash":"', '"hash":"0') where position = 17`,
    ],
    [
      'changed personal data',
      `update events set personal = replace(personal, 'name 17', 'name 18') where position = 17`,
    ],
    ['a changed type', `update events set type = 'Denied' where position = 17`],
    ['a changed id', `update events set id = 'another' where position = 17`],
    ['a missing event', `delete from events where position = 17`],
    [
      'events of one stream that changed places',
      `update events set position = 99 where position = 17; update events set position = 17 where position = 20; update events set position = 20 where position = 99`,
    ],
    [
      'a renamed stream',
      `update events set stream = 'card-note-x' where stream = (select stream from events where position = 17) and position >= 17`,
    ],
  ] as const)
    it(`refuses the start and names the position of ${what}`, () =>
      inNewDirectory(async (directory) => {
        tamper(await written(directory), sql);
        expectDamageAt(await startError(directory), 17n);
      }));

  it('refuses the start if a byte of the file was flipped', () =>
    inNewDirectory(async (directory) => {
      await flipByte(await written(directory), 'the text of 23');
      expectDamageAt(await startError(directory), 23n);
    }));

  it('refuses the start if a page in the middle of the file was overwritten', () =>
    inNewDirectory(async (directory) => {
      await spoilPage(await written(directory), 'the text of 12');
      expect(await startError(directory)).to.be.instanceOf(DamagedLog);
    }));

  it('finds every flipped byte in the name of a stream, in rows and in the index', () =>
    inNewDirectory(async (directory) => {
      const whole = await readFile(await written(directory));
      const copy = join(directory, 'copy.db');
      let found = 0;
      for (let at = whole.indexOf(noteStream(2)); at >= 0; at = whole.indexOf(noteStream(2), at + 1)) {
        const flipped = Buffer.from(whole);
        flipped[at] = (flipped[at] ?? 0) ^ 1;
        await writeFile(copy, flipped);
        if (isDamaged(copy)) found += 1;
      }
      expect(found).to.be.at.least(20);
    }));

  it('reads the events that were notarized back in the background', () =>
    inNewDirectory(async (directory) => {
      const path = await written(directory);
      tamper(path, notarizedUpTo(30));
      const whole = await openDirectory(directory);
      await whole.verified;
      expect(whole.damage).to.deep.equal([]);
      await whole.close();

      tamper(path, `update events set data = replace(data, 'text', 'test') where position = 12`);
      const damaged = await openDirectory(directory);
      const [found] = await eventually(() => (damaged.damage.length > 0 ? damaged.damage : null));
      expectDamageAt(found, 12n);
      await damaged.close();
    }));

  it('finds damage of the tree over the log', () =>
    inNewDirectory(async (directory) => {
      const path = await written(directory);
      const whole = await openDirectory(directory);
      await whole.verified;
      await whole.close();
      const database = openForReading(path);
      const { rootpage }: { readonly rootpage?: number } =
        database.prepare("select rootpage from sqlite_master where name = 'log_tiles'").get() ?? {};
      database.close();
      const file = await open(path, 'r+');
      await file.write(Buffer.alloc(4_096, 7), 0, 4_096, ((rootpage ?? 0) - 1) * 4_096);
      await file.close();

      const damaged = await openDirectory(directory);
      const [found] = await eventually(() => (damaged.damage.length > 0 ? damaged.damage : null));
      expect(found).to.have.property('reason', "the log's tiles can't be read");
      await damaged.close();
    }));

  it('keeps how far the log is notarized, so that the next start has less to read', () =>
    inNewDirectory(async (directory) => {
      await written(directory);
      const file = await openDirectory(directory);
      await file.verified;
      expect(await file.tiles.tree()).to.include({ size: 30, position: 30n });
      await file.close();
    }));

  it('opens a damaged log for whoever must go on, and says where it is damaged', () =>
    inNewDirectory(async (directory) => {
      tamper(
        await written(directory),
        `update events set data = replace(data, 'text', 'test') where position = 12`,
      );
      const damage: DamagedLog[] = [];
      const file = await openEventsFile({
        directory,
        clock: standingClock(start),
        onDamage: (error) => damage.push(error),
        onUnknownOutcome: (error) => expect.fail(error.message),
        opensDamaged: true,
      });
      expectDamageAt(damage[0], 12n);
      expect(await file.tiles.damage()).to.have.property('position', 12n);
      expect(await file.eventStore.readStream(noteStream(1), 9)).to.have.lengthOf(1);
      await file.close();
    }));

  it('refuses the start if the file was shortened', () =>
    inNewDirectory(async (directory) => {
      const path = await written(directory);
      const { size } = await stat(path);
      await truncate(path, size - 4096);
      const error = await startError(directory);
      expect(error).to.be.instanceOf(DamagedLog);
      expect(error).to.have.property('reason').that.includes('shorter');
    }));

  it('refuses the start if the file is no database', () =>
    inNewDirectory(async (directory) => {
      const path = await written(directory);
      const file = await open(path, 'r+');
      await file.write(Buffer.alloc(100, 7), 0, 100, 0);
      await file.close();
      expect(await startError(directory)).to.be.instanceOf(DamagedLog);
    }));

  it('refuses the start if events are missing that were read back before', () =>
    inNewDirectory(async (directory) => {
      const path = await written(directory);
      tamper(path, `${notarizedUpTo(30)}; delete from events where position > 25`);
      const error = await startError(directory);
      expect(error).to.be.instanceOf(CheckpointPastHead);
      expect(error).to.include({ checkpoint: 30n, head: 25n });
    }));

  it('reports a damaged row that is read while the service runs, with its position', () =>
    inNewDirectory(async (directory) => {
      const file = await openDirectory(directory);
      await appendNotes(file.eventStore, 3);
      tamper(join(directory, 'events.db'), `update events set data = 'x' where position = 2`);
      await file.eventStore.readStream(noteStream(1), 0).then(
        () => expect.fail('a damaged row was read'),
        (error: unknown) => expect(error).to.have.property('name', 'EventStoreUnavailable'),
      );
      expect(file.damage[0]).to.include({ name: 'DamagedLog', position: 2n });
      await file.close();
    }));

  it('reports a damaged page that is read while the service runs, by events or as they are stored', () =>
    inNewDirectory(async (directory) => {
      const path = await written(directory);
      tamper(path, notarizedUpTo(30));
      await spoilPage(path, 'the text of 12');
      const file = await openDirectory(directory, { isNotarized: false });
      const errorOf = (read: Promise<unknown>) => read.catch((error: unknown) => error);
      expect(await errorOf(file.eventStore.readLog(0n, 30))).to.have.property(
        'name',
        'EventStoreUnavailable',
      );
      expect(file.damage[0]).to.be.instanceOf(DamagedLog);
      expect(await errorOf(file.raw.readStored(0n, 30))).to.be.instanceOf(DamagedLog);
      await file.close();
    }));
});

describe('checkpoints', () => {
  it('may be at the head of the log or before it', () => {
    for (const position of [3, 10]) expect(() => assertNotPast(10n, 'cards', position)).not.to.throw();
  });

  it('may not be past the head of the log: both positions are named', () => {
    expect(() => assertNotPast(10n, 'contacts', 12))
      .to.throw(CheckpointPastHead)
      .that.includes({ reader: 'contacts', checkpoint: 12n, head: 10n })
      .and.has.property('message')
      .that.matches(/12.*10/);
  });
});
