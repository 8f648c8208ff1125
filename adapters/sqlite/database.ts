import { DatabaseSync } from '@photostructure/sqlite';
import { chmodSync, closeSync, existsSync, fsyncSync, mkdirSync, openSync, rmSync, statSync } from 'node:fs';
import { dirname, join, resolve } from 'node:path';
import { FinalError, messageOf } from '../../domain/errors.js';
import type { Milliseconds } from '../../domain/ids.js';
import { DataDirectoryInUse, ownership, reasonOf, UnusableFile } from './errors.js';

export type Database = InstanceType<typeof DatabaseSync>;
export type Statement = ReturnType<Database['prepare']>;

export type SqlValue = string | number | bigint | null;

/** The rows of a query, whose columns the caller names. */
export const rowsFrom = <Row>(statement: Statement, ...values: readonly SqlValue[]): readonly Row[] => {
  const rows: readonly Row[] = statement.all(...values);
  return rows;
};

/** The first of these rows. */
export const rowFrom = <Row>(statement: Statement, ...values: readonly SqlValue[]): Row | undefined => {
  const row: Row | undefined = statement.get(...values);
  return row;
};

/** The result of a query for one number, or null if it finds none. */
export const numberFrom = (statement: Statement, ...values: readonly SqlValue[]): number | null => {
  const [value] = Object.values(rowFrom<Readonly<Record<string, unknown>>>(statement, ...values) ?? {});
  return typeof value === 'number' ? value : null;
};

/** A query whose rows are arrays of their columns. */
export const prepareArrays = (database: Database, sql: string): Statement => {
  const statement = database.prepare(sql);
  statement.setReturnArrays(true);
  return statement;
};

/** All of the work is stored, or nothing of it. */
export const inTransaction = <Result>(database: Database, work: () => Result): Result => {
  database.exec('begin immediate');
  try {
    const result = work();
    database.exec('commit');
    return result;
  } catch (error) {
    // A full disk has rolled it back already.
    if (database.isTransaction) database.exec('rollback');
    throw error;
  }
};

/** The SQLite result codes that matter here. An extended code has the primary code in its low byte. */
export const resultCode = {
  error: 1,
  locked: 6,
  busy: 5,
  readonly: 8,
  ioError: 10,
  corrupt: 11,
  full: 13,
  cannotOpen: 14,
  constraint: 19,
  mismatch: 20,
  notADatabase: 26,
  ioErrorWrite: 10 | (3 << 8),
} as const;

/** SQLite's texts for result codes. */
const codeOfText: readonly (readonly [RegExp, number])[] = [
  [/^no such table/, resultCode.error],
  [/^database is locked$/, resultCode.busy],
  [/^attempt to write a readonly database$/, resultCode.readonly],
  [/^disk I\/O error$/, resultCode.ioError],
  [/^database disk image is malformed$/, resultCode.corrupt],
  [/^database or disk is full$/, resultCode.full],
  [/^unable to open database file$/, resultCode.cannotOpen],
  [/^file is not a database$/, resultCode.notADatabase],
];

/**
 * The result code of an error of SQLite, extended where it is known, or null for any other error. Errors of
 * `.all()` and `.iterate()` have only a text. (docs/engines.md#sqlite)
 */
export const errcodeOf = (error: unknown): number | null => {
  if (!(error instanceof Error)) return null;
  if ('errcode' in error && typeof error.errcode === 'number') return error.errcode;
  if (!('code' in error) || error.code !== 'ERR_SQLITE_ERROR') return null;
  return codeOfText.find(([text]) => text.test(error.message))?.[1] ?? null;
};

const isOneOf = (errcode: number | null, primaryCodes: readonly number[]): boolean =>
  errcode !== null && primaryCodes.includes(errcode & 0xff);

/** Whether the file's content can't be read as a database. */
export const isDamage = (errcode: number | null): boolean =>
  isOneOf(errcode, [resultCode.corrupt, resultCode.notADatabase]);

/** Whether the statement was at fault, not the disk. */
export const isStatementError = (errcode: number): boolean =>
  isOneOf(errcode, [resultCode.error, resultCode.constraint, resultCode.mismatch]);

/**
 * Whether a commit that failed with this code left nothing behind. A transaction becomes valid with the last
 * frame that is written; these errors come before it.
 */
export const isCertainlyUnwritten = (errcode: number | null): boolean =>
  isOneOf(errcode, [resultCode.full, resultCode.readonly]) || errcode === resultCode.ioErrorWrite;

/** Whether this process may not open a file, or not write it. */
export const isShut = (errcode: number | null): boolean =>
  isOneOf(errcode, [resultCode.cannotOpen, resultCode.readonly]);

/** A full or failing disk may be well again at the next start; anything else is for a person to mend. */
export const cannotOpen = (path: string, reason: string, errcode: number | null): FinalError =>
  isOneOf(errcode, [resultCode.full, resultCode.ioError])
    ? new FinalError(`${path} can't be written: ${reason} Free some space on its disk, and start again.`)
    : new UnusableFile(
        `${path} can't be used: ${reason}${isShut(errcode) ? ` ${ownership} Its folder must be writable: copy a read-only snapshot first.` : ''}`,
      );

/** Does the work on a file, which the error names if it can't be opened. Throws UnusableFile. */
export const naming = <Result>(path: string, work: () => Result): Result => {
  try {
    return work();
  } catch (error) {
    const errcode = errcodeOf(error);
    throw isShut(errcode) ? cannotOpen(path, `${messageOf(error)}.`, errcode) : error;
  }
};

