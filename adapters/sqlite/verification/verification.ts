import { pathToFileURL } from 'node:url';
import { LRUCache } from 'lru-cache';
import { DatabaseSync } from '@photostructure/sqlite';
import { closeSync, fstatSync, openSync, readSync, statSync } from 'node:fs';
import { Worker } from 'node:worker_threads';
import { verifiedHash } from '../../../application/hash-chain.js';
import { messageOf } from '../../../domain/errors.js';
import { errcodeOf, isDamage, numberFrom, openForReading, type Database } from '../database.js';
import { CheckpointPastHead, DamagedLog } from '../errors.js';
import type { Gate } from '../gate.js';
import { eventColumns, type EventRow } from '../log/log-reader.js';
import { readWal } from '../log/wal.js';
import type { SqliteWriter } from '../writer/writer.js';

/** Up to here the log has been read back and its hashes held. */
export const verifiedMark = 'verified';

const sizeOf = (path: string): number => statSync(path, { throwIfNoEntry: false })?.size ?? 0;

/**
 * Reads the database header: page size and pages, or null where the file is new or its header does not say.
 */
const readHeader = (
  path: string,
): { readonly pageSize: number; readonly pages: number; readonly size: number } | null => {
  if (sizeOf(path) === 0) return null;
  const file = openSync(path, 'r');
  try {
    const header = Buffer.alloc(100);
    readSync(file, header, 0, header.length, 0);
    const pageSize = header.readUInt16BE(16);
    const pagesAreKnown = pageSize > 0 && header.readUInt32BE(24) === header.readUInt32BE(92);
    if (!pagesAreKnown) return null;
    return {
      pageSize: pageSize === 1 ? 65_536 : pageSize,
      pages: header.readUInt32BE(28),
      size: fstatSync(file).size,
    };
  } finally {
    closeSync(file);
  }
};

/**
 * Walks the events of a damaged file for as long as they can be read; answers the position of the first that
 * can't.
 */
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
    // As far as it could be read.
  } finally {
    database.close();
  }
  return BigInt(readable + 1);
};

/** The position after the last event that SQLite still finds. Nothing is changed by looking. */
const afterLastFound = (path: string): bigint => {
  const database = openForReading(path);
  try {
    return BigInt((numberFrom(database.prepare('select max(position) from events')) ?? 0) + 1);
  } finally {
    database.close();
  }
};

/**
 * Throws DamagedLog where the file is shorter than its header says, or its write-ahead log is broken before
 * its end. To be called before SQLite opens the file for writing: that fills a gap with zeros, and forgets
 * what it can't read of the write-ahead log.
 */
export const assertWhole = (path: string): void => {
  const header = readHeader(path);
  if (header === null) return;
  const { pageSize, pages, size } = header;
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
      afterLastFound(path),
      `${path}-wal is damaged: ${wal.lostCommits} later transactions can not be read`,
    );
};

/**
 * Throws CheckpointPastHead where one of the readers, by name, has seen more than the log holds: events are
 * missing from its end.
 */
export const assertNotPast = (head: bigint, checkpoints: Readonly<Record<string, bigint>>): void => {
  for (const [reader, checkpoint] of Object.entries(checkpoints))
    if (checkpoint > head) throw new CheckpointPastHead(reader, checkpoint, head);
};

const rememberedHashes = 50_000;

type CheckedRow = readonly [...EventRow, indexed: number | null];

/**
 * Reads events back and checks that positions have no gap, that the index by stream names the same rows, and
 * that every event's hash is what its stored texts and the event before it in its stream give. Answers the
 * position up to which that held: `limit` events on, or the end of the log. Throws DamagedLog with the first
 * position where it did not hold.
 */
export const logChecker = (database: Database): ((after: number, limit: number) => number) => {
  const rows = database.prepare(`
    select ${eventColumns}, (select i.position from events i where i.stream = e.stream and i.revision = e.revision)
    from events e not indexed where position > ? order by position limit ?`);
  rows.setReturnArrays(true);
  const metadataOf = database.prepare(
    'select metadata from events where stream = ? and revision = ? and position < ?',
  );
  const hashes = new LRUCache<string, { readonly revision: number; readonly hash: string }>({
    max: rememberedHashes,
  });

  /**
   * The hash of the event before this one; null for the first of a stream; undefined where it should be there
   * and is not.
   */
  const hashBefore = (stream: string, revision: number, position: number): string | null | undefined => {
    if (revision === 0) return null;
    const known = hashes.get(stream);
    if (known?.revision === revision - 1) return known.hash;
    const before: { readonly metadata: string } | undefined = metadataOf.get(stream, revision - 1, position);
    return before === undefined ? undefined : hashOf(before.metadata);
  };

  const check = (
    [position, stream, revision, id, type, data, personal, metadata, indexed]: CheckedRow,
    expected: number,
  ): void => {
    if (position !== expected)
      throw new DamagedLog(BigInt(expected), `the event is missing, the next one is ${position}`);
    if (indexed !== position) throw new DamagedLog(BigInt(position), `${stream} does not hold it`);
    const previous = hashBefore(stream, revision, position);
    if (previous === undefined)
      throw new DamagedLog(BigInt(position), `${stream} has no revision ${revision - 1} before it`);
    const hash = verifiedHash(previous, { id, type, data, personal, metadata });
    if (hash === null) throw new DamagedLog(BigInt(position), `its content does not give its hash`);
    hashes.set(stream, { revision, hash });
  };

  return (after, limit) => {
    let verified = after;
    try {
      const found: Iterable<CheckedRow> = rows.iterate(after, limit);
      for (const row of found) {
        check(row, verified + 1);
        verified += 1;
      }
      return verified;
    } catch (error) {
      if (isDamage(errcodeOf(error))) throw new DamagedLog(BigInt(verified + 1), 'it can not be read');
      throw error;
    }
  };
};

