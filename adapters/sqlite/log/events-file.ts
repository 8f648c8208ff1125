import { join } from 'node:path';
import type { Clock } from '../../../application/ports/system.js';
import { lockDirectory, makeDirectory, openForReading, syncDirectory, type Database } from '../database.js';
import type { DamagedLog, UnknownOutcome } from '../errors.js';
import { newGate, whileShut, insideGate, type Gate } from '../gate.js';
import { SqliteEventStore } from './event-store.js';
import { SqliteIdempotencyStore } from '../records/idempotency-store.js';
import { LogQueries, SqliteLogReader } from './log-reader.js';
import { RunningClaims } from '../records/running-claims.js';
import { assertWhole, checkLog, Verifier } from '../verification/verification.js';
import { SqliteWriter } from '../writer/writer.js';

export interface EventsFileOptions {
  /** DATA_DIR; made where it does not exist. */
  readonly directory: string;
  readonly clock: Clock;
  /**
   * A commit may or may not be on disk: end the process with exit code 75. Nothing is answered after this.
   */
  readonly onUnknownOutcome: (error: UnknownOutcome) => void;
  /** The log turned out to be damaged: end the process with exit code 1. */
  readonly onDamage: (error: DamagedLog) => void;
}

/**
 * The durable half of the embedded engine: the lock on the data directory, events.db, its writer's thread and
 * a connection that reads.
 */
export interface EventsFile {
  readonly eventStore: SqliteEventStore;
  readonly idempotencyStore: SqliteIdempotencyStore;
  /** For writes of other modules, by name. */
  readonly writer: SqliteWriter;
  /** For reads of other modules on the calling thread. Read-only. */
  readonly database: Database;
  /** For a thread that reads by itself: open it with `openLogReader`. */
  readonly shared: SharedLog;
  /**
   * Resolves when every event that was in the log at the start has been read back; never where one of them is
   * damaged.
   */
  readonly verified: Promise<void>;
  /** Commits what is waiting and gives the directory free. */
  readonly close: () => Promise<void>;
}

/** What a thread needs to read the log and to be woken by commits. Can be sent to a worker as it is. */
export interface SharedLog {
  readonly path: string;
  readonly head: SharedArrayBuffer;
  readonly gate: Gate;
}

/**
 * A reader for the calling thread, with a connection of its own. The file must be open for writing in this
 * process.
 */
export const openLogReader = (
  { path, head, gate }: SharedLog,
  options: { readonly clock: Clock; readonly onDamage: (error: DamagedLog) => void },
): { readonly reader: SqliteLogReader; readonly close: () => void } => {
  const inside = insideGate(gate);
  const database = inside(() => openForReading(path));
  return {
    reader: new SqliteLogReader({ database, head, within: inside, ...options }),
    close: () => inside(() => database.close()),
  };
};

/**
 * Opens the data directory and checks the log as far as it has not been checked before; the rest is checked
 * in the background. Throws DataDirectoryInUse, and DamagedLog where the log is not what was written.
 */
export const openEventsFile = async ({
  directory,
  clock,
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
    assertWhole(shared.path);
    const writer = await SqliteWriter.open({ ...shared, onUnknownOutcome, onDamage });
    opened.push(writer);
    syncDirectory(directory);
    const database = openForReading(shared.path);
    opened.push(database);
    const queries = new LogQueries({ database, head: shared.head, onDamage });
    const verifier = new Verifier({ shared, writer, onDamage, checked: await checkLog(database, writer) });
    opened.push(verifier);
    const claims = new RunningClaims();
    return {
      eventStore: new SqliteEventStore({ writer, queries, claims, clock }),
      idempotencyStore: new SqliteIdempotencyStore({ writer, database, claims, clock }),
      writer,
      database,
      shared,
      verified: verifier.passed,
      close,
    };
  } catch (error) {
    await close();
    throw error;
  }
};
