import { Binary } from 'mongodb';
import type { EventMark } from '../../application/ports/event-store.js';
import {
  PersonalKeysUnavailable,
  type PersonalKeys,
  type ShredderMark,
  type StoredBlock,
  type WrappedBlock,
} from '../../application/ports/personal-keys.js';
import { messageOf } from '../../domain/errors.js';
import type { MongoDatabase } from './database.js';
import { isDuplicate } from './refusals.js';

interface BlockRow {
  readonly _id: number;
  readonly version: number;
  readonly wrappedBy: string;
  readonly iv: Binary;
  readonly sealed: Binary;
}

/** Beside the blocks: the number of the last one, and how far the shredder has come. */
interface StateRow {
  readonly _id: 'blocks' | 'shredder';
  readonly last?: number;
  readonly position?: bigint;
  readonly event?: EventMark | null;
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

/** The keys of personal data, one document a block. */
export class MongoPersonalKeys implements PersonalKeys {
  readonly #database: MongoDatabase;
  #beginning: Promise<void> | null = null;

  constructor(database: MongoDatabase) {
    this.#database = database;
  }

  first(make: (number: number) => WrappedBlock): Promise<StoredBlock | null> {
    return this.#run(async () => {
      // Before it is looked for: another process may add it meanwhile, and begin the count.
      const hadBlocks = (await this.#state().findOne({ _id: { $eq: 'blocks' } })) !== null;
      const [found] = await this.load([0]);
      if (found !== undefined || hadBlocks) return found ?? null;
      await this.#blocks()
        .insertOne({ _id: 0, version: 1, ...rowOf(make(0)) })
        .catch((error: unknown) => {
          if (!isDuplicate(error)) throw error;
        });
      return (await this.load([0]))[0] ?? null;
    });
  }

  add(count: number, make: (number: number) => WrappedBlock): Promise<readonly number[]> {
    return this.#run(async () => {
      const before = (await this.#count(count)) ?? (await this.#begun().then(() => this.#count(count)));
      this.#beginning = null;
      if (before === null) throw new Error('the number of the last block is missing');
      const numbers = Array.from({ length: count }, (_, index) => before + 1 + index);
      await this.#blocks().insertMany(
        numbers.map((number) => ({ _id: number, version: 1, ...rowOf(make(number)) })),
      );
      return numbers;
    });
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
      const row = await this.#state().findOne({ _id: { $eq: 'shredder' } });
      return row?.position === undefined ? null : { position: row.position, event: row.event ?? null };
    });
  }

  async saveMark({ position, event }: ShredderMark): Promise<void> {
    await this.#run(() =>
      this.#state().updateOne({ _id: { $eq: 'shredder' } }, { $set: { position, event } }, { upsert: true }),
    );
  }

  /**
   * Counts so many more, and returns what was counted before; null if the count has not begun. Some engines
   * show later counts, too, in what they return of after.
   */
  async #count(more: number): Promise<number | null> {
    const counted = await this.#state().findOneAndUpdate(
      { _id: { $eq: 'blocks' } },
      { $inc: { last: more } },
      { returnDocument: 'before' },
    );
    return counted?.last ?? null;
  }

  /** Once for all who come together: some engines take two first documents of one id at the same time. */
  #begun(): Promise<void> {
    this.#beginning ??= this.#begin().catch((error: unknown) => {
      this.#beginning = null;
      throw error;
    });
    return this.#beginning;
  }

  /** Not an upsert with the count: some engines lose a count if several are the first at once. */
  async #begin(): Promise<void> {
    try {
      await this.#state().insertOne({ _id: 'blocks', last: 0 });
    } catch (error) {
      if (!isDuplicate(error)) throw error;
    }
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
    return this.#database.collection<BlockRow>('personal_keys');
  }

  #state() {
    return this.#database.collection<StateRow>('personal_key_state');
  }
}
