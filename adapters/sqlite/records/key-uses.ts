import type { KeyUseRows } from '../../../application/ports/key-uses.js';
import { Instant, type Uuid } from '../../../domain/ids.js';
import { rowFrom, type Database } from '../database.js';
import type { SqliteWriter } from '../writer/writer.js';

const save =
  'insert into key_uses (key, at) values (?, ?) on conflict (key) do update set at = excluded.at where at < excluded.at';

/** The last use of each key, in events.db. */
export const sqliteKeyUses = (writer: SqliteWriter, database: Database): KeyUseRows => {
  const select = database.prepare('select at from key_uses where key = ?');
  return {
    save: async (uses) => void (await writer.write(...uses.map((use) => [save, ...use] as const))),
    read: async (keyIds) =>
      new Map(
        keyIds.flatMap((id): [Uuid, Instant][] => {
          const row = rowFrom<{ readonly at: unknown }>(select, id);
          return row === undefined ? [] : [[id, Instant.parse(row.at)]];
        }),
      ),
  };
};
