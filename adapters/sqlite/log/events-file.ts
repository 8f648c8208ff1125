import { join } from 'node:path';
import type { Clock } from '../../../application/ports/system.js';
import { lockDirectory, makeDirectory, openForReading, syncDirectory, type Database } from '../database.js';
import { DamagedLog } from '../../../application/log/damaged-log.js';
import type { EventStore } from '../../../application/ports/event-store.js';
import type { IdempotencyStore } from '../../../application/ports/idempotency-store.js';
import type { LogTiles } from '../../../application/ports/log-tiles.js';
import type { RawLog } from '../../../application/ports/raw-log.js';
import { CheckpointPastHead, type NotWritten, type UnknownOutcome } from '../errors.js';
import { newGate, whileShut } from '../gate.js';
import { sqliteEventStore } from './event-store.js';
import { sqliteIdempotencyStore } from '../records/idempotency-store.js';
import { logQueries } from './log-queries.js';
import type { SharedLog } from './log-reader.js';
import { RunningClaims } from '../records/running-claims.js';
import { assertWhole, checkLog, type LeftInWal } from '../verification/verification.js';
import { sqliteLogTiles } from '../notary/log-tiles.js';
import { startNotary, type NotaryOptions } from '../notary/notary.js';
import { sqliteRawLog } from '../notary/raw-log.js';
import { SqliteWriter } from '../writer/writer.js';

export interface EventsFileOptions {
  /** DATA_DIR. Made if it doesn't exist. */
  readonly directory: string;
  readonly clock: Clock;
  /** A commit may or may not be on disk: end the process with exit code 75. No write settles after this. */
  readonly onUnknownOutcome: (error: UnknownOutcome) => void;
  /** A write left nothing behind. */
  readonly onUnwritten?: (error: NotWritten) => void;
  /** The log turned out to be damaged: end the process with exit code 1. */
  readonly onDamage: (error: DamagedLog) => void;
  /** Absent: the log is not notarized, and only the events that the start reads are read back. */
  readonly notary?: NotaryOptions;
  /** Whether the log is opened although it is damaged, for commands that must go on. */
  readonly opensDamaged?: boolean;
}

/**
 * The durable half of the embedded engine: the lock on the data directory, events.db, its writer and a
 * connection that reads.
 */
export interface EventsFile {
  readonly eventStore: EventStore;
  readonly idempotencyStore: IdempotencyStore;
  /** For the writes of other records. */
  readonly writer: SqliteWriter;
  /** For the reads of other records, on the calling thread. Read-only. */
  readonly database: Database;
  /** The log as it is stored, and the log of the log; read on the calling thread. */
  readonly raw: RawLog;
  readonly tiles: LogTiles;
  /** For a thread that reads the log itself, with `openLogReader`. */
  readonly shared: SharedLog;
  /**
   * Resolves when every event that was in the log at the start has been read back. Never resolves if one of
   * them is damaged.
   */
  readonly verified: Promise<void>;
  /** The previous run's leftovers in its write-ahead log. */
  readonly left: LeftInWal;
  /** Commits waiting writes, then releases the directory. */
  readonly close: () => Promise<void>;
}

/**
 * Opens the data directory. Checks the events that no earlier run has checked, then all others in the
 * background. Throws DataDirectoryInUse, and DamagedLog if the log is not as it was written.
 */
export const openEventsFile = async ({
  directory,
  clock,
  notary,
  opensDamaged = false,
  ...options
}: EventsFileOptions): Promise<EventsFile> => {
  makeDirectory(directory);
  const lock = lockDirectory(directory);
  const shared: SharedLog = {
    path: join(directory, 'events.db'),
    head: new SharedArrayBuffer(BigInt64Array.BYTES_PER_ELEMENT),
    gate: newGate(),
  };
  const onUnknownOutcome = (error: UnknownOutcome): void =>
    whileShut(shared.gate, () => options.onUnknownOutcome(error));
  const onDamage = (error: DamagedLog): void => whileShut(shared.gate, () => options.onDamage(error));
  const opened: { readonly close: () => void | Promise<void> }[] = [{ close: lock.release }];
  const close = async () => {
    for (let next = opened.pop(); next !== undefined; next = opened.pop()) await next.close();
  };
  try {
    const left = assertWhole(shared.path);
    const writer = await SqliteWriter.open({ ...options, ...shared, onUnknownOutcome, onDamage });
    opened.push(writer);
    syncDirectory(directory);
    const database = openForReading(shared.path);
    opened.push(database);
    const queries = logQueries({ database, head: shared.head, onDamage });
    const tiles = sqliteLogTiles({ database, write: (name, input) => writer.run(name, input) });
    const raw = sqliteRawLog(database);
    await checkedLog(database, tiles, { onDamage, opensDamaged }, () =>
      notary?.assertNotSetBack?.({ log: raw, tiles }, queries.headPosition()),
    );
    const isNew = queries.headPosition() === 0n;
    const thread = notary && startNotary({ shared, writer, notary, isNew, clock, onDamage });
    if (thread !== undefined) opened.push(thread);
    const claims = new RunningClaims();
    return {
      eventStore: sqliteEventStore({ writer, queries, claims, clock }),
      idempotencyStore: sqliteIdempotencyStore({
        writer,
        database,
        claims,
        clock,
        onDamage: (reason) => onDamage(new DamagedLog(queries.headPosition(), reason)),
      }),
      writer,
      database,
      shared,
      raw,
      tiles,
      left,
      verified: thread?.passed ?? Promise.resolve(),
      close,
    };
  } catch (error) {
    await close();
    throw error;
  }
};

/**
 * Runs the checks that the start waits for. Damage is reported instead of thrown if the log is to be opened
 * all the same.
 */
const checkedLog = async (
  database: Database,
  tiles: LogTiles,
  {
    onDamage,
    opensDamaged,
  }: { readonly onDamage: (error: DamagedLog) => void; readonly opensDamaged: boolean },
  assertNotSetBack: () => Promise<void> | undefined,
): Promise<void> => {
  try {
    checkLog(database);
    await assertNotSetBack();
  } catch (error) {
    if (!opensDamaged) throw error;
    const found =
      error instanceof CheckpointPastHead
        ? new DamagedLog(error.head, 'the event after it is missing')
        : error;
    if (!(found instanceof DamagedLog)) throw error;
    const { position, reason } = found;
    await tiles.reportDamage({ position, reason });
    onDamage(found);
  }
};
