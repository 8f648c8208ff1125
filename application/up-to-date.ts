import type { RecordedEvent } from '../domain/events.js';
import type { Projection } from '../projections/projection.js';
import { EventStoreUnavailable } from './ports/event-store.js';
import type { ProjectionProgress } from './ports/read-models.js';

/**
 * What a row says; what the stream behind it says where there is no row, or the projections are late. While
 * the event store is away a row has to do. (decision 34; architecture.md, Reading)
 */
export const upToDate = async <T>(
  progress: ProjectionProgress,
  read: () => Promise<T>,
  fold: () => Promise<T>,
): Promise<T> => {
  // Before the row is read: they may be on time by then, and the row be older. After it, too: that they are
  // late may turn out while the query waits for them.
  const wasLate = progress.isLate();
  const row = await read();
  if (row !== null && !wasLate && !progress.isLate()) return row;
  try {
    return await fold();
  } catch (error) {
    if (row !== null && error instanceof EventStoreUnavailable) return row;
    throw error;
  }
};

/**
 * The document that a stream's events make of it, of a projection with one document a stream; null where they
 * make none.
 */
export const foldDocument = <Document>(
  projection: Projection<Document>,
  events: readonly RecordedEvent[],
): Document | null =>
  events.reduce<Document | null>(
    (document, event) => projection.evolve(document, { ...event, position: event.position ?? 0n }),
    null,
  );
