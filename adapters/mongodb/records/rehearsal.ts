import type { RehearsalMark } from '../../../application/writing/rehearsal.js';
import type { MongoDatabase } from '../client/database.js';

/** Marks a database that is not the service's. */
const marks = (database: MongoDatabase) =>
  database.collection<RehearsalMark & { readonly _id: 'copy' }>('rehearsal');

/** Null: it is the service's. */
export const setMark = async (database: MongoDatabase, mark: RehearsalMark | null): Promise<void> => {
  if (mark === null) await marks(database).deleteOne({ _id: 'copy' });
  else await marks(database).replaceOne({ _id: 'copy' }, mark, { upsert: true });
};

/** Rejects, and never throws, while the database is away. */
export const markIn = async (database: MongoDatabase): Promise<RehearsalMark | null> =>
  marks(database).findOne({ _id: 'copy' });
