import type { Checkpoints } from '../../../application/ports/checkpoints.js';
import {
  importKinds,
  ImportsUnavailable,
  type ImportRecords,
  type FoundRecord,
  type Records,
  signInKinds,
  SignInUnavailable,
  type SignInRecords,
} from '../../../application/ports/records.js';
import type { KeyUseRows } from '../../../application/ports/key-uses.js';
import type { RequestRecord, RequestRows } from '../../../application/ports/requests.js';
import type { Clock } from '../../../application/ports/system.js';
import { nextTurn } from '../../../application/timing/next-turn.js';
import { Instant, type Uuid } from '../../../domain/ids.js';
import { rowFrom, rowsFrom } from '../database.js';
import { reachable, type Unavailable } from '../errors.js';
import { markFrom } from '../log/event-rows.js';
import type { EventsFile } from '../log/events-file.js';

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

type WrittenFile = Pick<EventsFile, 'writer' | 'database'>;

export type SqliteRecordsOptions = WrittenFile & { readonly clock: Clock };

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

const saveUse =
  'insert into key_uses (key, at) values (?, ?) on conflict (key) do update set at = excluded.at where at < excluded.at';

/** The last use of each key, in events.db. */
export const sqliteKeyUses = ({ writer, database }: WrittenFile): KeyUseRows => {
  const select = database.prepare('select at from key_uses where key = ?');
  return {
    save: async (uses) => void (await writer.write(...uses.map((use) => [saveUse, ...use] as const))),
    read: async (keyIds) =>
      new Map(
        keyIds.flatMap((id): [Uuid, Instant][] => {
          const row = rowFrom<{ readonly at: unknown }>(select, id);
          return row === undefined ? [] : [[id, Instant.parse(row.at)]];
        }),
      ),
  };
};

/** Removing this many at a time doesn't delay other writes. */
const removedAtOnce = 200;

/** After every time as it is stored. */
const endOfTime = '9999';

const insertRequest = 'insert into requests (id, at, record) values (?, ?, ?) on conflict (id) do nothing';
const insertSubject =
  'insert into request_subjects (id, subject, at, org) values (?, ?, ?, ?) on conflict do nothing';
const oldest = `(select id from requests where at < ? order by at limit ${removedAtOnce})`;
const removals = ['request_subjects', 'requests'].map(
  (table) => `delete from ${table} where id in ${oldest}`,
);

interface RequestRow {
  readonly record: string;
}

const requestOf = ({ record }: RequestRow): RequestRecord => JSON.parse(record) as RequestRecord;

export const sqliteRequests = ({ writer, database }: WrittenFile): RequestRows => {
  const select = database.prepare('select record from requests where id = ?');
  const bySubject = database.prepare(`
    select record from request_subjects s join requests r on r.id = s.id
    where s.subject = ?1 and (s.at, s.id) < (?2, ?3) and (?4 is null or s.org = ?4) order by s.at desc, s.id desc limit ?5`);
  return {
    save: async (records) => {
      const statements = records.flatMap((record) => {
        const { id, at, org, subjects } = record;
        return [
          [insertRequest, id, at, JSON.stringify(record)] as const,
          ...subjects.map((subject) => [insertSubject, id, subject, at, org] as const),
        ];
      });
      await writer.write(...statements);
    },
    find: async (id) => {
      const row = rowFrom<RequestRow>(select, id);
      return row === undefined ? null : requestOf(row);
    },
    about: async (subject, org, after, limit) => {
      const { at, id } = after ?? { at: endOfTime, id: '' };
      return rowsFrom<RequestRow>(bySubject, subject, at, id, org, limit).map(requestOf);
    },
    removeOld: async (before, signal) => {
      const end = new Date(before).toISOString();
      while (!signal.aborted && (await writer.write(...removals.map((sql) => [sql, end] as const))) > 0)
        await nextTurn();
    },
  };
};

interface ProgressRow {
  readonly name: string;
  readonly position: number;
  readonly event: string | null;
  readonly openSince: number | null;
}

const progressOf = ({ position, event, openSince }: ProgressRow) => ({
  position: BigInt(position),
  ...markFrom(event),
  ...(openSince !== null && { openSince }),
});

/** Its position never goes back. */
const advance = `
  insert into checkpoints (name, position, event, openSince, state) values (?, ?, ?, ?, ?)
  on conflict (name) do update set position = excluded.position, event = excluded.event, openSince = excluded.openSince, state = excluded.state
    where position <= excluded.position`;

/** One checkpoint per name, in events.db. */
export const sqliteCheckpoints = ({ writer, database }: WrittenFile): Checkpoints => {
  const byName = database.prepare('select * from checkpoints where name = ?');
  const all = database.prepare('select name, position, event, openSince from checkpoints');
  return {
    load: async (name) => {
      const row = rowFrom<ProgressRow & { readonly state: string }>(byName, name);
      return row === undefined ? null : { ...progressOf(row), state: JSON.parse(row.state) as unknown };
    },
    all: async () => rowsFrom<ProgressRow>(all).map((row) => ({ name: row.name, ...progressOf(row) })),
    save: async (name, { position, event, openSince, state }) => {
      const mark = event === undefined ? null : JSON.stringify(event);
      await writer.write([advance, name, Number(position), mark, openSince ?? null, JSON.stringify(state)]);
    },
  };
};
