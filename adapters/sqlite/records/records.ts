import {
  importKinds,
  ImportsUnavailable,
  signInKinds,
  SignInUnavailable,
  type ImportRecords,
  type FoundRecord,
  type Records,
  type SignInRecords,
} from '../../../application/ports/records.js';
import type { Clock } from '../../../application/ports/system.js';
import { rowFrom, rowsFrom, type Database } from '../database.js';
import { reachable, type Unavailable } from '../errors.js';
import type { SqliteWriter } from '../writer/writer.js';

type Row<Kind extends string> = Omit<FoundRecord<Kind>, 'data'> & { readonly data: string };

const recordOf = <Kind extends string>({ data, ...row }: Row<Kind>): FoundRecord<Kind> => ({
  ...row,
  data: JSON.parse(data) as object,
});

/** Ended ones count as gone. */
const isCurrent = '(ends is null or ends > ?)';
const add = `
  insert into sign_in_records (kind, id, owner, data, ends, version) values (?, ?, ?, ?, ?, 0)
  on conflict (kind, id) do update
    set owner = excluded.owner, data = excluded.data, ends = excluded.ends, version = 0
    where ends <= ?`;
const change = `
  update sign_in_records set data = ?, ends = ?, version = version + 1
  where kind = ? and id = ? and version = ? and ${isCurrent}`;
const remove = `delete from sign_in_records where kind = ? and id = ? and ${isCurrent}`;
const removeAllOf = "delete from sign_in_records where kind = ? and owner = ? and id <> coalesce(?, '')";
// The plus keeps it from the index by kinds: of a kind, few have ended.
const removeEnded = 'delete from sign_in_records where ends <= ? and +kind = ?';

export interface SqliteRecordsOptions {
  readonly writer: SqliteWriter;
  readonly database: Database;
  readonly clock: Clock;
}

/** The records of some kinds, in events.db. */
const sqliteRecords = <Kind extends string>(
  { writer, database, clock }: SqliteRecordsOptions,
  kinds: readonly Kind[],
  Unavailable: Unavailable,
): Records<Kind> => {
  const byId = database.prepare(`select * from sign_in_records where kind = ? and id = ? and ${isCurrent}`);
  const byOwner = database.prepare(
    `select * from sign_in_records where kind = ? and owner = ? and ${isCurrent} order by id`,
  );
  return reachable<Records<Kind>>(Unavailable, {
    add: async ({ kind, id, owner, data, ends }) =>
      (await writer.write([add, kind, id, owner, JSON.stringify(data), ends, clock.now()])) > 0,
    find: async (kind, id) => {
      const row = rowFrom<Row<Kind>>(byId, kind, id, clock.now());
      return row === undefined ? null : recordOf(row);
    },
    change: async ({ kind, id, version }, { data, ends }) =>
      (await writer.write([change, JSON.stringify(data), ends, kind, id, version, clock.now()])) > 0,
    remove: async (kind, id) => (await writer.write([remove, kind, id, clock.now()])) > 0,
    removeAllOf: async (kind, owner, except) => void (await writer.write([removeAllOf, kind, owner, except])),
    listOf: async (kind, owner) => rowsFrom<Row<Kind>>(byOwner, kind, owner, clock.now()).map(recordOf),
    removeEnded: async () =>
      void (await writer.write(...kinds.map((kind) => [removeEnded, clock.now(), kind] as const))),
  });
};

export const sqliteSignInRecords = (options: SqliteRecordsOptions): SignInRecords =>
  sqliteRecords(options, signInKinds, SignInUnavailable);

/** Files of contacts that are being imported, in events.db. */
export const sqliteImportRecords = (options: SqliteRecordsOptions): ImportRecords =>
  sqliteRecords(options, importKinds, ImportsUnavailable);