const hashOf = (metadata: string): string => (JSON.parse(metadata) as { readonly hash: string }).hash;

/**
 * What the start has checked. Events up to `mark` were read back at some time, those after `from` now, those
 * between are owed. `head` is the log's end.
 */
export interface CheckedLog {
  readonly mark: number;
  readonly from: number;
  readonly head: number;
}

/** So many events are read back in about 2 s. */
const mostAtStart = 200_000;

const readCount = (database: Database, sql: string): number => numberFrom(database.prepare(sql)) ?? 0;

/**
 * The part of the check that the start waits for: the last event is readable, positions have no gap, and what
 * was added since the verified mark is read back: all of it, or the newest part of it where the mark could
 * not be kept up under load, so that the start takes no more than about 2 s.
 * Throws DamagedLog and CheckpointPastHead.
 */
export const checkLog = async (database: Database, writer: SqliteWriter): Promise<CheckedLog> => {
  try {
    const head = readCount(database, 'select max(position) from events');
    const mark = readCount(database, `select position from marks where name = '${verifiedMark}'`);
    assertNotPast(BigInt(head), { 'The verification of the log itself': BigInt(mark) });
    const check = logChecker(database);
    const from = Math.max(mark, head - mostAtStart);
    const reached = check(Math.min(from, Math.max(head - 1, 0)), Number.MAX_SAFE_INTEGER);
    if (reached !== head)
      throw new DamagedLog(BigInt(reached + 1), `the log should go on to position ${head}`);
    if (readCount(database, 'select count(*) from events') !== head)
      throw new DamagedLog(firstGap(database), 'the event is missing');
    if (head > mark && from === mark)
      await writer.run('saveMark', { name: verifiedMark, position: head }).catch(() => undefined);
    return { mark, from, head };
  } catch (error) {
    if (isDamage(errcodeOf(error))) throw new DamagedLog(1n, messageOf(error));
    throw error;
  }
};

const firstGap = (database: Database): bigint => {
  let position = 0;
  const rows: Iterable<{ readonly position: number }> = database
    .prepare('select position from events not indexed order by position')
    .iterate();
  for (const row of rows) {
    if (row.position !== position + 1) break;
    position += 1;
  }
  return BigInt(position + 1);
};

export interface VerifierStart {
  readonly path: string;
  readonly head: SharedArrayBuffer;
  readonly gate: Gate;
  /** One 32-bit integer: not 0 ends the thread. */
  readonly stop: SharedArrayBuffer;
  readonly checked: CheckedLog;
}

export type FromVerifier =
  | { readonly kind: 'verified'; readonly position: number }
  /** Every event that was in the log at the start has been read back. */
  | { readonly kind: 'passed' }
  | { readonly kind: 'damaged'; readonly position: bigint; readonly reason: string };

/**
 * Reads the log back in a thread of low priority: what the start had not time for, then what is added, and
 * keeps the verified mark.
 */
export class Verifier {
  readonly #worker: Worker;
  readonly #stop = new SharedArrayBuffer(Int32Array.BYTES_PER_ELEMENT);
  readonly #ended: Promise<void>;
  readonly #saves = new Set<Promise<unknown>>();
  /**
   * Resolves when every event that was in the log at the start has been read back. Never where one of them is
   * damaged.
   */
  readonly passed: Promise<void>;

  constructor(options: {
    readonly shared: { readonly path: string; readonly head: SharedArrayBuffer; readonly gate: Gate };
    readonly writer: SqliteWriter;
    readonly checked: CheckedLog;
    readonly onDamage: (error: DamagedLog) => void;
  }) {
    const { shared, writer, checked, onDamage } = options;
    this.#worker = new Worker(new URL('./verification-thread.js', import.meta.url), {
      workerData: {
        path: shared.path,
        head: shared.head,
        gate: shared.gate,
        stop: this.#stop,
        checked,
      } satisfies VerifierStart,
    });
    this.#worker.unref();
    this.#ended = new Promise((resolve) => this.#worker.once('exit', () => resolve()));
    this.passed = new Promise((resolve) => {
      this.#worker.on('message', (message: FromVerifier) => {
        if (message.kind === 'verified') this.#save(writer, message.position);
        else if (message.kind === 'passed') resolve();
        else onDamage(new DamagedLog(message.position, message.reason));
      });
    });
  }

  /** Ends the thread and waits until the mark that it reached is saved. */
  async close(): Promise<void> {
    const stop = new Int32Array(this.#stop);
    Atomics.store(stop, 0, 1);
    Atomics.notify(stop, 0);
    this.#worker.ref();
    await this.#ended;
    await Promise.all(this.#saves);
  }

  /** A mark that can't be saved is no harm: the next start reads back a little more. */
  #save(writer: SqliteWriter, position: number): void {
    const save: Promise<unknown> = writer
      .run('saveMark', { name: verifiedMark, position })
      .catch(() => undefined)
      .finally(() => this.#saves.delete(save));
    this.#saves.add(save);
  }
}
