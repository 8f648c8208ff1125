import type { MongoDatabase } from '../client/database.js';

/** Marks a database whose records were restored, until it is promoted. */
const marks = (database: MongoDatabase) =>
  database.collection<{ readonly _id: 'copy'; readonly why: string }>('rehearsal');

export const markRehearsal = async (database: MongoDatabase, why: string): Promise<void> => {
  await marks(database).replaceOne({ _id: 'copy' }, { why }, { upsert: true });
};

/** Why it is a rehearsal; null if it is not. */
export const rehearsalIn = async (database: MongoDatabase): Promise<string | null> =>
  (await marks(database).findOne({ _id: 'copy' }))?.why ?? null;

export const endRehearsal = async (database: MongoDatabase): Promise<void> => {
  await marks(database).deleteOne({ _id: 'copy' });
};
