import type { Database } from '../database.js';
import type { OperationSet, WriterOf } from '../writer/operation-set.js';
import type { RequestRecord, RequestRows } from '../../../application/ports/requests.js';
import { nextTurn } from '../../../application/timing/next-turn.js';

/** Removing this many at a time delays nobody who waits for the writer. */
const removedAtOnce = 200;

/** After every time as it is stored. */
const endOfTime = '9999';

/** The request log, in events.db. */
export const sqliteRequests = (
  writer: WriterOf<typeof requestOperations>,
  database: Database,
): RequestRows => {
  const select = database.prepare('select record from requests where id = ?');
  const oldest = database.prepare('select id from requests where at < ? order by at limit ?');
  const bySubject = database.prepare(`
    select record from request_subjects s join requests r on r.id = s.id
    where s.subject = ? and (s.at, s.id) < (?, ?) order by s.at desc, s.id desc limit ?`);
  return {
    save: (records) =>
      writer.run(
        'saveRequests',
        records.map((record) => [record.id, record.at, JSON.stringify(record), record.subjects] as const),
      ),
    find: (id) => {
      const row: { readonly record: string } | undefined = select.get(id);
      return Promise.resolve(row === undefined ? null : (JSON.parse(row.record) as RequestRecord));
    },
    about: (subject, after, limit) => {
      const rows: readonly { readonly record: string }[] = bySubject.all(
        subject,
        after?.at ?? endOfTime,
        after?.id ?? '',
        limit,
      );
      return Promise.resolve(rows.map(({ record }) => JSON.parse(record) as RequestRecord));
    },
    removeOld: async (before, signal) => {
      const end = new Date(before).toISOString();
      while (!signal.aborted) {
        const rows: readonly { readonly id: string }[] = oldest.all(end, removedAtOnce);
        if (rows.length === 0) return;
        await writer.run(
          'removeRequests',
          rows.map(({ id }) => id),
        );
        await nextTurn();
      }
    },
  };
};

/** A request: its id, when it came, all of it as JSON, and what finds it. */
type Saved = readonly [id: string, at: string, record: string, subjects: readonly string[]];

const schema = `
  create table if not exists requests (id text primary key, at text not null, record text not null) strict, without rowid;
  create index if not exists requests_by_at on requests (at);
  create table if not exists request_subjects (
    id text not null,
    subject text not null,
    at text not null,
    primary key (id, subject)
  ) strict, without rowid;
  create index if not exists requests_by_subject on request_subjects (subject, at, id);
`;

/** Saves requests, and removes old ones. */
export const requestOperations = (database: Database) => {
  database.exec(schema);
  const insert = database.prepare(
    'insert into requests (id, at, record) values (?, ?, ?) on conflict (id) do nothing',
  );
  const insertSubject = database.prepare(
    'insert into request_subjects (id, subject, at) values (?, ?, ?) on conflict do nothing',
  );
  const remove = database.prepare('delete from requests where id = ?');
  const removeSubjects = database.prepare('delete from request_subjects where id = ?');
  return {
    operations: {
      saveRequests: (requests: readonly Saved[]): void => {
        for (const [id, at, record, subjects] of requests) {
          insert.run(id, at, record);
          for (const subject of subjects) insertSubject.run(id, subject, at);
        }
      },
      removeRequests: (ids: readonly string[]): void => {
        for (const id of ids) {
          remove.run(id);
          removeSubjects.run(id);
        }
      },
    },
  } satisfies OperationSet;
};
