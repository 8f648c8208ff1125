import type { StreamName } from '../../domain/ids.js';
import type { RawEvent } from '../hash-chain.js';

/** An event as the store keeps it, where it stands in the log. */
export interface StoredEvent extends RawEvent {
  readonly position: bigint;
}

/** The log for whoever checks it, or shows it to somebody who does: nothing in it is opened, lifted or believed. */
export interface RawLog {
  /**
   * Up to `limit` events after the position of an event, or after 0, in log order; fewer only at the end of the log.
   * Events of other programs are left out. Throws DamagedLog if events are missing or can't be read, a FinalError
   * for an event that a newer version of the service wrote, and EventStoreUnavailable.
   */
  readStored(after: bigint, limit: number): Promise<readonly StoredEvent[]>;

  /** Up to `limit` events of a stream from a revision on, oldest first. Throws EventStoreUnavailable. */
  readStoredStream(stream: StreamName, fromRevision: number, limit?: number): Promise<readonly RawEvent[]>;
}
