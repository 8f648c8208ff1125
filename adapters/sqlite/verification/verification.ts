import { closeSync, fstatSync, openSync, readSync, statSync } from 'node:fs';
import { pathToFileURL } from 'node:url';
import { DatabaseSync } from '@photostructure/sqlite';
import { messageOf } from '../../../domain/errors.js';
import { errcodeOf, isDamage, numberFrom, reading, type Database } from '../database.js';
import { DamagedLog } from '../../../application/log/damaged-log.js';
import { assertReadable } from '../../../application/log/log-format.js';
import { CheckpointPastHead, UnusableFile } from '../errors.js';
import { readWal, type WalContent } from '../log/wal.js';
import { logChecker } from './log-checker.js';

/** The start reads back at most this many events, in about 2 s. */
const maxAtStart = 200_000;

/**
 * Throws NewerLog, and DamagedLog if the file is shorter than its header says, or if its write-ahead log is
 * broken before its end. Call it before SQLite opens the file for writing: SQLite fills a gap with zeros, and
 * drops the unreadable part of the write-ahead log. Returns what the previous run has left in that: nothing
 * if it was stopped cleanly. (docs/engines.md#sqlite)
 */
export const assertWhole = (path: string): Pick<WalContent, 'commits' | 'lostCommits'> => {
  const header = readHeader(path);
  if (header === null) return { commits: 0, lostCommits: 0 };
  const { pageSize, pages, size, format } = header;
  assertReadable(format);
  const wal = readWal(`${path}-wal`);
  const present = Math.floor(size / pageSize);
  for (let page = present + 1; page <= pages; page += 1)
    if (!wal.pages.has(page))
      throw new DamagedLog(
        firstUnreadable(path),
        `${path} is shorter than it was: ${present} of its ${pages} pages are left`,
      );
  if (wal.lostCommits > 1)
    throw new DamagedLog(
      afterLastReadable(path),
      `${path}-wal is damaged: ${wal.lostCommits} later transactions can't be read`,
    );
  return wal;
};

/**
 * The part of the check that the start waits for: the last event can be read, positions have no gap, and the
 * events that are not notarized yet are read back. If they are too many, because the notary could not keep up
 * with the load, only the newest are read, in about 2 s. Throws DamagedLog and CheckpointPastHead.
 */
export const checkLog = (database: Database): void => {
  try {
    const head = readCount(database, 'select max(position) from events');
    const mark = readCount(database, 'select position from log_tree');
    assertNotPast(BigInt(head), 'The verification of the log itself', mark);
    const check = logChecker(database);
    const from = Math.max(mark, head - maxAtStart);
    const reached = check(Math.min(from, Math.max(head - 1, 0)), Number.MAX_SAFE_INTEGER);
    if (reached !== head)
      throw new DamagedLog(BigInt(reached + 1), `the log should go on to position ${head}`);
    if (readCount(database, 'select count(*) from events') !== head)
      throw new DamagedLog(firstGap(database), 'the event is missing');
  } catch (error) {
    if (isDamage(errcodeOf(error))) throw new DamagedLog(1n, messageOf(error));
    throw error;
  }
};

/** Throws CheckpointPastHead if a reader has seen more than the log holds: its end is missing. */
export const assertNotPast = (head: bigint, reader: string, checkpoint: number): void => {
  if (checkpoint > head) throw new CheckpointPastHead(reader, BigInt(checkpoint), head);
};

/**
 * Page size, pages and format (SQLite's `user_version`) by the file's header, and the file's size. Null if
 * the file is new, or if its header doesn't tell.
 */
const readHeader = (path: string) => {
  const found = statSync(path, { throwIfNoEntry: false });
  if (found?.isDirectory()) throw new UnusableFile(`${path} is a folder. Restore events.db from a backup.`);
  if ((found?.size ?? 0) === 0) return null;
  const file = openSync(path, 'r');
  try {
    const header = Buffer.alloc(100);
    readSync(file, header, 0, header.length, 0);
    const pageSize = header.readUInt16BE(16);
    const tellsPages = pageSize > 0 && header.readUInt32BE(24) === header.readUInt32BE(92);
    if (!tellsPages) return null;
    return {
      pageSize: pageSize === 1 ? 65_536 : pageSize,
      pages: header.readUInt32BE(28),
      size: fstatSync(file).size,
      format: header.toString('latin1', 0, 15) === 'SQLite format 3' ? header.readUInt32BE(60) : 0,
    };
  } finally {
    closeSync(file);
  }
};

/** The position of the first event that can't be read any more. Changes nothing in the file. */
const firstUnreadable = (path: string): bigint => {
  const url = pathToFileURL(path);
  url.search = 'immutable=1';
  const database = new DatabaseSync(url.href, { readOnly: true });
  let readable = 0;
  try {
    database.exec('pragma writable_schema = on');
    const statement = database.prepare(
      'select position, length(metadata) from events not indexed order by position',
    );
    const rows: Iterable<{ readonly position: number }> = statement.iterate();
    for (const row of rows) {
      if (row.position !== readable + 1) break;
      readable += 1;
    }
  } catch {
    // This is as far as it can be read.
  } finally {
    database.close();
  }
  return BigInt(readable + 1);
};

/** The position after the last event that SQLite still finds. Changes nothing in the file. */
const afterLastReadable = (path: string): bigint =>
  reading(path, (database) => BigInt(readCount(database, 'select max(position) from events') + 1));

/** The place of the first event that is missing; after the last one where only an index lacks it. */
const firstGap = (database: Database): bigint =>
  BigInt(
    numberFrom(
      database.prepare(
        'select place from (select position, row_number() over (order by position) as place from events not indexed) where position <> place limit 1',
      ),
    ) ?? readCount(database, 'select max(position) from events') + 1,
  );

const readCount = (database: Database, sql: string): number => numberFrom(database.prepare(sql)) ?? 0;
