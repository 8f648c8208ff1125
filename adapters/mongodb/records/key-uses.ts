import type { KeyUseRows } from '../../../application/ports/key-uses.js';
import type { Instant, Uuid } from '../../../domain/ids.js';
import { sendAll, type MongoDatabase } from '../client/database.js';
import { findAll } from '../client/documents.js';

interface UseRow {
  readonly _id: Uuid;
  readonly at: Instant;
}

/** The last use of each API key, one document per key. */
export const mongoKeyUses = (database: MongoDatabase): KeyUseRows => {
  const rows = () => database.collection<UseRow>('key_uses');
  return {
    save: async (uses) => {
      const writes = uses.flatMap(([id, at]) => [
        { updateOne: { filter: { _id: { $eq: id } }, update: { $setOnInsert: { at } }, upsert: true } },
        { updateOne: { filter: { _id: { $eq: id }, at: { $lt: at } }, update: { $set: { at } } } },
      ]);
      await sendAll(() => rows().bulkWrite(writes));
    },
    read: async (keyIds) => {
      const found = await findAll(rows(), { _id: { $in: [...keyIds] } });
      return new Map(found.map(({ _id, at }) => [_id, at]));
    },
  };
};
