import type { ProcessCheckpoint, Checkpoints } from '../../../application/ports/checkpoints.js';
import type { EventMark } from '../../../application/ports/event-store.js';
import type { Milliseconds } from '../../../domain/ids.js';
import type { MongoDatabase } from '../client/database.js';
import { isInserted } from '../client/refusals.js';

interface CheckpointRow {
  readonly _id: string;
  readonly position: bigint;
  readonly event: EventMark | null;
  readonly openSince: Milliseconds | null;
  readonly state: string;
}

const progressOf = ({ position, event, openSince }: Omit<CheckpointRow, 'state'>) => ({
  position,
  ...(event !== null && { event }),
  ...(openSince !== null && { openSince }),
});

/** The positions up to which processes have handled the log, one document each. */
export class MongoCheckpoints implements Checkpoints {
  constructor(private readonly database: MongoDatabase) {}

  async load(name: string): Promise<ProcessCheckpoint | null> {
    const row = await this.#rows().findOne({ _id: { $eq: name } });
    if (row === null) return null;
    const state: unknown = JSON.parse(row.state);
    return { ...progressOf(row), state };
  }

  async all(): ReturnType<Checkpoints['all']> {
    const rows = await this.#rows()
      .find({}, { projection: { state: 0 } })
      .toArray();
    return rows.map((row) => ({ name: row._id, ...progressOf(row) }));
  }

  async save(name: string, { position, event, openSince, state }: ProcessCheckpoint): Promise<void> {
    const row = {
      position,
      event: event ?? null,
      openSince: openSince ?? null,
      state: JSON.stringify(state ?? null),
    };
    const advance = () =>
      this.#rows().updateOne({ _id: { $eq: name }, position: { $lte: position } }, { $set: row });
    if ((await advance()).matchedCount === 1) return;
    // Another process may have inserted an earlier one just now.
    if (!(await isInserted(this.#rows().insertOne({ _id: name, ...row })))) await advance();
  }

  #rows() {
    return this.database.collection<CheckpointRow>('checkpoints');
  }
}
