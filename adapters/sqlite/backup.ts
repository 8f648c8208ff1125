import { DatabaseSync } from '@photostructure/sqlite';
import { chmodSync, closeSync, fsyncSync, openSync, renameSync, rmSync } from 'node:fs';
import { dirname } from 'node:path';
import { closeToOthers, numberFrom, openForReading, syncDirectory } from './database.js';
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
const busyTimeout = 30_000;

/** Copies a file as it is at one moment: one read transaction covers it and its write-ahead log. */
export const vacuumInto = (from: string, to: string, timeout: Milliseconds): void => {
  const database = new DatabaseSync(from, { readOnly: true, timeout });
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
export const checkCopy = (path: string): CopiedLog => {
  const database = openForReading(path);
  try {
    assertReadable(numberFrom(database.prepare('pragma user_version')) ?? 0);
    const [state]: readonly { readonly integrity_check: string }[] = database
      .prepare('pragma integrity_check')
      .all();
    if (state?.integrity_check !== 'ok')
      throw new DamagedLog(1n, `${path} is damaged: ${state?.integrity_check ?? 'unreadable'}`);
    const reached = logChecker(database)(0, Number.MAX_SAFE_INTEGER);
    const last: { readonly position: number; readonly metadata: string } | undefined = database
      .prepare('select position, metadata from events order by position desc limit 1')
      .get();
    if ((last?.position ?? 0) !== reached)
      throw new DamagedLog(BigInt(reached + 1), `the log should go on to position ${last?.position ?? 0}`);
    return { position: String(reached), hash: last === undefined ? null : hashOf(last.metadata) };
  } finally {
    database.close();
  }
};

/** The hash of the first event, by which logs differ; null before there is one. Throws SQLite's errors. */
export const firstHash = (path: string): string | null => {
  const database = openForReading(path);
  try {
    const first: { readonly metadata: string } | undefined = database
      .prepare('select metadata from events order by position limit 1')
      .get();
    return first === undefined ? null : hashOf(first.metadata);
  } finally {
    database.close();
  }
};

/** Makes a file durable that was written by other means. */
export const syncFile = (path: string): void => {
  const file = openSync(path, 'r+');
  try {
    fsyncSync(file);
  } finally {
    closeSync(file);
  }
  syncDirectory(dirname(path));
};

/** Writes a file that has its name only once it is whole. */
export const writeWhole = (to: string, write: (unnamed: string) => void): void => {
  const unnamed = `${to}.unfinished`;
  rmSync(unnamed, { force: true });
  write(unnamed);
  chmodSync(unnamed, 0o600);
  syncFile(unnamed);
  renameSync(unnamed, to);
  syncDirectory(dirname(to));
};

/**
 * Copies events.db as it is at one moment, also while the service runs. The copy is checked and durable when
 * this returns; before that it has another name. Throws the errors of `checkCopy`.
 */
export const copyEvents = (from: string, to: string): CopiedLog => {
  const unfinished = `${to}.unfinished`;
  rmSync(unfinished, { force: true });
  try {
    vacuumInto(from, unfinished, busyTimeout);
    closeToOthers(unfinished);
    const copied = checkCopy(unfinished);
    for (const suffix of ['-wal', '-shm']) rmSync(`${unfinished}${suffix}`, { force: true });
    syncFile(unfinished);
    renameSync(unfinished, to);
    syncDirectory(dirname(to));
    return copied;
  } finally {
    rmSync(unfinished, { force: true });
  }
};
