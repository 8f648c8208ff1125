import type { FoundRecord, StoredRecord } from '../../../application/ports/records.js';
import type { Milliseconds } from '../../../domain/ids.js';
import type { Database } from '../database.js';
import type { OperationSet } from '../writer/operation-set.js';

// The table is named after its first kinds, for signing in.
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

/** The changes of records. Ended ones count as gone. */
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
