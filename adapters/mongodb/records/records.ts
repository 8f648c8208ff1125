import type { Collection, Filter } from 'mongodb';
import {
  ImportsUnavailable,
  SignInUnavailable,
  type ImportRecords,
  type Records,
  type StoredRecord,
  type SignInRecords,
} from '../../../application/ports/records.js';
import type { Clock } from '../../../application/ports/system.js';
import { guardedPort, type MongoDatabase } from '../client/database.js';
import { findAll } from '../client/documents.js';
import { isInserted } from '../client/refusals.js';

type Row = Omit<StoredRecord<string>, 'ends'> & {
  /** Kind and id. */
  readonly _id: string;
  readonly version: number;
  /** The server deletes the row some time after this; absent if it never ends. */
  readonly ends?: Date;
};

const keyOf = (kind: string, id: string): string => `${kind} ${id}`;

const rowOf = ({ kind, id, owner, data, ends }: StoredRecord<string>, version: number): Row => ({
  _id: keyOf(kind, id),
  kind,
  id,
  owner,
  data,
  version,
  ...(ends !== null && { ends: new Date(ends) }),
});

const recordOf = <Kind>(kind: Kind, { _id, ends, ...record }: Row) => ({
  ...record,
  kind,
  ends: ends?.getTime() ?? null,
});

interface MongoRecordsOptions {
  readonly database: MongoDatabase;
  readonly clock: Clock;
}

/**
 * The records of some kinds, one document each. The collection is named after its first kinds, for signing
 * in.
 */
const mongoRecords = <Kind extends string>(
  { database, clock }: MongoRecordsOptions,
  Unavailable: typeof SignInUnavailable | typeof ImportsUnavailable,
): Records<Kind> => {
  const indexed = (): Promise<Collection<Row>> => database.indexed('sign_in_records');
  const now = (): Date => new Date(clock.now());
  const isCurrent = ({ ends }: Row): boolean => ends === undefined || ends > now();

  return guardedPort<Records<Kind>>(Unavailable, {
    add: async (record) => {
      const rows = await indexed();
      const row = rowOf(record, 0);
      // One that has ended is in the way until the server deletes it.
      await rows.deleteOne({ _id: { $eq: row._id }, ends: { $lte: now() } });
      if (await isInserted(rows.insertOne(row))) return true;
      // Our own: the response to the first insert was lost, and the driver has repeated it.
      const there = await rows.findOne({ _id: { $eq: row._id } });
      return JSON.stringify(there) === JSON.stringify(row);
    },

    find: async (kind, id) => {
      const row = await (await indexed()).findOne({ _id: { $eq: keyOf(kind, id) } });
      return row !== null && isCurrent(row) ? recordOf(kind, row) : null;
    },

    change: async (found, next) => {
      const filter: Filter<Row> = {
        _id: { $eq: keyOf(found.kind, found.id) },
        version: { $eq: found.version },
        $or: [{ ends: { $exists: false } }, { ends: { $gt: now() } }],
      };
      const row = rowOf({ ...found, ...next }, found.version + 1);
      return (await (await indexed()).replaceOne(filter, row)).matchedCount === 1;
    },

    remove: async (kind, id) => {
      const row = await (await indexed()).findOneAndDelete({ _id: { $eq: keyOf(kind, id) } });
      return row !== null && isCurrent(row);
    },

    removeAllOf: async (kind, owner, except) => {
      const rows = await indexed();
      await rows.deleteMany({ owner: { $eq: owner }, kind: { $eq: kind }, id: { $ne: except ?? '' } });
    },

    listOf: async (kind, owner) => {
      const rows = await indexed();
      const which = { owner: { $eq: owner }, kind: { $eq: kind as string } };
      const found = await findAll(rows, which, { sort: { id: 1 } });
      return found.filter(isCurrent).map((row) => recordOf(kind, row));
    },

    removeEnded: async () => {
      // The index `ended` does.
    },
  });
};

export const mongoSignInRecords = (options: MongoRecordsOptions): SignInRecords =>
  mongoRecords(options, SignInUnavailable);

/** Files of contacts that are being imported, in MongoDB. */
export const mongoImportRecords = (options: MongoRecordsOptions): ImportRecords =>
  mongoRecords(options, ImportsUnavailable);
