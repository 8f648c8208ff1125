import type { RequestRecord, RequestRows } from '../../../application/ports/requests.js';
import { Instant } from '../../../domain/ids.js';
import { sendAll, type MongoDatabase } from '../client/database.js';
import { findAll } from '../client/documents.js';

/** Without subjects there is no such field, and nothing in its index. */
type RequestRow = Omit<RequestRecord, 'id' | 'subjects'> & {
  readonly _id: string;
  readonly subjects?: readonly string[];
};

const recordOf = ({ _id, subjects = [], ...record }: RequestRow): RequestRecord => ({
  id: _id,
  ...record,
  subjects,
});

/** Removing this many at a time delays no other work. */
const removedAtOnce = 1_000;

/** The request log, one document per request. */
export const mongoRequests = (database: MongoDatabase): RequestRows => {
  const rows = () => database.collection<RequestRow>('requests');
  return {
    save: async (records) => {
      if (records.length === 0) return;
      const writes = records.map(({ id, subjects, ...record }) => ({
        updateOne: {
          filter: { _id: { $eq: id } },
          update: { $setOnInsert: { ...record, ...(subjects.length > 0 && { subjects }) } },
          upsert: true,
        },
      }));
      await sendAll(() => rows().bulkWrite(writes, { ordered: false }));
    },
    find: async (id) => {
      const row = await rows().findOne({ _id: { $eq: id } });
      return row && recordOf(row);
    },
    about: async (subject, org, after, limit) => {
      const earlier =
        after === null ? {} : { $or: [{ at: { $lt: after.at } }, { at: after.at, _id: { $lt: after.id } }] };
      const which = { subjects: subject, ...(org !== null && { org }), ...earlier };
      return (await findAll(rows(), which, { sort: { at: -1, _id: -1 }, limit })).map(recordOf);
    },
    removeOld: async (before, signal) => {
      const end = Instant.parse(new Date(before).toISOString());
      while (!signal.aborted) {
        const some = { projection: { _id: 1 }, limit: removedAtOnce };
        const old = await findAll(rows(), { at: { $lt: end } }, some);
        if (old.length === 0) return;
        await rows().deleteMany({ _id: { $in: old.map(({ _id }) => _id) } });
      }
    },
  };
};
