import type { Database } from '../database.js';
import type { OperationSet } from '../writer/operation-set.js';

/** A request: its id, when it came, and all of it as JSON. */
type Saved = readonly [id: string, at: string, record: string];

const schema = `
  create table if not exists requests (id text primary key, at text not null, record text not null) strict, without rowid;
  create index if not exists requests_by_at on requests (at);
`;

/** Saves requests, and removes old ones. */
export const requestOperations = (database: Database) => {
  database.exec(schema);
  const insert = database.prepare(
    'insert into requests (id, at, record) values (?, ?, ?) on conflict (id) do nothing',
  );
  const remove = database.prepare('delete from requests where id = ?');
  return {
    operations: {
      saveRequests: (requests: readonly Saved[]): void => {
        for (const [id, at, record] of requests) insert.run(id, at, record);
      },
      removeRequests: (ids: readonly string[]): void => {
        for (const id of ids) remove.run(id);
      },
    },
  } satisfies OperationSet;
};
