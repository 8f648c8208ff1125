import { readdir } from 'node:fs/promises';
import { join } from 'node:path';
import type { MongoDatabase } from '../../../adapters/mongodb/client/database.js';

/** How much lies below `artwork` that belongs to no front. */
export const leftoversInFiles = async (artwork: string): Promise<number> =>
  (await readdir(join(artwork, 'unfinished'))).length;

/** How much a database has of fronts that are not there. */
export const leftoversInMongo = async (database: MongoDatabase): Promise<number> => {
  const files = await database.collection('artwork.files').distinct('_id');
  const chunks = database.collection('artwork.chunks').countDocuments({ files_id: { $nin: files } });
  return (await chunks) + (await database.collection('artwork.unfinished').countDocuments({}));
};
