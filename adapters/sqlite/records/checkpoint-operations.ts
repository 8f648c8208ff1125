import type { Database } from '../database.js';
import type { OperationSet } from '../writer/operation-set.js';

/** One checkpoint per name. Its position never goes back. */
export const checkpointOperations = (database: Database) => {
  database.exec(
    'create table if not exists checkpoints (name text primary key, position integer not null, state text not null, event text) strict, without rowid',
  );
  const save = database.prepare(`
    insert into checkpoints (name, position, event, state) values (?, ?, ?, ?)
    on conflict (name) do update set position = excluded.position, event = excluded.event, state = excluded.state where position <= excluded.position`);
  return {
    operations: {
      saveCheckpoint: ({
        name,
        position,
        event,
        state,
      }: {
        readonly name: string;
        readonly position: number;
        /** JSON. */
        readonly event: string | null;
        readonly state: string;
      }): void => {
        save.run(name, position, event, state);
      },
    },
  } satisfies OperationSet;
};
