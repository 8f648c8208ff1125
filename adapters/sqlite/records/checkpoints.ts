import { z } from 'zod';
import type { ProcessCheckpoint, Checkpoints } from '../../../application/ports/checkpoints.js';
import type { Database, Statement } from '../database.js';
import { markFrom } from '../log/event-marks.js';
import type { SqliteWriter } from '../writer/writer.js';

const Progress = z.object({
  position: z.number(),
  event: z.string().nullable(),
  open_since: z.int().nullable(),
});
const Row = Progress.extend({ state: z.string() });
const NamedProgress = Progress.extend({ name: z.string() });

const progressOf = ({ position, event, open_since: openSince }: z.infer<typeof Progress>) => ({
  position: BigInt(position),
  ...markFrom(event),
  ...(openSince !== null && { openSince }),
});

export class SqliteCheckpoints implements Checkpoints {
  readonly #read: Statement;
  readonly #all: Statement;

  constructor(
    private readonly writer: SqliteWriter,
    database: Database,
  ) {
    this.#read = database.prepare('select * from checkpoints where name = ?');
    this.#all = database.prepare('select name, position, event, open_since from checkpoints');
  }

  load(name: string): Promise<ProcessCheckpoint | null> {
    const found = this.#read.get(name);
    if (found === undefined) return Promise.resolve(null);
    const { state, ...progress } = Row.parse(found);
    return Promise.resolve({ ...progressOf(progress), state: JSON.parse(state) as unknown });
  }

  async all(): ReturnType<Checkpoints['all']> {
    return this.#all.all().map((row: unknown) => {
      const { name, ...progress } = NamedProgress.parse(row);
      return { name, ...progressOf(progress) };
    });
  }

  async save(name: string, { position, event, openSince, state }: ProcessCheckpoint): Promise<void> {
    await this.writer.run('saveCheckpoint', {
      name,
      position: Number(position),
      event: event === undefined ? null : JSON.stringify(event),
      openSince: openSince ?? null,
      state: JSON.stringify(state),
    });
  }
}
