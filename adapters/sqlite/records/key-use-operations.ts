import type { Database } from '../database.js';
import type { OperationSet } from '../writer/operation-set.js';

/** A key and when it was last used. */
type Use = readonly [keyId: string, at: string];

/** Saves the last use of each key. A use before the saved one changes nothing. */
export const keyUseOperations = (database: Database) => {
  database.exec(
    'create table if not exists key_uses (key text primary key, at text not null) strict, without rowid',
  );
  const save = database.prepare(
    'insert into key_uses (key, at) values (?, ?) on conflict (key) do update set at = excluded.at where at < excluded.at',
  );
  return {
    operations: {
      saveKeyUses: (uses: readonly Use[]): void => {
        for (const [key, at] of uses) save.run(key, at);
      },
    },
  } satisfies OperationSet;
};
