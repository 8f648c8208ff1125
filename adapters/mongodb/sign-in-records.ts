import type { Collection, Filter, IndexDescription } from 'mongodb';
import {
  SignInUnavailable,
  type FoundSignInRecord,
  type SignInKind,
  type SignInRecord,
  type SignInRecords,
} from '../../application/ports/sign-in-records.js';
import type { Clock } from '../../application/ports/system.js';
import { guarded, type MongoDatabase } from './database.js';
import { isDuplicate } from './refusals.js';

interface Row {
  /** Kind and id. */
  readonly _id: string;
  readonly kind: SignInKind;
  readonly id: string;
  readonly owner: string;
  readonly data: object;
  readonly version: number;
  /** The server deletes the row some time after this; absent if it never ends. */
  readonly ends?: Date;
}

export const signInIndexes: readonly IndexDescription[] = [
  { key: { owner: 1, kind: 1, id: 1 }, name: 'by_owner' },
  { key: { ends: 1 }, name: 'ended', expireAfterSeconds: 0 },
];

const keyOf = (kind: SignInKind, id: string): string => `${kind} ${id}`;

const rowOf = ({ kind, id, owner, data, ends }: SignInRecord, version: number): Row => ({
  _id: keyOf(kind, id),
  kind,
  id,
  owner,
  data,
  version,
  ...(ends !== null && { ends: new Date(ends) }),
});

const recordOf = ({ kind, id, owner, data, version, ends }: Row): FoundSignInRecord => ({
  kind,
  id,
  owner,
  data,
  version,
  ends: ends?.getTime() ?? null,
});

/** The records of signing in, one document each. */
export class MongoSignInRecords implements SignInRecords {
  readonly #database: MongoDatabase;
  readonly #clock: Clock;

  constructor({ database, clock }: { readonly database: MongoDatabase; readonly clock: Clock }) {
    this.#database = database;
    this.#clock = clock;
  }

  add(record: SignInRecord): Promise<boolean> {
    return this.#with(async (rows) => {
      const row = rowOf(record, 0);
      // One that has ended is in the way until the server deletes it.
      await rows.deleteOne({ _id: { $eq: row._id }, ends: { $lte: this.#now() } });
      try {
        await rows.insertOne(row);
        return true;
      } catch (error) {
        if (!isDuplicate(error)) throw error;
        // Our own: the response to the first insert was lost, and the driver has repeated it.
        const there = await rows.findOne({ _id: { $eq: row._id } });
        return JSON.stringify(there) === JSON.stringify(row);
      }
    });
  }

  find(kind: SignInKind, id: string): Promise<FoundSignInRecord | null> {
    return this.#with(async (rows) => {
      const row = await rows.findOne({ _id: { $eq: keyOf(kind, id) } });
      return row !== null && this.#isCurrent(row) ? recordOf(row) : null;
    });
  }

  change(found: FoundSignInRecord, next: Pick<SignInRecord, 'data' | 'ends'>): Promise<boolean> {
    return this.#with(async (rows) => {
      const filter: Filter<Row> = {
        _id: { $eq: keyOf(found.kind, found.id) },
        version: { $eq: found.version },
        $or: [{ ends: { $exists: false } }, { ends: { $gt: this.#now() } }],
      };
      const row = rowOf({ ...found, ...next }, found.version + 1);
      return (await rows.replaceOne(filter, row)).matchedCount === 1;
    });
  }

  remove(kind: SignInKind, id: string): Promise<boolean> {
    return this.#with(async (rows) => {
      const row = await rows.findOneAndDelete({ _id: { $eq: keyOf(kind, id) } });
      return row !== null && this.#isCurrent(row);
    });
  }

  removeAllOf(kind: SignInKind, owner: string, except: string | null): Promise<void> {
    return this.#with(async (rows) => {
      await rows.deleteMany({ owner: { $eq: owner }, kind: { $eq: kind }, id: { $ne: except ?? '' } });
    });
  }

  listOf(kind: SignInKind, owner: string): Promise<readonly FoundSignInRecord[]> {
    return this.#with(async (rows) => {
      const found = await rows
        .find({ owner: { $eq: owner }, kind: { $eq: kind } })
        .sort({ id: 1 })
        .toArray();
      return found.filter((row) => this.#isCurrent(row)).map(recordOf);
    });
  }

  async removeEnded(): Promise<void> {
    // The index `ended` does.
  }

  #now(): Date {
    return new Date(this.#clock.now());
  }

  #isCurrent({ ends }: Row): boolean {
    return ends === undefined || ends > this.#now();
  }

  #with<T>(work: (rows: Collection<Row>) => Promise<T>): Promise<T> {
    return guarded(SignInUnavailable, async () =>
      work(await this.#database.indexed<Row>('sign_in_records', signInIndexes)),
    );
  }
}
