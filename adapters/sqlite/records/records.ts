import {
  importKinds,
  ImportsUnavailable,
  type ImportRecords,
} from '../../../application/ports/import-records.js';
import type { FoundRecord, Records, StoredRecord } from '../../../application/ports/records.js';
import {
  signInKinds,
  SignInUnavailable,
  type SignInRecords,
} from '../../../application/ports/sign-in-records.js';
import type { Clock } from '../../../application/ports/system.js';
import { messageOf } from '../../../domain/errors.js';
import type { Database, Statement } from '../database.js';
import type { SqliteWriter } from '../writer/writer.js';

interface Row<Kind> {
  readonly kind: Kind;
  readonly id: string;
  readonly owner: string;
  readonly data: string;
  readonly ends: number | null;
  readonly version: number;
}

const recordOf = <Kind extends string>(row: Row<Kind>): FoundRecord<Kind> => {
  const { kind, id, owner, ends, version } = row;
  const data: object = JSON.parse(row.data);
  return { kind, id, owner, data, ends, version };
};

const columns = 'kind, id, owner, data, ends, version';
const isCurrent = '(ends is null or ends > ?)';

export interface SqliteRecordsOptions {
  readonly writer: SqliteWriter;
  readonly database: Database;
  readonly clock: Clock;
}

/** The names of a port's records, and its error if they can't be reached. */
interface About<Kind> {
  readonly kinds: readonly Kind[];
  readonly Unavailable: new (message: string, options: ErrorOptions) => Error;
}

/** The records of some kinds, in events.db. */
class SqliteRecords<Kind extends string> implements Records<Kind> {
  readonly #writer: SqliteWriter;
  readonly #clock: Clock;
  readonly #find: Statement;
  readonly #list: Statement;

  constructor(
    { writer, database, clock }: SqliteRecordsOptions,
    private readonly about: About<Kind>,
  ) {
    this.#writer = writer;
    this.#clock = clock;
    this.#find = database.prepare(
      `select ${columns} from sign_in_records where kind = ? and id = ? and ${isCurrent}`,
    );
    this.#list = database.prepare(
      `select ${columns} from sign_in_records where kind = ? and owner = ? and ${isCurrent} order by id`,
    );
  }

  add(record: StoredRecord<Kind>): Promise<boolean> {
    return this.#reachable(() => this.#writer.run('addRecord', { ...record, now: this.#clock.now() }));
  }

  find(kind: Kind, id: string): Promise<FoundRecord<Kind> | null> {
    return this.#reachable(async () => {
      const row: Row<Kind> | undefined = this.#find.get(kind, id, this.#clock.now());
      return row === undefined ? null : recordOf(row);
    });
  }

  change(found: FoundRecord<Kind>, next: Pick<StoredRecord<Kind>, 'data' | 'ends'>): Promise<boolean> {
    return this.#reachable(() =>
      this.#writer.run('changeRecord', { ...found, ...next, now: this.#clock.now() }),
    );
  }

  remove(kind: Kind, id: string): Promise<boolean> {
    return this.#reachable(() => this.#writer.run('removeRecord', { kind, id, now: this.#clock.now() }));
  }

  removeAllOf(kind: Kind, owner: string, except: string | null): Promise<void> {
    return this.#reachable(() => this.#writer.run('removeRecordsOf', { kind, owner, except }));
  }

  listOf(kind: Kind, owner: string): Promise<readonly FoundRecord<Kind>[]> {
    return this.#reachable(async () => {
      const rows: readonly Row<Kind>[] = this.#list.all(kind, owner, this.#clock.now());
      return rows.map(recordOf);
    });
  }

  removeEnded(): Promise<void> {
    const { kinds } = this.about;
    return this.#reachable(() => this.#writer.run('removeEndedRecords', { kinds, now: this.#clock.now() }));
  }

  async #reachable<T>(work: () => Promise<T>): Promise<T> {
    try {
      return await work();
    } catch (error) {
      throw new this.about.Unavailable(messageOf(error), { cause: error });
    }
  }
}

export const sqliteSignInRecords = (options: SqliteRecordsOptions): SignInRecords =>
  new SqliteRecords(options, { kinds: signInKinds, Unavailable: SignInUnavailable });

/** Files of contacts that are being imported, in events.db. */
export const sqliteImportRecords = (options: SqliteRecordsOptions): ImportRecords =>
  new SqliteRecords(options, { kinds: importKinds, Unavailable: ImportsUnavailable });
