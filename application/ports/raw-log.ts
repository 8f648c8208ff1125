import type { StreamName } from '../../domain/ids.js';

/**
 * An event as the store keeps it: nobody has opened, lifted or believed anything. `data` lacks the personal part,
 * `metadata` ends with the hash.
 */
export interface StoredEvent {
  readonly position: bigint;
  readonly stream: StreamName;
  readonly revision: number;
  readonly id: string;
  readonly type: string;
  readonly data: string;
  readonly personal: string | null;
  readonly metadata: string;
}

/** The log for whoever checks it, or shows it to somebody who does. */
export interface RawLog {
  /**
   * Up to `limit` events after the position of an event, or after 0, in log order; fewer only at the end of the log.
   * Events of other programs are left out. Throws DamagedLog if events are missing or can't be read,
   * UnknownCategory for an event that a newer version of the service wrote, and EventStoreUnavailable.
   */
  readStored(after: bigint, limit: number): Promise<readonly StoredEvent[]>;

  /**
   * Up to `limit` events of a stream from a revision on, oldest first. Their positions are those of the log.
   * Throws EventStoreUnavailable.
   */
  readStoredStream(stream: StreamName, fromRevision: number, limit?: number): Promise<readonly StoredEvent[]>;
}
