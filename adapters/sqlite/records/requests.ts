import type { RequestRecord, RequestRows } from '../../../application/ports/requests.js';
import { rowFrom, rowsFrom, type Database } from '../database.js';
import { nextTurn } from '../../../application/timing/next-turn.js';
import type { SqliteWriter } from '../writer/writer.js';

/** Removing this many at a time doesn't delay other writes. */
const removedAtOnce = 200;

/** After every time as it is stored. */
const endOfTime = '9999';

const insert = 'insert into requests (id, at, record) values (?, ?, ?) on conflict (id) do nothing';
const insertSubject =
  'insert into request_subjects (id, subject, at, org) values (?, ?, ?, ?) on conflict do nothing';
const removals = ['delete from requests where id = ?', 'delete from request_subjects where id = ?'];

interface Row {
  readonly record: string;
}

const recordOf = ({ record }: Row): RequestRecord => JSON.parse(record) as RequestRecord;

export const sqliteRequests = (writer: SqliteWriter, database: Database): RequestRows => {
  const select = database.prepare('select record from requests where id = ?');
  const oldest = database.prepare('select id from requests where at < ? order by at limit ?');
  const bySubject = database.prepare(`
    select record from request_subjects s join requests r on r.id = s.id
    where s.subject = ?1 and (s.at, s.id) < (?2, ?3) and (?4 is null or s.org = ?4) order by s.at desc, s.id desc limit ?5`);
  return {
    save: async (records) => {
      const statements = records.flatMap((record) => {
        const { id, at, org, subjects } = record;
        return [
          [insert, id, at, JSON.stringify(record)] as const,
          ...subjects.map((subject) => [insertSubject, id, subject, at, org] as const),
        ];
      });
      await writer.write(...statements);
    },
    find: async (id) => {
      const row = rowFrom<Row>(select, id);
      return row === undefined ? null : recordOf(row);
    },
    about: async (subject, org, after, limit) => {
      const { at, id } = after ?? { at: endOfTime, id: '' };
      return rowsFrom<Row>(bySubject, subject, at, id, org, limit).map(recordOf);
    },
    removeOld: async (before, signal) => {
      const end = new Date(before).toISOString();
      while (!signal.aborted) {
        const rows = rowsFrom<{ readonly id: string }>(oldest, end, removedAtOnce);
        if (rows.length === 0) return;
        await writer.write(...rows.flatMap(({ id }) => removals.map((sql) => [sql, id] as const)));
        await nextTurn();
      }
    },
  };
};
