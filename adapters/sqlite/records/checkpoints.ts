import { z } from 'zod';
import type { Checkpoint, Checkpoints } from '../../../application/ports/checkpoints.js';
import type { Database, Statement } from '../database.js';
import { markFrom } from '../log/event-marks.js';
import type { SqliteWriter } from '../writer/writer.js';

const Row = z.object({ position: z.number(), event: z.string().nullable(), state: z.string() });

/** Checkpoints in events.db. */
export class SqliteCheckpoints implements Checkpoints {
  readonly #read: Statement;

  constructor(
    private readonly writer: SqliteWriter,
    database: Database,
  ) {
    this.#read = database.prepare('select position, event, state from checkpoints where name = ?');
  }

  load(name: string): Promise<Checkpoint | null> {
    const found = this.#read.get(name);
    if (found === undefined) return Promise.resolve(null);
    const { position, event, state } = Row.parse(found);
    return Promise.resolve({
      position: BigInt(position),
      ...markFrom(event),
      state: JSON.parse(state) as unknown,
    });
  }

  async save(name: string, { position, event, state }: Checkpoint): Promise<void> {
    await this.writer.run('saveCheckpoint', {
      name,
      position: Number(position),
      event: event === undefined ? null : JSON.stringify(event),
      state: JSON.stringify(state),
    });
  }
}
