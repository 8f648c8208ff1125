import { hostname } from 'node:os';
import { MongoCheckpoints } from '../../adapters/mongodb/checkpoints.js';
import { MongoDatabase } from '../../adapters/mongodb/database.js';
import { MongoDeliveries } from '../../adapters/mongodb/deliveries.js';
import { MongoHookCalls } from '../../adapters/mongodb/hook-calls.js';
import { MongoIdempotencyStore } from '../../adapters/mongodb/idempotency-store.js';
import { mongoKeyUses } from '../../adapters/mongodb/key-uses.js';
import { MongoLease } from '../../adapters/mongodb/lease.js';
import { MongoProjectionStore } from '../../adapters/mongodb/projection-store.js';
import { watchProjector } from '../../adapters/mongodb/projector-watch.js';
import { MongoRateLimiter } from '../../adapters/mongodb/rate-limiter.js';
import { MongoReadModels } from '../../adapters/mongodb/read-models.js';
import { followRebuildRequests, requestRebuild } from '../../adapters/mongodb/rebuild-requests.js';
import { LocalRateLimiter } from '../../adapters/system/rate-limiter.js';
import { BufferedKeyUses } from '../../application/buffered-key-uses.js';
import type { EventStore } from '../../application/ports/event-store.js';
import { Projector } from '../../application/project.js';
import { ProjectionBoard, type ProjectorStatus } from '../../application/projection-board.js';
import { writesWait } from '../../application/read-your-writes.js';
import { allProjections } from '../../projections/all.js';
import type { Engine, EngineOptions, Stores } from '../engine.js';
import { incidentLog } from './incidents.js';

const projectorLease = 'projector';

/**
 * Read models and operational state in MongoDB, for any number of processes. Leases there decide which of
 * them works where one at a time may.
 */
export const openMongoSide = (
  { clock, entropy, log, settings, timeouts = {} }: EngineOptions,
  url: string,
  store: EventStore,
): Stores => {
  const database = new MongoDatabase(url, clock);
  const onTrouble = incidentLog(log, clock, 'MongoDB');
  const board = new ProjectionBoard(clock);
  const stopped = new AbortController();
  const leaseTime = timeouts.lease === undefined ? {} : { patience: timeouts.lease };
  const watched = timeouts.lease === undefined ? {} : { patience: timeouts.lease * 1.5 };
  const watching = watchProjector(
    { database, clock, projections: allProjections, board, lease: projectorLease, ...watched },
    stopped.signal,
  );
  database
    .ping()
    .then(() => database.abilities())
    .then((abilities) => log.info({ ...abilities }, 'MongoDB reached'), onTrouble);
  const owner = `${hostname()} ${process.pid} ${entropy.uuid()}`;
  const claimTime = {
    attemptTime: settings.webhooks.timeout,
    ...(timeouts.claim !== undefined && { recordedWithin: timeouts.claim }),
  };
  const keyUses = new BufferedKeyUses(mongoKeyUses(database), clock);

  const holding = (
    name: string,
    signal: AbortSignal,
    work: (held: { readonly epoch: number; readonly signal: AbortSignal }) => Promise<void>,
  ) =>
    new MongoLease({ database, clock, name, owner, onTrouble, ...leaseTime }).hold(signal, async (held) => {
      log.info({ work: name, epoch: held.epoch }, 'at work, others stand by');
      try {
        await work(held);
      } finally {
        log.info({ work: name, epoch: held.epoch }, 'standing by');
      }
    });
  const exclusively: Engine['exclusively'] = (name, signal, work) =>
    holding(name, signal, (held) => work(held.signal));

  const project = (signal: AbortSignal): Promise<void> =>
    holding(projectorLease, signal, async (held) => {
      let status: ProjectorStatus = { down: null, projections: [] };
      const reports = {
        status: (now: ProjectorStatus) => {
          status = now;
          if (now.down !== null) onTrouble(now.down);
        },
        // Who waits in this process need not wait until the checkpoints are looked at. There an active build
        // that catches up counts, too: this speaks of the others.
        moved: (position: bigint) => {
          if (status.projections.every(({ live }) => live)) board.moved(position);
        },
      };
      const documents = new MongoProjectionStore({ database, clock, epoch: () => held.epoch });
      const projector = new Projector({
        projections: allProjections,
        log: store,
        store: documents,
        clock,
        reports,
      });
      const requests = {
        database,
        clock,
        rebuild: (name: string) => projector.rebuild(name),
        status: () => status,
        onTrouble,
      };
      await Promise.all([projector.run(held.signal), followRebuildRequests(requests, held.signal)]);
    });

  return {
    idempotency: new MongoIdempotencyStore({ database, clock }),
    readModels: new MongoReadModels({ database, clock }),
    readYourWrites: writesWait(board),
    checkpoints: new MongoCheckpoints(database),
    keyUses,
    hookCalls: new MongoHookCalls(database),
    deliveries: new MongoDeliveries({ database, clock, entropy, ...claimTime }),
    rateLimiter: new MongoRateLimiter({ database, clock, fallback: new LocalRateLimiter() }),
    projector: {
      status: () => board.current(),
      rebuild: async (name) => {
        const known = allProjections.some((projection) => projection.name === name);
        if (known) await requestRebuild(database, name);
        return known;
      },
    },
    project,
    exclusively,
    answers: () => database.ping(),
    close: async () => {
      stopped.abort();
      await watching;
      board.close();
      await keyUses.close();
      await database.close();
    },
  };
};
