import type { Collection, Filter, IndexDescription } from 'mongodb';
import { ImportsUnavailable, type ImportRecords } from '../../../application/ports/import-records.js';
import type { FoundRecord, Records, StoredRecord } from '../../../application/ports/records.js';
import { SignInUnavailable, type SignInRecords } from '../../../application/ports/sign-in-records.js';
import type { Clock } from '../../../application/ports/system.js';
import { guarded, type MongoDatabase } from '../client/database.js';
import { isDuplicate } from '../client/refusals.js';

interface Row {
  /** Kind and id. */
  readonly _id: string;
  readonly kind: string;
  readonly id: string;
  readonly owner: string;
  readonly data: object;
  readonly version: number;
  /** The server deletes the row some time after this; absent if it never ends. */
  readonly ends?: Date;
}

export const recordIndexes: readonly IndexDescription[] = [
  { key: { owner: 1, kind: 1, id: 1 }, name: 'by_owner' },
  { key: { ends: 1 }, name: 'ended', expireAfterSeconds: 0 },
];

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

const recordOf = <Kind>(kind: Kind, { id, owner, data, version, ends }: Row) => ({
  kind,
  id,
  owner,
  data,
  version,
  ends: ends?.getTime() ?? null,
});

interface MongoRecordsOptions {
  readonly database: MongoDatabase;
  readonly clock: Clock;
}

type Unavailable = typeof SignInUnavailable | typeof ImportsUnavailable;

/**
 * The records of some kinds, one document each. The collection is named after its first kinds, for signing
 * in.
 */
class MongoRecords<Kind extends string> implements Records<Kind> {
  readonly #database: MongoDatabase;
  readonly #clock: Clock;
  readonly #Unavailable: Unavailable;

  constructor({ database, clock }: MongoRecordsOptions, Unavailable: Unavailable) {
    this.#database = database;
    this.#clock = clock;
    this.#Unavailable = Unavailable;
  }

  add(record: StoredRecord<Kind>): Promise<boolean> {
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

  find(kind: Kind, id: string): Promise<FoundRecord<Kind> | null> {
    return this.#with(async (rows) => {
      const row = await rows.findOne({ _id: { $eq: keyOf(kind, id) } });
      return row !== null && this.#isCurrent(row) ? recordOf(kind, row) : null;
    });
  }

  change(found: FoundRecord<Kind>, next: Pick<StoredRecord<Kind>, 'data' | 'ends'>): Promise<boolean> {
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

  remove(kind: Kind, id: string): Promise<boolean> {
    return this.#with(async (rows) => {
      const row = await rows.findOneAndDelete({ _id: { $eq: keyOf(kind, id) } });
      return row !== null && this.#isCurrent(row);
    });
  }

  removeAllOf(kind: Kind, owner: string, except: string | null): Promise<void> {
    return this.#with(async (rows) => {
      await rows.deleteMany({ owner: { $eq: owner }, kind: { $eq: kind }, id: { $ne: except ?? '' } });
    });
  }

  listOf(kind: Kind, owner: string): Promise<readonly FoundRecord<Kind>[]> {
    return this.#with(async (rows) => {
      const found = await rows
        .find({ owner: { $eq: owner }, kind: { $eq: kind } })
        .sort({ id: 1 })
        .toArray();
      return found.filter((row) => this.#isCurrent(row)).map((row) => recordOf(kind, row));
    });
  }

  async removeEnded(): Promise<void> {
    // The index `ended` does.
  }

  #now(): Date {
    return new Date(this.#clock.now());
  }

  #isCurrent({ ends }: Pick<Row, 'ends'>): boolean {
    return ends === undefined || ends > this.#now();
  }

  #with<T>(work: (rows: Collection<Row>) => Promise<T>): Promise<T> {
    return guarded(this.#Unavailable, async () =>
      work(await this.#database.indexed<Row>('sign_in_records', recordIndexes)),
    );
  }
}

export const mongoSignInRecords = (options: MongoRecordsOptions): SignInRecords =>
  new MongoRecords(options, SignInUnavailable);

/** Files of contacts that are being imported, in MongoDB. */
export const mongoImportRecords = (options: MongoRecordsOptions): ImportRecords =>
  new MongoRecords(options, ImportsUnavailable);
