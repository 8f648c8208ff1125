import { Binary, type Collection } from 'mongodb';
import {
  PersonalKeysUnavailable,
  type PersonalKeys,
  type ShredderMark,
  type StoredBlock,
  type WrappedBlock,
} from '../../../application/ports/personal-keys.js';
import { explainingFailures } from '../../../application/timing/explaining-failures.js';
import { messageOf } from '../../../domain/errors.js';
import type { MongoDatabase } from '../client/database.js';
import { bytesOf, findAll } from '../client/documents.js';
import { isInserted } from '../client/refusals.js';

type BlockRow = Omit<StoredBlock, 'number' | 'iv' | 'sealed'> & {
  readonly _id: number;
  readonly iv: Binary;
  readonly sealed: Binary;
};

/** How far the shredder has come. */
interface MarkRow extends ShredderMark {
  readonly _id: 'shredder';
}

const blockOf = ({ _id, iv, sealed, ...block }: BlockRow): StoredBlock => ({
  ...block,
  number: _id,
  iv: bytesOf(iv),
  sealed: bytesOf(sealed),
});

const rowOf = ({ wrappedBy, iv, sealed }: WrappedBlock) => ({
  wrappedBy,
  iv: new Binary(iv),
  sealed: new Binary(sealed),
});

/** All documents, by the index of their numbers. */
const all = { _id: { $gte: 0 } } as const;
const numbersOnly = { projection: { _id: 1 } } as const;

/** The keys of personal data, one document a block. */
export const mongoPersonalKeys = (database: MongoDatabase): PersonalKeys => {
  const blocks = (): Collection<BlockRow> => database.collection('personal_keys');
  const marks = (): Collection<MarkRow> => database.collection('personal_key_state');
  const used = (): Collection<{ readonly _id: number }> => database.collection('personal_key_uses');

  const load = async (numbers: readonly number[]): Promise<readonly StoredBlock[]> => {
    return (await findAll(blocks(), { _id: { $in: [...numbers] } })).map(blockOf);
  };

  const port: PersonalKeys = {
    first: async (make) => {
      // Before it is looked for: another process may add it meanwhile, and then others.
      const hadBlocks = (await blocks().findOne({ _id: { $gt: 0 } }, numbersOnly)) !== null;
      const [found] = await load([0]);
      if (found !== undefined || hadBlocks) return found ?? null;
      await isInserted(blocks().insertOne({ _id: 0, version: 1, ...rowOf(make(0)) }));
      return (await load([0]))[0] ?? null;
    },

    add: async (added) => {
      await blocks().insertMany(added.map((block) => ({ _id: block.number, version: 1, ...rowOf(block) })));
    },

    load,

    after: async (number, limit) => {
      const rows = await findAll(blocks(), { _id: { $gt: number } }, { sort: { _id: 1 }, limit });
      return rows.map(blockOf);
    },

    replace: async (block) => {
      const { number, version } = block;
      const { matchedCount } = await blocks().updateOne(
        { _id: { $eq: number }, version: { $eq: version } },
        { $set: { ...rowOf(block), version: version + 1 } },
      );
      return matchedCount === 1;
    },

    mark: async () => {
      const row = await marks().findOne({ _id: { $eq: 'shredder' } });
      return row && { position: row.position, event: row.event };
    },

    saveMark: async ({ position, event }, before, uses) => {
      if (uses.length > 0)
        await used().bulkWrite(
          uses.map((_id) => ({ replaceOne: { filter: { _id }, replacement: {}, upsert: true } })),
        );
      if (before === null) return isInserted(marks().insertOne({ _id: 'shredder', position, event }));
      const { matchedCount } = await marks().updateOne(
        { _id: { $eq: 'shredder' }, position: { $eq: before.position } },
        { $set: { position, event } },
      );
      return matchedCount === 1;
    },

    missing: async (numbers) => {
      const [uses, there] = await Promise.all([
        findAll(used(), all, numbersOnly),
        findAll(blocks(), all, numbersOnly),
      ]);
      const missing = new Set([...numbers, ...uses.map(({ _id }) => _id)]);
      for (const { _id } of there) missing.delete(_id);
      return [...missing];
    },

    wrappers: async () => blocks().distinct('wrappedBy', all),
  };
  return explainingFailures(port, (error) => {
    const reason = `The keys of personal data can't be reached: ${messageOf(error)}`;
    return new PersonalKeysUnavailable(reason, { cause: error });
  });
};
