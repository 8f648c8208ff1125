import { Binary } from 'mongodb';
import {
  PersonalKeysUnavailable,
  type NumberedBlock,
  type PersonalKeys,
  type ShredderMark,
  type StoredBlock,
  type WrappedBlock,
} from '../../../application/ports/personal-keys.js';
import { messageOf } from '../../../domain/errors.js';
import type { MongoDatabase } from '../client/database.js';
import { isInserted } from '../client/refusals.js';

interface BlockRow {
  readonly _id: number;
  readonly version: number;
  readonly wrappedBy: string;
  readonly iv: Binary;
  readonly sealed: Binary;
}

/** How far the shredder has come. */
interface MarkRow extends ShredderMark {
  readonly _id: 'shredder';
}

const bytes = (binary: Binary): Buffer => Buffer.from(binary.buffer.subarray(0, binary.length()));

const blockOf = ({ _id, version, wrappedBy, iv, sealed }: BlockRow): StoredBlock => ({
  number: _id,
  version,
  wrappedBy,
  iv: bytes(iv),
  sealed: bytes(sealed),
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
export class MongoPersonalKeys implements PersonalKeys {
  constructor(private readonly database: MongoDatabase) {}

  first(make: (number: number) => WrappedBlock): Promise<StoredBlock | null> {
    return this.#run(async () => {
      // Before it is looked for: another process may add it meanwhile, and then others.
      const hadBlocks = (await this.#blocks().findOne({ _id: { $gt: 0 } }, numbersOnly)) !== null;
      const [found] = await this.load([0]);
      if (found !== undefined || hadBlocks) return found ?? null;
      await isInserted(this.#blocks().insertOne({ _id: 0, version: 1, ...rowOf(make(0)) }));
      return (await this.load([0]))[0] ?? null;
    });
  }

  async add(blocks: readonly NumberedBlock[]): Promise<void> {
    await this.#run(() =>
      this.#blocks().insertMany(blocks.map((block) => ({ _id: block.number, version: 1, ...rowOf(block) }))),
    );
  }

  load(numbers: readonly number[]): Promise<readonly StoredBlock[]> {
    return this.#run(async () => {
      const rows = await this.#blocks()
        .find({ _id: { $in: [...numbers] } })
        .toArray();
      return rows.map(blockOf);
    });
  }

  after(number: number, limit: number): Promise<readonly StoredBlock[]> {
    return this.#run(async () => {
      const rows = await this.#blocks()
        .find({ _id: { $gt: number } })
        .sort({ _id: 1 })
        .limit(limit)
        .toArray();
      return rows.map(blockOf);
    });
  }

  replace(block: StoredBlock): Promise<boolean> {
    return this.#run(async () => {
      const { number, version } = block;
      const { matchedCount } = await this.#blocks().updateOne(
        { _id: { $eq: number }, version: { $eq: version } },
        { $set: { ...rowOf(block), version: version + 1 } },
      );
      return matchedCount === 1;
    });
  }

  mark(): Promise<ShredderMark | null> {
    return this.#run(async () => {
      const row = await this.#marks().findOne({ _id: { $eq: 'shredder' } });
      return row && { position: row.position, event: row.event };
    });
  }

  saveMark(
    { position, event }: ShredderMark,
    before: ShredderMark | null,
    uses: readonly number[],
  ): Promise<boolean> {
    return this.#run(async () => {
      if (uses.length > 0)
        await this.#uses().bulkWrite(
          uses.map((_id) => ({ replaceOne: { filter: { _id }, replacement: {}, upsert: true } })),
        );
      if (before === null) return isInserted(this.#marks().insertOne({ _id: 'shredder', position, event }));
      const { matchedCount } = await this.#marks().updateOne(
        { _id: { $eq: 'shredder' }, position: { $eq: before.position } },
        { $set: { position, event } },
      );
      return matchedCount === 1;
    });
  }

  missing(numbers: readonly number[]): Promise<readonly number[]> {
    return this.#run(async () => {
      const [uses, there] = await Promise.all([
        this.#uses().find(all, numbersOnly).toArray(),
        this.#blocks().find(all, numbersOnly).toArray(),
      ]);
      const missing = new Set([...numbers, ...uses.map(({ _id }) => _id)]);
      for (const { _id } of there) missing.delete(_id);
      return [...missing];
    });
  }

  wrappers(): Promise<readonly string[]> {
    return this.#run(() => this.#blocks().distinct('wrappedBy', all));
  }

  async #run<Result>(work: () => Promise<Result>): Promise<Result> {
    try {
      return await work();
    } catch (error) {
      throw new PersonalKeysUnavailable(`The keys of personal data can't be reached: ${messageOf(error)}`, {
        cause: error,
      });
    }
  }

  #blocks() {
    return this.database.collection<BlockRow>('personal_keys');
  }

  #marks() {
    return this.database.collection<MarkRow>('personal_key_state');
  }

  #uses() {
    return this.database.collection<{ readonly _id: number }>('personal_key_uses');
  }
}
