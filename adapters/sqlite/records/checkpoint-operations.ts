import type { Database } from '../database.js';
import type { OperationSet } from '../writer/operation-set.js';

/** One checkpoint per name. Its position never goes back. */
export const checkpointOperations = (database: Database) => {
  database.exec(
    'create table if not exists checkpoints (name text primary key, position integer not null, event text, open_since integer, state text not null) strict, without rowid',
  );
  const save = database.prepare(`
    insert into checkpoints (name, position, event, open_since, state) values (?, ?, ?, ?, ?)
    on conflict (name) do update set position = excluded.position, event = excluded.event, open_since = excluded.open_since, state = excluded.state
      where position <= excluded.position`);
  return {
    operations: {
      saveCheckpoint: ({
        name,
        position,
        event,
        openSince,
        state,
      }: {
        readonly name: string;
        readonly position: number;
        /** JSON. */
        readonly event: string | null;
        readonly openSince: number | null;
        readonly state: string;
      }): void => {
        save.run(name, position, event, openSince, state);
      },
    },
  } satisfies OperationSet;
};
