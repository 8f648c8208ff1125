import type { Database } from '../database.js';
import type { OperationSet, WriterOf } from '../writer/operation-set.js';
import type { KeyUseRows } from '../../../application/ports/key-uses.js';
import { Instant, type Uuid } from '../../../domain/ids.js';

/** The last use of each key, in events.db. */
export const sqliteKeyUses = (writer: WriterOf<typeof keyUseOperations>, database: Database): KeyUseRows => {
  const select = database.prepare('select at from key_uses where key = ?');
  return {
    save: (uses) => writer.run('saveKeyUses', uses),
    read: (keyIds) => {
      const known = keyIds.flatMap((id): [Uuid, Instant][] => {
        const row: { at: unknown } | undefined = select.get(id);
        return row === undefined ? [] : [[id, Instant.parse(row.at)]];
      });
      return Promise.resolve(new Map(known));
    },
  };
};

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
