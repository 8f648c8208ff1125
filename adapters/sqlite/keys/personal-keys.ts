import { DatabaseSync } from '@photostructure/sqlite';
import { dirname, join } from 'node:path';
import { z } from 'zod';
import {
  PersonalKeysUnavailable,
  type NumberedBlock,
  type PersonalKeys,
  type ShredderMark,
  type StoredBlock,
} from '../../../application/ports/personal-keys.js';
import { messageOf } from '../../../domain/errors.js';
import { syncFile, vacuumInto } from '../backup.js';
import { closeToOthers, inTransaction, syncDirectory, type Database } from '../database.js';
import { UnusableFile } from '../errors.js';
import type { InsideGate } from '../gate.js';
import { markFrom } from '../log/event-marks.js';

/** Readers and the writer wait for each other for moments only. */
const busyTimeout = 10_000;

const schema = `
  create table if not exists blocks (
    number integer primary key,
    version integer not null,
    wrappedBy text not null,
    iv blob not null,
    sealed blob not null
  ) strict;
  create index if not exists blocks_by_wrapper on blocks (wrappedBy);
  create table if not exists uses (number integer primary key) strict;
  create table if not exists shredder (one integer primary key check (one = 1), position integer not null, event text) strict;
`;

const Row = z.object({
  number: z.int(),
  version: z.int(),
  wrappedBy: z.string(),
  iv: z.instanceof(Uint8Array),
  sealed: z.instanceof(Uint8Array),
});

const MarkRow = z.object({ position: z.int(), event: z.string().nullable() });

/** The path of the keys' file in a data directory. */
export const keysPath = (directory: string): string => join(directory, 'keys.db');

/**
 * The keys of personal data in a file of their own, so that a copy of the log never holds them. Overwritten
 * data is overwritten with zeros, and the journal is deleted with each commit: there is no write-ahead log in
 * which an older block could be found. Throws UnusableFile.
 */
export const openPersonalKeys = (
  path: string,
  {
    readOnly = false,
    inGate = (work) => work(),
    onFailure = () => undefined,
  }: {
    readonly readOnly?: boolean;
    readonly inGate?: InsideGate;
    readonly onFailure?: (error: PersonalKeysUnavailable) => void;
  } = {},
): PersonalKeys & { readonly close: () => void } => {
  const database = inGate(() => open(path, readOnly));

  const run = async <Result>(work: () => Result): Promise<Result> => {
    try {
      return inGate(work);
    } catch (error) {
      const reason = `The keys of personal data can't be read or written: ${messageOf(error)}`;
      const failure = new PersonalKeysUnavailable(reason, { cause: error });
      onFailure(failure);
      throw failure;
    }
  };

  const change = <Result>(work: () => Result): Promise<Result> => run(() => inTransaction(database, work));

  const insert = (added: readonly NumberedBlock[]): void => {
    const statement = database.prepare('insert into blocks values (?, 1, ?, ?, ?)');
    for (const { number, wrappedBy, iv, sealed } of added) statement.run(number, wrappedBy, iv, sealed);
  };

  const blocks = (where: string, ...parameters: readonly number[]): StoredBlock[] =>
    database
      .prepare(`select * from blocks where ${where}`)
      .all(...parameters)
      .map((row: unknown) => {
        const { iv, sealed, ...block } = Row.parse(row);
        return { ...block, iv: Buffer.from(iv), sealed: Buffer.from(sealed) };
      });

  const mark = (): ShredderMark | null => {
    const found: unknown = database.prepare('select position, event from shredder').get();
    if (found === undefined) return null;
    const { position, event } = MarkRow.parse(found);
    return { position: BigInt(position), event: markFrom(event).event ?? null };
  };

  return {
    first: (make) =>
      change(() => {
        if (database.prepare('select 1 from blocks').get() === undefined) insert([{ number: 0, ...make(0) }]);
        return blocks('number = 0')[0] ?? null;
      }),
    add: (added) => change(() => insert(added)),
    load: (numbers) => run(() => numbers.flatMap((number) => blocks('number = ?', number))),
    after: (number, limit) => run(() => blocks('number > ? order by number limit ?', number, limit)),
    replace: ({ number, version, wrappedBy, iv, sealed }) =>
      run(() => {
        const { changes } = database
          .prepare(
            'update blocks set version = version + 1, wrappedBy = ?, iv = ?, sealed = ? where number = ? and version = ?',
          )
          .run(wrappedBy, iv, sealed, number, version);
        return Number(changes) === 1;
      }),
    mark: () => run(mark),
    saveMark: ({ position, event }, before, uses) =>
      change(() => {
        const use = database.prepare('insert or ignore into uses values (?)');
        for (const number of uses) use.run(number);
        if (mark()?.position !== before?.position) return false;
        database
          .prepare('insert or replace into shredder values (1, ?, ?)')
          .run(Number(position), event === null ? null : JSON.stringify(event));
        return true;
      }),
    missing: (numbers) =>
      run(() => {
        const isThere = database.prepare('select 1 from blocks where number = ?');
        const unused = numbers.filter((number) => isThere.get(number) === undefined);
        const rows: readonly { readonly number: number }[] = database
          .prepare('select number from uses where number not in (select number from blocks)')
          .all();
        return [...new Set([...unused, ...rows.map(({ number }) => number)])];
      }),
    wrappers: () =>
      run(() => {
        const rows: readonly { readonly wrappedBy: string }[] = database
          .prepare('select distinct wrappedBy from blocks')
          .all();
        return rows.map(({ wrappedBy }) => wrappedBy);
      }),
    close: () =>
      inGate(() => {
        if (database.isOpen) database.close();
      }),
  };
};

/** The end of a process that can't begin without the keys. */
export const unusableKeys = (path: string, cause: unknown): UnusableFile =>
  new UnusableFile(
    `The keys of personal data in ${path} can't be read or written: ${messageOf(cause)}. If the file is damaged, restore it from the newest backup. Without one, move it aside: then its keys are missing. (docs/incidents.md#keys-of-personal-data-are-lost)`,
    { cause },
  );

const open = (path: string, readOnly: boolean): Database => {
  const database = new DatabaseSync(path, { timeout: busyTimeout, readOnly, open: false });
  try {
    database.open();
    if (readOnly) return database;
    database.exec('pragma journal_mode = delete; pragma synchronous = full; pragma secure_delete = on');
    database.exec(schema);
  } catch (error) {
    if (database.isOpen) database.close();
    throw unusableKeys(path, error);
  }
  closeToOthers(path);
  syncDirectory(dirname(path));
  return database;
};

/**
 * Copies the file as it is at one moment, also while the service runs. The copy is durable when this returns.
 */
export const copyKeys = (from: string, to: string): void => {
  vacuumInto(from, to, busyTimeout);
  closeToOthers(to);
  syncFile(to);
};
