import { join } from 'node:path';
import { SqliteCheckpoints } from '../../adapters/sqlite/records/checkpoints.js';
import { SqliteDeliveries } from '../../adapters/sqlite/records/deliveries.js';
import type { EventsFile } from '../../adapters/sqlite/log/events-file.js';
import { SqliteHookCalls } from '../../adapters/sqlite/records/hook-calls.js';
import { sqliteKeyUses } from '../../adapters/sqlite/records/key-uses.js';
import { SqliteProjectionStore } from '../../adapters/sqlite/read/projection-store.js';
import { SqliteReadModels } from '../../adapters/sqlite/read/read-models.js';
import { LocalRateLimiter } from '../../adapters/system/rate-limiter.js';
import { BufferedKeyUses } from '../../application/buffered-key-uses.js';
import type { EventStore } from '../../application/ports/event-store.js';
import { Projector } from '../../application/project.js';
import { ProjectionBoard, type ProjectorReports } from '../../application/projection-board.js';
import { writesWait } from '../../application/read-your-writes.js';
import { allProjections } from '../../projections/all.js';
import { alone } from './alone.js';
import type { EngineOptions, Stores } from '../engine.js';

/** Read models and operational state in files of this process, while the events are elsewhere. */
export const openFileStores = (
  { clock, log }: EngineOptions,
  directory: string,
  files: EventsFile,
  store: EventStore,
): Stores => {
  const path = join(directory, 'read.db');
  const board = new ProjectionBoard(clock);
  const readModels = new SqliteReadModels({ path, clock });
  const projected = new SqliteProjectionStore({ path, onReplaced: () => readModels.reopen() });
  const reports: ProjectorReports = {
    status: (status) => {
      readModels.refresh();
      board.status(status);
    },
    moved: (position) => board.moved(position),
  };
  const projector = new Projector({
    projections: allProjections,
    log: store,
    store: projected,
    clock,
    reports,
  });
  const keyUses = new BufferedKeyUses(sqliteKeyUses(files.writer, files.database), clock);
  return {
    idempotency: files.idempotencyStore,
    readModels,
    readYourWrites: writesWait(board),
    checkpoints: new SqliteCheckpoints(files.writer, files.database),
    keyUses,
    hookCalls: new SqliteHookCalls(files),
    deliveries: new SqliteDeliveries(files),
    rateLimiter: new LocalRateLimiter(),
    projector: { status: () => board.current(), rebuild: (name) => Promise.resolve(projector.rebuild(name)) },
    project: (signal) => projector.run(signal),
    exclusively: alone(clock, log),
    ping: null,
    close: async () => {
      board.close();
      readModels.close();
      projected.close();
      await keyUses.close();
    },
  };
};
