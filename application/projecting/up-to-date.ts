import type { RecordedEvent } from '../../domain/events.js';
import type { Projection } from '../../projections/projection.js';
import { EventStoreUnavailable, type EventStore } from '../ports/event-store.js';
import type { ReadModels } from '../ports/read-models.js';
import { turnAlone } from '../timing/next-turn.js';
import type { ReadYourWrites } from './read-your-writes.js';

/** For reads that fall back to streams. */
export interface ReadDeps {
  readonly store: EventStore;
  readonly readModels: ReadModels;
  readonly readYourWrites: ReadYourWrites;
}

/**
 * Reads a row; reads its stream if there is no row or the row may be late. While the event store is away, the
 * row has to do, unless the log is known to hold more: no answer is older than one before. (decision 34:
 * reads show acknowledged writes; docs/architecture.md#read-path)
 */
export const upToDate = async <T>(
  readYourWrites: ReadYourWrites,
  read: () => Promise<T>,
  fold: () => Promise<T>,
): Promise<T> => {
  // Asked before the query, because the projections may have caught up by the time it returns an older row;
  // and after it, because that they are late may turn out while the query waits for them.
  const mayHaveBeenLate = readYourWrites.rowsMayBeLate();
  const row = await read();
  if (row !== null && !mayHaveBeenLate && !readYourWrites.rowsMayBeLate()) return row;
  try {
    return await fold();
  } catch (error) {
    if (row !== null && error instanceof EventStoreUnavailable && !readYourWrites.rowsLackEvents())
      return row;
    throw error;
  }
};

/** So few are folded at once: each may look through a large document. */
const foldedAtOnce = 50;

/**
 * Folds a stream's events with a projection that keeps one document per stream; null if there is no document.
 */
export const foldDocument = async <Document>(
  projection: Projection<Document>,
  events: readonly RecordedEvent[],
): Promise<Document | null> => {
  let document: Document | null = null;
  for (const [at, event] of events.entries()) {
    if (at > 0 && at % foldedAtOnce === 0) await turnAlone();
    document = projection.evolve(document, { ...event, position: event.position ?? 0n });
  }
  return document;
};
