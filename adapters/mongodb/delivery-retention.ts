import type { Milliseconds } from '../../domain/ids.js';
import { batchSize } from './chunks.js';
import type { MongoDatabase } from './database.js';
import { deliveryRows, type DeliveryRow } from './delivery-rows.js';

interface Progress {
  readonly _id: string;
  /** The last row that was looked at; null once all were. */
  readonly after: string | null;
}

const progressId = 'deliveries dated';

/**
 * Dates the ended deliveries of versions that kept them forever, so that the server removes them too. Goes
 * through all rows once, some at a time; another process goes on where one stopped.
 */
export const dateOldRows = async (database: MongoDatabase, keep: Milliseconds): Promise<void> => {
  const deliveries = await deliveryRows(database);
  const progress = database.collection<Progress>('progress');
  const found = await progress.findOne({ _id: { $eq: progressId } });
  for (let after = found === null ? '' : found.after; after !== null;) {
    const rows: readonly Pick<DeliveryRow, '_id' | 'status' | 'occurredAt' | 'removeAt'>[] = await deliveries
      .find({ _id: { $gt: after } })
      .sort({ _id: 1 })
      .limit(batchSize)
      .project<Pick<DeliveryRow, '_id' | 'status' | 'occurredAt' | 'removeAt'>>({
        status: 1,
        occurredAt: 1,
        removeAt: 1,
      })
      .toArray();
    const undated = rows.filter(({ status, removeAt }) => status !== 'pending' && removeAt === undefined);
    if (undated.length > 0)
      await deliveries.bulkWrite(
        undated.map(({ _id, status, occurredAt }) => ({
          updateOne: {
            filter: { _id: { $eq: _id }, status },
            update: { $set: { removeAt: new Date(occurredAt + keep) } },
          },
        })),
        { ordered: false },
      );
    after = rows.length < batchSize ? null : (rows.at(-1)?._id ?? null);
    await progress.updateOne({ _id: { $eq: progressId } }, { $set: { after } }, { upsert: true });
  }
};
