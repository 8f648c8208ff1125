import type { LogReading } from '../../../application/log/same-log.js';
import { builds, eventAtCheckpoint } from './builds.js';
import { mongoCheckpoints } from '../records/checkpoints.js';
import type { MongoDatabase } from '../client/database.js';

/** All readers of the log: the builds of all projections, and the processes with checkpoints. */
export const readingsOf = async (database: MongoDatabase): Promise<readonly LogReading[]> => {
  const rows = await (await builds(database)).find({ state: { $ne: 'retired' } }).toArray();
  const projections = rows.map((row) => ({
    reader: `The projection ${row.name}`,
    position: row.checkpoint,
    ...eventAtCheckpoint(row),
  }));
  const processes = await mongoCheckpoints(database).all();
  return [
    ...projections,
    ...processes.map(({ name, ...progress }) => ({ reader: `The process ${name}`, ...progress })),
  ];
};
