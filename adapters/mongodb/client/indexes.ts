import { collectionIndexes } from './collection-indexes.js';
import type { IndexReport, MongoDatabase } from './database.js';

/**
 * Makes the indexes that are missing, one after the other, however long it takes. Other processes may be at
 * work meanwhile. Throws a MongoError.
 */
export const makeIndexes = async (database: MongoDatabase, report: IndexReport): Promise<void> => {
  for (const [collection, wanted] of Object.entries(collectionIndexes))
    await database.prepare(collection, wanted, report);
};