/** Whether a file is there. Throws UnusableFile if this process may not know. */
export const isThere = (path: string): boolean => {
  try {
    return statSync(path, { throwIfNoEntry: false }) !== undefined;
  } catch (error) {
    throw new UnusableFile(`${path} can't be used: ${reasonOf(error)}`);
  }
};

export const isDirectory = (path: string): boolean => existsSync(path) && statSync(path).isDirectory();

/**
 * Makes a directory and its missing parents, for this user only, in a way that survives a power loss. Throws
 * the system's error. Makes them one by one, because mkdir's `recursive` never ends in a file system that
 * takes no new directories, such as /proc.
 */
export const makeDirectory = (directory: string): void => {
  const parent = dirname(resolve(directory));
  if (!existsSync(parent)) makeDirectory(parent);
  try {
    mkdirSync(directory, { mode: 0o700 });
  } catch (error) {
    if (!isDirectory(directory)) throw error;
    return;
  }
  syncDirectory(parent);
};

/** Makes the entries of a directory durable. A system that can't open directories doesn't need it. */
export const syncDirectory = (directory: string): void => {
  let handle: number;
  try {
    handle = openSync(directory, 'r');
  } catch {
    return;
  }
  try {
    fsyncSync(handle);
  } finally {
    closeSync(handle);
  }
};

/**
 * Reserves the data directory for this process until `release`, or until the process dies. Throws
 * DataDirectoryInUse at once if another process has it, and UnusableFile. The lock is a file of its own,
 * because an exclusive lock on events.db would shut out our own readers. (docs/engines.md#sqlite)
 */
export const lockDirectory = (directory: string): { readonly release: () => void } => {
  const path = join(directory, 'lock.db');
  const lock = new DatabaseSync(path, { timeout: 0, open: false });
  try {
    lock.open();
    lock.exec('pragma journal_mode = delete; begin exclusive');
  } catch (error) {
    if (lock.isOpen) lock.close();
    if (isOneOf(errcodeOf(error), [resultCode.busy, resultCode.locked]))
      throw new DataDirectoryInUse(directory);
    const advice = isDamage(errcodeOf(error)) ? ' It holds nothing: remove it.' : '';
    throw cannotOpen(path, `${messageOf(error)}.${advice}`, errcodeOf(error));
  }
  return { release: () => lock.close() };
};

/**
 * How many pages of the write-ahead log are moved into the file at once. The commit that starts this waits
 * for it: 30 ms with 3,000 pages, 45 ms with 10,000. With 1,000, pages that many commits change are written
 * too often. (docs/engines.md#sqlite)
 */
export const checkpointPages = 3_000;

/** Files that an earlier version or a copy has left may be open to others. */
export const closeToOthers = (path: string): void => {
  for (const file of [path, `${path}-wal`, `${path}-shm`]) if (existsSync(file)) chmodSync(file, 0o600);
};

/**
 * Watches files that this process has open: what it writes to one that was removed or replaced is lost when
 * it ends. Returns what to do about the first such file; null if there is none.
 */
export const watchFiles = (...paths: readonly string[]): (() => string | null) => {
  const inodeOf = (path: string): number | undefined => statSync(path, { throwIfNoEntry: false })?.ino;
  const inodes = paths.map(inodeOf);
  return () => {
    const lost = paths.find((path, at) => inodeOf(path) !== inodes[at]);
    return lost === undefined
      ? null
      : `${lost} was removed or replaced: what is written to it is lost when this process ends. Put the file back before. If it is gone, keep clients away for 10 s, and copy it from /proc/${process.pid}/fd (Linux).`;
  };
};

/** Removes a database with what belongs to it. */
export const removeDatabase = (path: string): void => {
  for (const suffix of ['', '-wal', '-shm']) rmSync(`${path}${suffix}`, { force: true });
};

/**
 * The one connection that writes a file. `synchronous` must be set: by default this build doesn't fsync each
 * commit, although the pragma reads back as if it did. (docs/engines.md#sqlite)
 */
export const openForWriting = (path: string): Database => {
  const database = new DatabaseSync(path, { timeout: 0 });
  closeToOthers(path);
  database.exec(
    `pragma journal_mode = wal; pragma synchronous = full; pragma secure_delete = on; pragma wal_autocheckpoint = ${checkpointPages}; pragma cache_size = -32768`,
  );
  return database;
};

/**
 * Moves the write-ahead log into the file, so that it holds only later writes. False if a reader or a full
 * disk prevents that, which does no harm. Throws if the file is damaged.
 */
export const emptyWriteAheadLog = (database: Database): boolean => {
  try {
    return numberFrom(database.prepare('pragma wal_checkpoint(truncate)')) === 0;
  } catch (error) {
    if (isDamage(errcodeOf(error))) throw error;
    return false;
  }
};

/** How often write-ahead logs that may hold erased data are emptied. */
export const emptyInterval: Milliseconds = 5_000;

/**
 * A connection that only reads. The file must exist. It has no memory map: with one, a read error would end
 * the process with SIGBUS, and it saves only 3 µs of 11. (docs/engines.md#sqlite)
 */
export const openForReading = (path: string): Database => {
  const database = new DatabaseSync(path, { readOnly: true, timeout: 1000 });
  database.exec('pragma query_only = on; pragma cache_size = -32768');
  return database;
};

/** Does the work on such a connection, and closes it. */
export const reading = <Result>(path: string, work: (database: Database) => Result): Result =>
  naming(path, () => {
    const database = openForReading(path);
    try {
      return work(database);
    } finally {
      database.close();
    }
  });
