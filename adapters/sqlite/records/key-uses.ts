import type { KeyUseRows } from '../../../application/ports/key-uses.js';
import { Instant, type Uuid } from '../../../domain/ids.js';
import type { Database } from '../database.js';
import type { SqliteWriter } from '../writer/writer.js';

/** The last use of each key, in events.db. */
export const sqliteKeyUses = (writer: SqliteWriter, database: Database): KeyUseRows => {
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
