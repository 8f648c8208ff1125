import { MongoBulkWriteError, MongoServerError, MongoWriteConcernError } from 'mongodb';

const duplicateKey = 11_000;

/** Whether a write of one document failed only because the document is there already. */
export const isDuplicate = (error: unknown): boolean =>
  error instanceof MongoServerError &&
  !(error instanceof MongoBulkWriteError) &&
  !(error instanceof MongoWriteConcernError) &&
  error.code === duplicateKey;

/** False if the insert failed only because the document is there already. */
export const isInserted = (insert: Promise<unknown>): Promise<boolean> =>
  insert.then(
    () => true,
    (error: unknown) => {
      if (isDuplicate(error)) return false;
      throw error;
    },
  );

/**
 * The places in an unordered bulk write of the documents that were there already, if it failed only because
 * of them; null if anything else went wrong. The driver wraps every failure in a MongoBulkWriteError, a lost
 * connection or a refusal of the whole command too, and then lists no document.
 * (docs/engines.md#mongodb)
 */
export const duplicatesOf = (error: unknown): ReadonlySet<number> | null => {
  if (!(error instanceof MongoBulkWriteError) || error.code !== duplicateKey) return null;
  const failed = [error.writeErrors].flat();
  const isOnlyThat =
    failed.length > 0 &&
    failed.every(({ code }) => code === duplicateKey) &&
    error.result.getWriteConcernError() === undefined;
  return isOnlyThat ? new Set(failed.map(({ index }) => index)) : null;
};

/** The same, of an unordered bulk write that may find documents there; empty if it found none. */
export const duplicatesIn = (write: Promise<unknown>): Promise<ReadonlySet<number>> =>
  write.then(
    () => new Set(),
    (error: unknown) => {
      const found = duplicatesOf(error);
      if (found === null) throw error;
      return found;
    },
  );

/** Unauthorized, UserWritesBlocked, AtlasError (its space is used up), OutOfDiskSpace. */
const lasting: ReadonlySet<unknown> = new Set([13, 371, 8_000, 14_031]);

/** Whether the server will refuse other writes, too, until something is done about it. */
export const refusesWrites = (error: unknown): boolean =>
  error instanceof MongoServerError &&
  (lasting.has(error.code) ||
    (error instanceof MongoBulkWriteError &&
      [error.writeErrors].flat().some(({ code }) => lasting.has(code))));
