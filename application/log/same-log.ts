import { FinalError } from '../../domain/errors.js';
import { derivedUuid, type Uuid } from '../../domain/ids.js';
import type { EventMark, LogReader } from '../ports/event-store.js';

/** How far a client has read a log, and the event at that position. */
export interface ReadUpTo {
  readonly position: bigint;
  /** Absent if it isn't known, or nothing was read. */
  readonly event?: EventMark;
}

/** A reader of a log, and its progress. */
export interface LogReading extends ReadUpTo {
  readonly reader: string;
}

/** The log is not the one that was read: it was restored to an earlier point, or it is another one. */
export class OtherLog extends FinalError {
  constructor(reader: string, { position, event }: ReadUpTo, found: EventMark | null, head: bigint) {
    const read = `${reader} has read up to position ${position}${event === undefined ? '' : `, event ${event.id}`}`;
    const reason =
      position > head
        ? `the event log ends at position ${head}: events are missing from its end, or it is another log.`
        : `the event log has ${found === null ? 'no event' : `event ${found.id}`} there: it is another log.`;
    super(
      `${read}, but ${reason} Restore the log that was read, or lead the service to it; or drop what was made of it, so that it is made again.`,
    );
  }
}

/**
 * Makes sure that a reader goes on in the log that it has read. Throws OtherLog and EventStoreUnavailable.
 * (docs/operations.md#restore)
 */
export const assertSameLog = async (
  log: Pick<LogReader, 'head' | 'markAt'>,
  reader: string,
  read: ReadUpTo,
): Promise<void> => {
  const { position, event } = read;
  if (position === 0n) return;
  const found = await log.markAt(position);
  if (found !== null && (event === undefined || (found.id === event.id && found.hash === event.hash))) return;
  throw new OtherLog(reader, read, found, (await log.head()).position);
};

/**
 * Reads the id of a log, by which consumers see that they follow another one: it is made of the log's first
 * event, and null before there is one. Throws EventStoreUnavailable.
 */
export const logIdOf = (log: Pick<LogReader, 'readLog'>): (() => Promise<Uuid | null>) => {
  let known: Uuid | null = null;
  return async () => {
    if (known !== null) return known;
    const [first] = await log.readLog(0n, 1);
    if (first !== undefined) known = derivedUuid('log', first.id, first.metadata.hash);
    return known;
  };
};
