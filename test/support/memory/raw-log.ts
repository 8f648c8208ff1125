import type { RawLog, StoredEvent } from '../../../application/ports/raw-log.js';
import type { StreamName } from '../../../domain/ids.js';

/** A log that tests may change as somebody could who can write to the store. */
export class MemoryRawLog implements RawLog {
  constructor(public events: StoredEvent[]) {}

  async readStored(after: bigint, limit: number): Promise<readonly StoredEvent[]> {
    return this.events.filter(({ position }) => position > after).slice(0, limit);
  }

  async readStoredStream(
    stream: StreamName,
    fromRevision: number,
    limit = Number.MAX_SAFE_INTEGER,
  ): Promise<readonly StoredEvent[]> {
    return this.events
      .filter((event) => event.stream === stream && event.revision >= fromRevision)
      .toSorted((one, other) => one.revision - other.revision)
      .slice(0, limit);
  }
}
