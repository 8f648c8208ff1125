import { z } from 'zod';
import type { Checkpoints } from '../../../application/ports/checkpoints.js';
import type { Database } from '../database.js';
import { markFrom } from '../log/event-marks.js';
import type { SqliteWriter } from '../writer/writer.js';

const Progress = z.object({
  position: z.number(),
  event: z.string().nullable(),
  openSince: z.int().nullable(),
});
const Row = Progress.extend({ state: z.string() });
const NamedProgress = Progress.extend({ name: z.string() });

const progressOf = ({ position, event, openSince }: z.infer<typeof Progress>) => ({
  position: BigInt(position),
  ...markFrom(event),
  ...(openSince !== null && { openSince }),
});

/** Its position never goes back. */
const save = `
  insert into checkpoints (name, position, event, openSince, state) values (?, ?, ?, ?, ?)
  on conflict (name) do update set position = excluded.position, event = excluded.event, openSince = excluded.openSince, state = excluded.state
    where position <= excluded.position`;

/** One checkpoint per name, in events.db. */
export const sqliteCheckpoints = (writer: SqliteWriter, database: Database): Checkpoints => {
  const byName = database.prepare('select * from checkpoints where name = ?');
  const all = database.prepare('select name, position, event, openSince from checkpoints');
  return {
    load: async (name) => {
      const found = byName.get(name);
      if (found === undefined) return null;
      const { state, ...progress } = Row.parse(found);
      return { ...progressOf(progress), state: JSON.parse(state) as unknown };
    },
    all: async () =>
      all.all().map((row: unknown) => {
        const { name, ...progress } = NamedProgress.parse(row);
        return { name, ...progressOf(progress) };
      }),
    save: async (name, { position, event, openSince, state }) => {
      const mark = event === undefined ? null : JSON.stringify(event);
      await writer.write([save, name, Number(position), mark, openSince ?? null, JSON.stringify(state)]);
    },
  };
};
