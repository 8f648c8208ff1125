import { join } from 'node:path';
import { SqliteCheckpoints } from '../../adapters/sqlite/checkpoints.js';
import { openEventsFile } from '../../adapters/sqlite/events-file.js';
import { SqliteHookCalls } from '../../adapters/sqlite/hook-calls.js';
import { SqliteKeyUses } from '../../adapters/sqlite/key-uses.js';
import { SqliteProjectionStore } from '../../adapters/sqlite/projection-store.js';
import { SqliteReadModels } from '../../adapters/sqlite/read-models.js';
import { LocalRateLimiter } from '../../adapters/system/rate-limiter.js';
import { Projector } from '../../application/project.js';
import { ProjectionBoard } from '../../application/projection-board.js';
import { allProjections } from '../../projections/all.js';
import type { Engine } from '../engine.js';
import type { EngineOptions } from './open.js';

/** Everything in files of this process: events, keys and work in events.db, read models in read.db, which rebuilds itself. */
export const openEmbedded = async ({ settings, clock, fail }: EngineOptions): Promise<Engine> => {
  const { dataDir } = settings;
  const events = await openEventsFile({ directory: dataDir, clock, onUnknownOutcome: fail, onDamage: fail });
  const path = join(dataDir, 'read.db');
  const board = new ProjectionBoard(clock);
  const projectionStore = new SqliteProjectionStore({ path });
  const readModels = new SqliteReadModels({ path, clock });
  const keyUses = new SqliteKeyUses(events.writer, events.database, clock);
  const projector = new Projector({ projections: allProjections, log: events.eventStore, store: projectionStore, clock, reports: board });
  const stop = new AbortController();
  const projecting = projector.run(stop.signal);
  return {
    store: events.eventStore,
    idempotency: events.idempotencyStore,
    readModels,
    progress: board,
    checkpoints: new SqliteCheckpoints(events.writer, events.database),
    keyUses,
    hookCalls: new SqliteHookCalls(events),
    rateLimiter: new LocalRateLimiter(),
    projector: { status: () => board.current(), rebuild: (name) => Promise.resolve(projector.rebuild(name)) },
    readiness: () => Promise.resolve([{ name: 'projections', ready: board.current().down === null, detail: board.current().down }]),
    close: async () => {
      stop.abort();
      await projecting;
      board.close();
      await keyUses.close();
      await events.close();
    },
  };
};
