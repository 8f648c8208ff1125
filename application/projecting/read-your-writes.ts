import type { Milliseconds } from '../../domain/ids.js';
import type { ReadModels } from '../ports/read-models.js';
import type { ProjectionBoard } from './projection-board.js';
import type { RecordedEvent } from '../../domain/events.js';
import type { Projection } from '../../projections/projection.js';
import { EventStoreUnavailable, type EventStore } from '../ports/event-store.js';
import { turnAlone } from '../timing/next-turn.js';

/**
 * Read-your-writes: a write that was acknowledged shows in every read that begins later, through any process.
 * (decision 34: reads show acknowledged writes; docs/architecture.md#read-your-writes)
 *
 * The projections follow the log a moment later, so either the write, before its response, or the read has to
 * wait for them. The engine decides which, with `readsWait` or `writesWait`. The wait ends after
 * `waitTimeout`, and then the write or the read goes on: `rowsMayBeLate` shows how far to trust a row.
 */
export interface ReadYourWrites {
  /**
   * To be awaited between a write that was committed at this position and its acknowledgement. Never rejects.
   */
  afterWrite(position: bigint): Promise<void>;
  /** To be awaited before every query of the read models. Never rejects. */
  beforeRead(): Promise<void>;
  /** Whether rows show everything up to a position. */
  shows(position: bigint): boolean;
  /** Whether a row may lack an acknowledged write all the same: the stream knows. */
  rowsMayBeLate(): boolean;
  /** Whether the log holds more than the rows do, of what was acknowledged by any process, or may. */
  rowsLackEvents(): boolean;
  /** For how long that has been so; null if it is not. */
  lateFor(): Milliseconds | null;
}

/**
 * For any number of processes: none knows the others' acknowledged writes, so the write waits until the
 * projections have passed it.
 */
export const writesWait = (board: ProjectionBoard): ReadYourWrites => ({
  afterWrite: (position) => board.waitUntilProjected(position),
  beforeRead: () => Promise.resolve(),
  shows: (position) => board.shows(position),
  rowsMayBeLate: () => board.isLate(),
  rowsLackEvents: () => board.lacksEvents(),
  lateFor: () => board.lateFor(),
});

/**
 * For the one process that writes the log and knows its head: a read waits until the projections have passed
 * everything committed before it, and no write waits. While a projection catches up with the log, which may
 * take long, queries show what there is and writes wait instead.
 */
export const readsWait = (board: ProjectionBoard, head: () => bigint): ReadYourWrites => {
  const catchingUp = writesWait(board);
  const live: ReadYourWrites = {
    ...catchingUp,
    afterWrite: () => Promise.resolve(),
    beforeRead: () => board.waitUntilProjected(head()),
  };
  const now = (): ReadYourWrites => (board.isLive() ? live : catchingUp);
  return {
    ...catchingUp,
    afterWrite: (position) => now().afterWrite(position),
    beforeRead: () => now().beforeRead(),
  };
};

/** The same queries, each after the wait that read-your-writes needs. */
export const currentReadModels = (readModels: ReadModels, readYourWrites: ReadYourWrites): ReadModels => {
  const current = async (): Promise<ReadModels> => {
    await readYourWrites.beforeRead();
    return readModels;
  };
  return {
    get: async (projection, key) => (await current()).get(projection, key),
    page: async (projection, query) => (await current()).page(projection, query),
    count: async (projection, query) => (await current()).count(projection, query),
    agenda: async (projection, query) => (await current()).agenda(projection, query),
  };
};

/** For reads that fall back to streams. */
export interface ReadDeps {
  readonly store: EventStore;
  readonly readModels: ReadModels;
  readonly readYourWrites: ReadYourWrites;
}

/**
 * Reads a row; reads its stream if there is no row or the row may be late. While the event store is away, the
 * row has to do, unless the log may hold more: no answer is older than one before. (decision 34:
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
  const lacked = mayHaveBeenLate && readYourWrites.rowsLackEvents();
  const row = await read();
  if (row !== null && !mayHaveBeenLate && !readYourWrites.rowsMayBeLate()) return row;
  try {
    return await fold();
  } catch (error) {
    if (row === null || !(error instanceof EventStoreUnavailable)) throw error;
    if (lacked || readYourWrites.rowsLackEvents()) throw error;
    return row;
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
