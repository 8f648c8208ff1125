import { DamagedLog } from '../../../application/log/damaged-log.js';
import { EventStoreUnavailable } from '../../../application/ports/event-store.js';
import type { RawLog, StoredEvent } from '../../../application/ports/raw-log.js';
import { messageOf } from '../../../domain/errors.js';
import type { StreamName } from '../../../domain/ids.js';
import { errcodeOf, isDamage, prepareArrays, type Database, type Statement } from '../database.js';
import type { InsideGate } from '../gate.js';
import {
  assertInPlace,
  checkedRows,
  eventColumns,
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
 * same rows: any difference is damage.
 */
export class SqliteRawLog implements RawLog {
  readonly #inGate: InsideGate;
  readonly #log: Statement;
  readonly #stream: Statement;

  /** `database`: a read-only connection of the calling thread. */
  constructor({
    database,
    inGate = (work) => work(),
  }: {
    readonly database: Database;
    readonly inGate?: InsideGate;
  }) {
    this.#inGate = inGate;
    this.#log = prepareArrays(database, checkedRows);
    this.#stream = prepareArrays(
      database,
      `select ${eventColumns} from events where stream = ? and revision >= ? order by revision limit ?`,
    );
  }

  async readStored(after: bigint, limit: number): Promise<readonly StoredEvent[]> {
    const rows: readonly CheckedRow[] = this.#read(after + 1n, this.#log, Number(after), limit);
    return rows.map((row, at) => {
      assertInPlace(row, Number(after) + at + 1);
      return storedEvent(row);
    });
  }

  async readStoredStream(
    stream: StreamName,
    fromRevision: number,
    limit = Number.MAX_SAFE_INTEGER,
  ): Promise<readonly StoredEvent[]> {
    const rows: readonly EventRow[] = this.#read(1n, this.#stream, stream, fromRevision, limit);
    return rows.map(storedEvent);
  }

  #read<Row>(
    position: bigint,
    statement: Statement,
    ...parameters: readonly (string | number)[]
  ): readonly Row[] {
    try {
      return this.#inGate(() => {
        const found: readonly Row[] = statement.all(...parameters);
        return found;
      });
    } catch (error) {
      if (isDamage(errcodeOf(error))) throw new DamagedLog(position, "the event can't be read");
      throw new EventStoreUnavailable(`The event log can't be read: ${messageOf(error)}`, { cause: error });
    }
  }
}
