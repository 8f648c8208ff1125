import { join } from 'node:path';
import type { Clock } from '../../../application/ports/system.js';
import { lockDirectory, makeDirectory, openForReading, syncDirectory } from '../database.js';
import { DamagedLog } from '../../../application/log/damaged-log.js';
import { CheckpointPastHead, type UnknownOutcome } from '../errors.js';
import { newGate, whileShut } from '../gate.js';
import { sqliteEventStore } from './event-store.js';
import { runningClaims, sqliteIdempotencyStore } from '../records/idempotency-store.js';
import { logQueries } from './log-queries.js';
import type { SharedLog } from './log-reader.js';
import { assertWhole, checkLog } from '../verification/verification.js';
import { sqliteLogTiles } from '../notary/log-tiles.js';
import { startNotary, type NotaryOptions } from '../notary/notary.js';
import { sqliteRawLog } from '../notary/raw-log.js';
import { startWriter, type WriterOptions } from '../writer/writer.js';

export interface EventsFileOptions extends Pick<
  WriterOptions,
  'onUnknownOutcome' | 'onUnwritten' | 'onDamage'
> {
  /** DATA_DIR. Made if it doesn't exist. */
  readonly directory: string;
  readonly clock: Clock;
  /** Absent: the log is not notarized, and only the events that the start reads are read back. */
  readonly notary?: NotaryOptions;
  /** Whether the log is opened although it is damaged, for commands that must go on. */
  readonly opensDamaged?: boolean;
}

export type EventsFile = Awaited<ReturnType<typeof openEventsFile>>;

/**
 * Opens the durable half of the embedded engine: the lock on the data directory, events.db, its writer and a
 * connection that reads. Checks the events that no earlier run has checked, then all others in the
 * background. Throws DataDirectoryInUse, and DamagedLog if the log is not as it was written.
 */
export const openEventsFile = async ({
  directory,
  clock,
  notary,
  opensDamaged = false,
  ...options
}: EventsFileOptions) => {
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
    const writer = await startWriter({ ...options, ...shared, onUnknownOutcome, onDamage });
    opened.push(writer);
    syncDirectory(directory);
    const database = openForReading(shared.path);
    opened.push(database);
    const queries = logQueries({ database, head: shared.head, onDamage });
    const tiles = sqliteLogTiles({ database, write: (name, input) => writer.run(name, input) });
    const raw = sqliteRawLog(database);
    try {
      checkLog(database);
      await notary?.assertNotSetBack?.({ log: raw, tiles }, queries.headPosition());
    } catch (error) {
      const damage = opensDamaged ? damageIn(error) : null;
      if (damage === null) throw error;
      await tiles.reportDamage({ position: damage.position, reason: damage.reason });
      onDamage(damage);
    }
    const isNew = queries.headPosition() === 0n;
    const thread = notary && startNotary({ shared, writer, notary, isNew, clock, onDamage });
    if (thread !== undefined) opened.push(thread);
    const claims = runningClaims();
    return {
      eventStore: sqliteEventStore({ writer, queries, claims, clock }),
      idempotencyStore: sqliteIdempotencyStore({
        writer,
        database,
        claims,
        clock,
        onDamage: (reason) => onDamage(new DamagedLog(queries.headPosition(), reason)),
      }),
      /** For the writes of other records. */
      writer,
      /** For the reads of other records, on the calling thread. Read-only. */
      database,
      /** For a thread that reads the log itself, with `openLogReader`. */
      shared,
      /** The log as it is stored, and the log of the log; read on the calling thread. */
      raw,
      tiles,
      /** The previous run's leftovers in its write-ahead log. */
      left,
      /**
       * Resolves when every event that was in the log at the start has been read back. Never resolves if one
       * of them is damaged.
       */
      verified: thread?.passed ?? Promise.resolve(),
      /** Commits waiting writes, then releases the directory. */
      close,
    };
  } catch (error) {
    await close();
    throw error;
  }
};

/** The damage that a check of the start has found; null for any other error. */
const damageIn = (error: unknown): DamagedLog | null => {
  if (error instanceof CheckpointPastHead) return new DamagedLog(error.head, 'the event after it is missing');
  return error instanceof DamagedLog ? error : null;
};
