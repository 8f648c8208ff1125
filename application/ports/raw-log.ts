import { FinalError } from '../../domain/errors.js';
import type { StreamName } from '../../domain/ids.js';
import type { RawEvent } from '../log/hash-chain.js';

/** A stored event at its position in the log. */
export interface StoredEvent extends RawEvent {
  readonly position: bigint;
}

/** An event of a stream. Not every store knows its position in the log. */
export interface PlacedEvent extends RawEvent {
  readonly position: bigint | null;
}

/**
 * A newer version of the service wrote the event: this one can't read it, and must not leave it out either.
 */
export class UnknownCategory extends FinalError {
  constructor(event: string) {
    super(
      `${event} was written by a newer version of the service, in a category that this one does not know. Start the version that wrote it, or a later one.`,
    );
  }
}

/** The log for checkers, and for export to checkers: events are neither opened, lifted nor believed. */
export interface RawLog {
  /**
   * Up to `limit` events after the position of an event, or after 0, in log order; fewer only at the end of
   * the log. Events of other programs are left out. Throws DamagedLog if events are missing or can't be read,
   * UnknownCategory, and EventStoreUnavailable.
   */
  readStored(after: bigint, limit: number): Promise<readonly StoredEvent[]>;

  /**
   * Up to `limit` events of a stream from a revision on, oldest first. A position is null if the store
   * doesn't give positions when it reads a stream. Throws EventStoreUnavailable.
   */
  readStoredStream(stream: StreamName, fromRevision: number, limit?: number): Promise<readonly PlacedEvent[]>;
}
