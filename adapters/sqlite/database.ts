import { DatabaseSync } from '@photostructure/sqlite';
import { closeSync, existsSync, fsyncSync, mkdirSync, openSync, statSync } from 'node:fs';
import { dirname, join, resolve } from 'node:path';
import { messageOf } from '../../domain/errors.js';
import { DataDirectoryInUse } from './errors.js';

export type Database = InstanceType<typeof DatabaseSync>;
export type Statement = ReturnType<Database['prepare']>;

/** The value of a query for one number; null where there is no row, or none in it. */
export const numberFrom = (
  statement: Statement,
  ...parameters: readonly (string | number)[]
): number | null => {
  const row: Readonly<Record<string, unknown>> | undefined = statement.get(...parameters);
  const value = row === undefined ? null : Object.values(row)[0];
  return typeof value === 'number' ? value : null;
};

/** SQLite result codes that mean something to us. Extended codes carry the primary one in their low byte. */
export const resultCode = {
  error: 1,
  locked: 6,
  busy: 5,
  readonly: 8,
  corrupt: 11,
  full: 13,
  constraint: 19,
  mismatch: 20,
  notADatabase: 26,
  ioErrorWrite: 10 | (3 << 8),
} as const;

/** SQLite's extended result code of an error, or null where it is no error of SQLite's. */
export const errcodeOf = (error: unknown): number | null =>
  error instanceof Error && 'errcode' in error && typeof error.errcode === 'number' ? error.errcode : null;

const primary = (errcode: number) => errcode & 0xff;

/** The file's content is not a database that can be read. */
export const isDamage = (errcode: number | null): boolean =>
  errcode !== null &&
  (primary(errcode) === resultCode.corrupt || primary(errcode) === resultCode.notADatabase);

/** The statement was wrong, not the disk. */
export const isRefusal = (errcode: number): boolean =>
  primary(errcode) === resultCode.error ||
  primary(errcode) === resultCode.constraint ||
  primary(errcode) === resultCode.mismatch;

/**
 * A commit that failed so wrote no commit record: the frame that makes a transaction valid is the last one to
 * be written.
 */
export const isCertainlyUnwritten = (errcode: number | null): boolean =>
  errcode !== null &&
  (primary(errcode) === resultCode.full ||
    primary(errcode) === resultCode.readonly ||
    errcode === resultCode.ioErrorWrite);

const isDirectory = (path: string): boolean => existsSync(path) && statSync(path).isDirectory();

/**
 * Makes a directory and those above it, for this user alone, and sees to it that their entries survive a
 * power loss. Throws what the system says. One by one: `recursive` of mkdir never ends where a file system,
 * such as /proc, has no place for new directories.
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

/**
 * Makes the entries of a directory durable. Where the system can't open directories, it needs none of this.
 */
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
 * Holds the data directory for this process until `release`, or until the process dies. Throws
 * DataDirectoryInUse at once where another holds it. The lock has a file of its own: an exclusive lock on the
 * events would shut out our own readers.
 */
export const lockDirectory = (directory: string): { readonly release: () => void } => {
  const lock = new DatabaseSync(join(directory, 'lock.db'), { timeout: 0, open: false });
  try {
    lock.open();
    lock.exec('pragma journal_mode = delete; begin exclusive');
  } catch (error) {
    if (lock.isOpen) lock.close();
    const errcode = errcodeOf(error);
    if (errcode !== null && (primary(errcode) === resultCode.busy || primary(errcode) === resultCode.locked))
      throw new DataDirectoryInUse(directory);
    throw new Error(`The data directory ${directory} can't be used: ${messageOf(error)}`, { cause: error });
  }
  return { release: () => lock.close() };
};

/**
 * So many pages of a write-ahead log are moved into the file at once. The commit that it comes with waits for
 * that: with 10,000, requests were held up for 45 ms again and again, with 3,000 for 30; with 1,000, pages
 * that many commits change are written too often.
 */
export const checkpointPages = 3_000;

/**
 * The one connection that writes a file. `synchronous` must be set: without it this build runs WAL files
 * without an fsync per commit, whatever the pragma reads back.
 */
export const openForWriting = (path: string): Database => {
  const database = new DatabaseSync(path, { timeout: 0 });
  database.exec(
    `pragma journal_mode = wal; pragma synchronous = full; pragma wal_autocheckpoint = ${checkpointPages}; pragma cache_size = -32768`,
  );
  return database;
};

/**
 * A connection that only reads; the file must exist. No memory map: a read error would end the process with
 * SIGBUS instead of an error, and it saves only 3 µs of 11.
 */
export const openForReading = (path: string): Database => {
  const database = new DatabaseSync(path, { readOnly: true, timeout: 1000 });
  database.exec('pragma query_only = on; pragma cache_size = -32768');
  return database;
};
