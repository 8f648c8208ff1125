import { DamagedLog } from '../../../application/log/damaged-log.js';
import { EventStoreUnavailable } from '../../../application/ports/event-store.js';
import type { RawLog, StoredEvent } from '../../../application/ports/raw-log.js';
import { messageOf } from '../../../domain/errors.js';
import type { StreamName } from '../../../domain/ids.js';
import {
  errcodeOf,
  isDamage,
  prepareArrays,
  rowsFrom,
  type Database,
  type SqlValue,
  type Statement,
} from '../database.js';
import type { InsideGate } from '../gate.js';
import {
  assertInPlace,
  checkedRows,
  rowsOfStream,
  type CheckedRow,
  type EventRow,
} from '../log/event-rows.js';

const storedEvent = ([position, stream, revision, id, type, data, personal, metadata]:
  EventRow | CheckedRow): StoredEvent => ({
  position: BigInt(position),
  stream: stream as StreamName,
  revision,
  id,
  type,
  data,
  personal,
  metadata,
});

/**
 * The log in events.db as it is stored. Positions have no gap there, and the index by stream leads to the
 * same rows: any difference is damage. `database`: a read-only connection of the calling thread.
 */
export const sqliteRawLog = (database: Database, inGate: InsideGate = (work) => work()): RawLog => {
  const log = prepareArrays(database, checkedRows);
  const ofStream = prepareArrays(database, rowsOfStream);

  const read = <Row>(position: bigint, from: Statement, ...values: readonly SqlValue[]): readonly Row[] => {
    try {
      return inGate(() => rowsFrom<Row>(from, ...values));
    } catch (error) {
      if (isDamage(errcodeOf(error))) throw new DamagedLog(position, "the event can't be read");
      throw new EventStoreUnavailable(`The event log can't be read: ${messageOf(error)}`, { cause: error });
    }
  };

  return {
    readStored: async (after, limit) =>
      read<CheckedRow>(after + 1n, log, Number(after), limit).map((row, at) => {
        assertInPlace(row, Number(after) + at + 1);
        return storedEvent(row);
      }),
    readStoredStream: async (stream, fromRevision, limit = Number.MAX_SAFE_INTEGER) =>
      read<EventRow>(1n, ofStream, stream, fromRevision, limit).map(storedEvent),
  };
};
