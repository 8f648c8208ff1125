import type { Checkpoints } from '../../../application/ports/checkpoints.js';
import type { EventMark } from '../../../application/ports/event-store.js';
import type { Milliseconds } from '../../../domain/ids.js';
import type { MongoDatabase } from '../client/database.js';
import { findAll } from '../client/documents.js';
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
export const mongoCheckpoints = (database: MongoDatabase): Checkpoints => {
  const rows = () => database.collection<CheckpointRow>('checkpoints');

  return {
    load: async (name) => {
      const row = await rows().findOne({ _id: { $eq: name } });
      if (row === null) return null;
      const state: unknown = JSON.parse(row.state);
      return { ...progressOf(row), state };
    },

    all: async () => {
      const found = await findAll(rows(), {}, { projection: { state: 0 } });
      return found.map((row) => ({ name: row._id, ...progressOf(row) }));
    },

    save: async (name, { position, event, openSince, state }) => {
      const row = {
        position,
        event: event ?? null,
        openSince: openSince ?? null,
        state: JSON.stringify(state ?? null),
      };
      const advance = () =>
        rows().updateOne({ _id: { $eq: name }, position: { $lte: position } }, { $set: row });
      if ((await advance()).matchedCount === 1) return;
      // Another process may have inserted an earlier one just now.
      if (!(await isInserted(rows().insertOne({ _id: name, ...row })))) await advance();
    },
  };
};
