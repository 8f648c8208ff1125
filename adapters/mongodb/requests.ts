import type { IndexDescription } from 'mongodb';
import type { RequestRecord, RequestRows } from '../../application/ports/requests.js';
import { Instant } from '../../domain/ids.js';
import { sendAll, type MongoDatabase } from './database.js';

type RequestRow = Omit<RequestRecord, 'id'> & { readonly _id: string };

export const requestIndexes: readonly IndexDescription[] = [{ key: { at: 1 }, name: 'by_at' }];

/** Removing this many at a time delays nobody. */
const removedAtOnce = 1_000;

/** The request log, one document per request. */
export const mongoRequests = (database: MongoDatabase): RequestRows => {
  const rows = () => database.collection<RequestRow>('requests');
  return {
    save: async (records) => {
      if (records.length === 0) return;
      const writes = records.map(({ id, ...record }) => ({
        updateOne: { filter: { _id: { $eq: id } }, update: { $setOnInsert: record }, upsert: true },
      }));
      await sendAll(() => rows().bulkWrite(writes, { ordered: false }));
    },
    find: async (id) => {
      const row = await rows().findOne({ _id: { $eq: id } });
      if (row === null) return null;
      const { _id, ...record } = row;
      return { id: _id, ...record };
    },
    removeOld: async (before, signal) => {
      const end = Instant.parse(new Date(before).toISOString());
      while (!signal.aborted) {
        const old = await rows()
          .find({ at: { $lt: end } }, { projection: { _id: 1 }, limit: removedAtOnce })
          .toArray();
        if (old.length === 0) return;
        await rows().deleteMany({ _id: { $in: old.map(({ _id }) => _id) } });
      }
    },
  };
};
