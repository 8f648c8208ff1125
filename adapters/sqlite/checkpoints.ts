import { z } from 'zod';
import type { Checkpoint, Checkpoints } from '../../application/ports/checkpoints.js';
import type { Database, Statement } from './database.js';
import type { OperationSet } from './operations.js';
import type { SqliteWriter } from './writer.js';

const Row = z.object({ position: z.number(), state: z.string() });

export const checkpointOperations = (database: Database) => {
  database.exec('create table if not exists checkpoints (name text primary key, position integer not null, state text not null) strict, without rowid');
  const save = database.prepare(`
    insert into checkpoints (name, position, state) values (?, ?, ?)
    on conflict (name) do update set position = excluded.position, state = excluded.state where position <= excluded.position`);
  return {
    operations: {
      saveCheckpoint: ({ name, position, state }: { readonly name: string; readonly position: number; readonly state: string }): void => {
        save.run(name, position, state);
      },
    },
  } satisfies OperationSet;
};

/** Checkpoints in events.db. */
export class SqliteCheckpoints implements Checkpoints {
  readonly #read: Statement;

  constructor(
    private readonly writer: SqliteWriter,
    database: Database,
  ) {
    this.#read = database.prepare('select position, state from checkpoints where name = ?');
  }

  load(name: string): Promise<Checkpoint | null> {
    const found = this.#read.get(name);
    if (found === undefined) return Promise.resolve(null);
    const { position, state } = Row.parse(found);
    return Promise.resolve({ position: BigInt(position), state: JSON.parse(state) as unknown });
  }

  async save(name: string, { position, state }: Checkpoint): Promise<void> {
    await this.writer.run('saveCheckpoint', { name, position: Number(position), state: JSON.stringify(state) });
  }
}
