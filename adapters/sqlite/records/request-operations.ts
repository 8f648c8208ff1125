import type { Database } from '../database.js';
import type { OperationSet } from '../writer/operation-set.js';

/** A request: its id, when it came, its organization, all of it as JSON, and its subjects. */
type Saved = readonly [
  id: string,
  at: string,
  org: string | null,
  record: string,
  subjects: readonly string[],
];

const schema = `
  create table if not exists requests (id text primary key, at text not null, record text not null) strict, without rowid;
  create index if not exists requests_by_at on requests (at);
  create table if not exists request_subjects (
    id text not null,
    subject text not null,
    at text not null,
    org text,
    primary key (id, subject)
  ) strict, without rowid;
  create index if not exists requests_by_subject on request_subjects (subject, at, id, org);
`;

/** Saves requests, and removes old ones. */
export const requestOperations = (database: Database) => {
  database.exec(schema);
  const insert = database.prepare(
    'insert into requests (id, at, record) values (?, ?, ?) on conflict (id) do nothing',
  );
  const insertSubject = database.prepare(
    'insert into request_subjects (id, subject, at, org) values (?, ?, ?, ?) on conflict do nothing',
  );
  const remove = database.prepare('delete from requests where id = ?');
  const removeSubjects = database.prepare('delete from request_subjects where id = ?');
  return {
    operations: {
      saveRequests: (requests: readonly Saved[]): void => {
        for (const [id, at, org, record, subjects] of requests) {
          insert.run(id, at, record);
          for (const subject of subjects) insertSubject.run(id, subject, at, org);
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
