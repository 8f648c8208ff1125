import { DatabaseSync } from '@photostructure/sqlite';
import { dirname, join } from 'node:path';
import {
  PersonalKeysUnavailable,
  type NumberedBlock,
  type PersonalKeys,
  type ShredderMark,
  type StoredBlock,
} from '../../../application/ports/personal-keys.js';
import { messageOf } from '../../../domain/errors.js';
import type { MasterKey, MasterKeys } from '../../../domain/webhook-signing.js';
import {
  closeToOthers,
  errcodeOf,
  inTransaction,
  isShut,
  rowFrom,
  rowsFrom,
  syncDirectory,
  type Database,
} from '../database.js';
import { ownership, UnusableFile } from '../errors.js';
import type { InsideGate } from '../gate.js';
import { markFrom } from '../log/event-rows.js';

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

const withBuffer = ({ key, ...rest }: MasterKey): MasterKey => ({ ...rest, key: Buffer.from(key) });

/** Master keys as a thread got them: a Buffer is sent to it as a plain array of bytes. */
export const keysOfThread = ([first, ...others]: MasterKeys): MasterKeys => [
  withBuffer(first),
  ...others.map(withBuffer),
];

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

  const blocks = (where: string, ...values: readonly number[]): StoredBlock[] =>
    rowsFrom<StoredBlock>(database.prepare(`select * from blocks where ${where}`), ...values).map(
      ({ iv, sealed, ...block }) => ({ ...block, iv: Buffer.from(iv), sealed: Buffer.from(sealed) }),
    );

  const mark = (): ShredderMark | null => {
    const select = database.prepare('select position, event from shredder');
    const found = rowFrom<{ readonly position: number; readonly event: string | null }>(select);
    return found === undefined
      ? null
      : { position: BigInt(found.position), event: markFrom(found.event).event ?? null };
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
    missing: (wanted) =>
      run(() => {
        const isThere = database.prepare('select 1 from blocks where number = ?');
        const unused = wanted.filter((number) => isThere.get(number) === undefined);
        const lost = database.prepare(
          'select number from uses where number not in (select number from blocks)',
        );
        const used = rowsFrom<{ readonly number: number }>(lost).map(({ number }) => number);
        return [...new Set([...unused, ...used])];
      }),
    wrappers: () =>
      run(() => {
        const distinct = database.prepare('select distinct wrappedBy from blocks');
        return rowsFrom<Pick<StoredBlock, 'wrappedBy'>>(distinct).map(({ wrappedBy }) => wrappedBy);
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
    `The keys of personal data in ${path} can't be read or written: ${messageOf(cause)}.${isShut(errcodeOf(cause)) ? ` ${ownership}` : ''} If the file is damaged, restore it from the newest backup. Without one, move it aside: then its keys are missing. (docs/incidents.md#keys-of-personal-data-are-lost)`,
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
