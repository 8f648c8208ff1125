import type { FoundRecord, StoredRecord, Records } from '../../../application/ports/records.js';
import type { Milliseconds } from '../../../domain/ids.js';
import type { Database, Statement } from '../database.js';
import type { OperationSet, WriterOf } from '../writer/operation-set.js';
import {
  importKinds,
  ImportsUnavailable,
  type ImportRecords,
} from '../../../application/ports/import-records.js';
import {
  signInKinds,
  SignInUnavailable,
  type SignInRecords,
} from '../../../application/ports/sign-in-records.js';
import type { Clock } from '../../../application/ports/system.js';
import { messageOf } from '../../../domain/errors.js';

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
  readonly writer: WriterOf<typeof recordOperations>;
  readonly database: Database;
  readonly clock: Clock;
}

/** What the records of a port are called, and how it says that they can't be reached. */
interface About<Kind> {
  readonly kinds: readonly Kind[];
  readonly Unavailable: new (message: string, options: ErrorOptions) => Error;
}

/** The records of some kinds, in events.db. */
class SqliteRecords<Kind extends string> implements Records<Kind> {
  readonly #writer: WriterOf<typeof recordOperations>;
  readonly #clock: Clock;
  readonly #about: About<Kind>;
  readonly #find: Statement;
  readonly #list: Statement;

  constructor({ writer, database, clock }: SqliteRecordsOptions, about: About<Kind>) {
    this.#writer = writer;
    this.#clock = clock;
    this.#about = about;
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
    const { kinds } = this.#about;
    return this.#reachable(() => this.#writer.run('removeEndedRecords', { kinds, now: this.#clock.now() }));
  }

  async #reachable<T>(work: () => Promise<T>): Promise<T> {
    try {
      return await work();
    } catch (error) {
      throw new this.#about.Unavailable(messageOf(error), { cause: error });
    }
  }
}

/** The records of signing in, in events.db. */
export const sqliteSignInRecords = (options: SqliteRecordsOptions): SignInRecords =>
  new SqliteRecords(options, { kinds: signInKinds, Unavailable: SignInUnavailable });

/** Files of contacts that are being imported, in events.db. */
export const sqliteImportRecords = (options: SqliteRecordsOptions): ImportRecords =>
  new SqliteRecords(options, { kinds: importKinds, Unavailable: ImportsUnavailable });

// The table has the name of its first kinds: those of signing in.
const schema = `
  create table if not exists sign_in_records (
    kind text not null,
    id text not null,
    owner text not null,
    data text not null,
    ends integer,
    version integer not null,
    primary key (kind, id)
  ) strict, without rowid;
  create index if not exists sign_in_records_by_owner on sign_in_records (kind, owner, id);
  create index if not exists sign_in_records_by_end on sign_in_records (ends) where ends is not null;
`;

type Timed<T> = T & { readonly now: Milliseconds };
type Place = Pick<StoredRecord<string>, 'kind' | 'id'>;

/** The changes of records. Those that have ended count as gone. */
export const recordOperations = (database: Database) => {
  database.exec(schema);
  const add = database.prepare(`
    insert into sign_in_records (kind, id, owner, data, ends, version) values (?, ?, ?, ?, ?, 0)
    on conflict (kind, id) do update
      set owner = excluded.owner, data = excluded.data, ends = excluded.ends, version = version + 1
      where ends <= ?`);
  const change = database.prepare(
    `update sign_in_records set data = ?, ends = ?, version = version + 1
     where kind = ? and id = ? and version = ? and (ends is null or ends > ?)`,
  );
  const remove = database.prepare(
    'delete from sign_in_records where kind = ? and id = ? and (ends is null or ends > ?)',
  );
  const removeAllOf = database.prepare(
    "delete from sign_in_records where kind = ? and owner = ? and id <> coalesce(?, '')",
  );
  // The plus keeps it from the index by kinds: of a kind, few have ended.
  const removeEnded = database.prepare('delete from sign_in_records where ends <= ? and +kind = ?');
  return {
    operations: {
      addRecord: ({ kind, id, owner, data, ends, now }: Timed<StoredRecord<string>>): boolean =>
        Number(add.run(kind, id, owner, JSON.stringify(data), ends, now).changes) > 0,

      changeRecord: ({ kind, id, version, data, ends, now }: Timed<FoundRecord<string>>): boolean =>
        Number(change.run(JSON.stringify(data), ends, kind, id, version, now).changes) > 0,

      removeRecord: ({ kind, id, now }: Timed<Place>): boolean =>
        Number(remove.run(kind, id, now).changes) > 0,

      removeRecordsOf: (of: {
        readonly kind: string;
        readonly owner: string;
        readonly except: string | null;
      }): void => void removeAllOf.run(of.kind, of.owner, of.except),

      removeEndedRecords: ({ kinds, now }: Timed<{ readonly kinds: readonly string[] }>): void => {
        for (const kind of kinds) removeEnded.run(now, kind);
      },
    },
  } satisfies OperationSet;
};
