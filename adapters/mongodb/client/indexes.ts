import { buildIndexes } from '../read/builds.js';
import type { IndexReport, MongoDatabase } from './database.js';
import { deliveryIndexes, endpointIndexes } from '../deliveries/delivery-rows.js';
import { artworkIndexes } from '../records/artwork.js';
import { hookCallIndexes } from '../records/hook-calls.js';
import { keyIndexes } from '../records/idempotency-store.js';
import { tileIndexes } from '../records/log-tiles.js';
import { counterIndexes } from '../records/rate-limiter.js';
import { recordIndexes } from '../records/records.js';
import { releaseIndexes } from '../read/releases.js';
import { requestIndexes } from '../records/requests.js';

/** All collections with indexes, except for read models, which get their indexes while they are empty. */
const indexes = {
  ...artworkIndexes,
  builds: buildIndexes,
  deliveries: deliveryIndexes,
  delivery_targets: endpointIndexes,
  hook_calls: hookCallIndexes,
  idempotency_keys: keyIndexes,
  log_tiles: tileIndexes,
  rate_counters: counterIndexes,
  releases: releaseIndexes,
  sign_in_records: recordIndexes,
  requests: requestIndexes,
} as const;

/**
 * Makes the indexes that are missing, one after the other, however long it takes. Other processes may be at
 * work meanwhile. Throws a MongoError.
 */
export const makeIndexes = async (database: MongoDatabase, report: IndexReport): Promise<void> => {
  for (const [collection, wanted] of Object.entries(indexes))
    await database.prepare(collection, wanted, report);
};
