import { DatabaseSync } from '@photostructure/sqlite';
import { chmodSync, closeSync, fsyncSync, openSync, renameSync } from 'node:fs';
import { dirname } from 'node:path';
import { naming, numberFrom, reading, removeDatabase, rowFrom, syncDirectory } from './database.js';
import { DamagedLog } from '../../application/log/damaged-log.js';
import { assertReadable } from '../../application/log/log-format.js';
import type { Milliseconds } from '../../domain/ids.js';
import { hashOf, logChecker } from './verification/log-checker.js';

/** Where the log of a copy ends. */
export interface CopiedLog {
  readonly position: string;
  /** Of the last event; null if there is none. */
  readonly hash: string | null;
}

/** How long to wait for a lock: the service holds each for moments only. */
const busyTimeout: Milliseconds = 30_000;

/** Copies a file as it is at one moment: one read transaction covers it and its write-ahead log. */
const vacuumInto = (from: string, to: string): void => {
  const database = naming(from, () => {
    const opened = new DatabaseSync(from, { readOnly: true, timeout: busyTimeout });
    numberFrom(opened.prepare('select count(*) from sqlite_master'));
    return opened;
  });
  try {
    database.prepare('vacuum into ?').run(to);
  } finally {
    database.close();
  }
};

/**
 * Reads a copy back: the file itself, and every event with its hash. Throws NewerLog, DamagedLog, and
 * SQLite's errors for a file that is no database.
 */
export const checkCopy = (path: string): CopiedLog =>
  reading(path, (database) => {
    assertReadable(numberFrom(database.prepare('pragma user_version')) ?? 0);
    const check = database.prepare('pragma integrity_check');
    const { integrity_check: state = 'unreadable' } = rowFrom<{ integrity_check: string }>(check) ?? {};
    if (state !== 'ok') throw new DamagedLog(1n, `${path} is damaged: ${state}`);
    const reached = logChecker(database)(0, Number.MAX_SAFE_INTEGER);
    const newest = 'select position, metadata from events order by position desc limit 1';
    const last = rowFrom<{ readonly position: number; readonly metadata: string }>(database.prepare(newest));
    if ((last?.position ?? 0) !== reached)
      throw new DamagedLog(BigInt(reached + 1), `the log should go on to position ${last?.position ?? 0}`);
    return { position: String(reached), hash: last === undefined ? null : hashOf(last.metadata) };
  });

/** The hash of the first event, by which logs differ; null before there is one. Throws SQLite's errors. */
export const firstHash = (path: string): string | null =>
  reading(path, (database) => {
    const first = database.prepare('select metadata from events order by position limit 1');
    const row = rowFrom<{ readonly metadata: string }>(first);
    return row === undefined ? null : hashOf(row.metadata);
  });

/** Writes a file that has its name only once it is whole and durable. */
export const writeWhole = <Result>(to: string, write: (unnamed: string) => Result): Result => {
  const unnamed = `${to}.unfinished`;
  removeDatabase(unnamed);
  try {
    const result = write(unnamed);
    chmodSync(unnamed, 0o600);
    const file = openSync(unnamed, 'r+');
    try {
      fsyncSync(file);
    } finally {
      closeSync(file);
    }
    renameSync(unnamed, to);
    syncDirectory(dirname(to));
    return result;
  } finally {
    removeDatabase(unnamed);
  }
};

/**
 * Copies events.db as it is at one moment, also while the service runs. The copy is checked and durable when
 * this returns. Throws the errors of `checkCopy`.
 */
export const copyEvents = (from: string, to: string): CopiedLog =>
  writeWhole(to, (unnamed) => {
    vacuumInto(from, unnamed);
    return checkCopy(unnamed);
  });

/** Copies keys.db as it is at one moment, also while the service runs. The copy is durable then. */
export const copyKeys = (from: string, to: string): void =>
  writeWhole(to, (unnamed) => vacuumInto(from, unnamed));
