import { readdir } from 'node:fs/promises';
import { join } from 'node:path';
import type { MongoDatabase } from '../../../adapters/mongodb/client/database.js';

/** How much lies below `artwork` that belongs to no front. */
export const leftoversInFiles = async (artwork: string): Promise<number> =>
  (await readdir(join(artwork, 'unfinished'))).length;

/** How much a database has of fronts that are not there. */
export const leftoversInMongo = async (database: MongoDatabase): Promise<number> => {
  const [files, chunks] = [database.collection('artwork.files'), database.collection('artwork.chunks')];
  const whole = await files.distinct('_id', { filename: /^[0-9a-f]{64}$/ });
  const others = (await files.countDocuments({})) - whole.length;
  return others + (await chunks.countDocuments({ files_id: { $nin: whole } }));
};
