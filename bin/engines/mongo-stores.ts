import { hostname } from 'node:os';
import { mongoArtwork } from '../../adapters/mongodb/records/artwork.js';
import { mongoCheckpoints } from '../../adapters/mongodb/records/checkpoints.js';
import { watchClock } from '../../adapters/mongodb/client/clock-watch.js';
import { MongoDatabase } from '../../adapters/mongodb/client/database.js';
import { mongoDeliveries } from '../../adapters/mongodb/deliveries/deliveries.js';
import { mongoImportRecords, mongoSignInRecords } from '../../adapters/mongodb/records/records.js';
import { mongoHookCalls } from '../../adapters/mongodb/records/hook-calls.js';
import { mongoIdempotencyStore } from '../../adapters/mongodb/records/idempotency-store.js';
import { mongoLogTiles } from '../../adapters/mongodb/records/log-tiles.js';
import { mongoRequests } from '../../adapters/mongodb/records/requests.js';
import { mongoKeyUses } from '../../adapters/mongodb/records/key-uses.js';
import { markIn } from '../../adapters/mongodb/records/rehearsal.js';
import { MongoLeases, usualLease, type HeldLease } from '../../adapters/mongodb/client/leases.js';
import { mongoPersonalKeys } from '../../adapters/mongodb/records/personal-keys.js';
import { mongoProjectionStore } from '../../adapters/mongodb/read/projection-store.js';
import { watchProjector } from '../../adapters/mongodb/read/projector-watch.js';
import { mongoRateLimiter } from '../../adapters/mongodb/records/rate-limiter.js';
import { mongoReadModels } from '../../adapters/mongodb/read/read-models.js';
import { readingsOf } from '../../adapters/mongodb/read/builds.js';
import { projectorLease, releaseOf, Releases } from '../../adapters/mongodb/read/releases.js';
import { SeenBuilds } from '../../adapters/mongodb/read/seen-builds.js';
import { followRebuildRequests, requestRebuild } from '../../adapters/mongodb/read/rebuild-requests.js';
import { LocalRateLimiter } from '../../adapters/system/rate-limiter.js';
import { keyRing, noKeys, type KeyRing } from '../../application/personal/key-ring.js';
import { assertOthersThere, assertOwnKeys } from '../../application/personal/own-keys.js';
import { openedEvents } from '../../application/personal/personal.js';
import { BufferedRequests } from '../../application/requests/request-log.js';
import { BufferedKeyUses } from '../../application/access/buffered-key-uses.js';
import type { EventStore } from '../../application/ports/event-store.js';
import { Projector } from '../../application/projecting/project.js';
import { FinalError } from '../../domain/errors.js';
import {
  ProjectionBoard,
  watchHead,
  type ProjectorStatus,
} from '../../application/projecting/projection-board.js';
import { untilAborted } from '../../application/timing/until-aborted.js';
import type { Rehearsal } from '../../application/writing/rehearsal.js';
import { writesWait } from '../../application/projecting/read-your-writes.js';
import { allProjections } from '../../projections/all.js';
import type { Milliseconds } from '../../domain/ids.js';
import type { MasterKeys } from '../../domain/webhook-signing.js';
import type { EngineOptions } from '../wiring/engine.js';
import { markOfSettings } from '../settings/rehearsal-mark.js';
import { EngineCalls } from '../metrics/engine-calls.js';
import { reporter } from '../wiring/reporter.js';
import { incidentLog, otherLogSaid, watchUnreadable } from './incidents.js';
import { thisMachine } from './machine.js';

/**
 * Read models and operational state in MongoDB, for any number of processes. Leases there decide which
 * process does the work that only one may do at a time. `raw`: with personal data sealed.
 */
export const openMongoStores = (options: EngineOptions, url: string, raw: EventStore) => {
  const { clock, entropy, log, settings, fail, timeouts = {}, calls = new EngineCalls() } = options;
  const database = new MongoDatabase(url, clock, {}, calls.counterOf('MongoDB'));
  const onError = incidentLog(log, clock, 'MongoDB');
  database
    .ping()
    .then(() => database.capabilities())
    .then((capabilities) => log.info({ ...capabilities }, 'connected to MongoDB'), onError);

  let why: string | null | undefined = markOfSettings(settings)?.why;
  const lookForMark = async (): Promise<string | null> => (why = (await markIn(database))?.why ?? null);
  const rehearsal: Rehearsal = () => (why === undefined ? lookForMark() : why);
  const personalKeyStore = mongoPersonalKeys(database);
  const masters = options.personalMasters();
  const failIfFinal = (error: unknown): never => {
    if (error instanceof FinalError) fail(error);
    throw error;
  };
  /** Tries again until the work succeeds, or is given up. */
  const untilDone = (ended: AbortController, work: () => Promise<void>): Promise<void> => {
    const report = (error: unknown): unknown => ended.signal.aborted || onError(error);
    return untilAborted({ clock, signal: ended.signal, pause: pollInterval, onError: report }, async () => {
      await work();
      ended.abort();
    });
  };
  const admitting = new AbortController();
  let admission: Promise<void> = Promise.resolve();
  let admitted: Promise<void> = admission;
  const ringWith = (known: MasterKeys): KeyRing => {
    const comparing = {
      log: raw,
      store: personalKeyStore,
      masters: known,
      place: 'the collections personal_keys, personal_key_uses and personal_key_state of MongoDB',
      onOther: otherLogSaid(log),
    };
    admitted = untilDone(admitting, () => {
      admission = assertOwnKeys(comparing);
      return admission.catch((error: unknown) => {
        if (!(error instanceof FinalError)) throw error;
      });
    }).then(() => admission.catch(failIfFinal));
    admitted.catch(() => undefined);
    const onMissing = () => assertOthersThere(comparing).catch(failIfFinal);
    return keyRing({ store: personalKeyStore, admitted, onMissing, masters: known, clock, entropy });
  };
  const personalKeys = masters === null ? noKeys : ringWith(masters);
  const unreadable = watchUnreadable(raw, personalKeys, log);
  // Without master keys, nothing is to be read.
  const opener = masters === null ? personalKeys : { ...personalKeys, unopened: unreadable.note };
  const store = openedEvents(raw, opener, clock);
  const onIncident = incidentLog(log, clock, 'projector');
  // Before a request needs them: over many rows an index takes minutes.
  const indexing = new AbortController();
  const makingIndexes = untilDone(indexing, () =>
    database.prepareAll((index) => log.info({ ...index }, 'creating an index')),
  );
  const board = new ProjectionBoard(clock, { isShared: true });
  const stopped = new AbortController();
  const { lease = usualLease } = timeouts;
  const release = releaseOf(allProjections);
  const by = `${hostname()} ${process.pid}`;
  const releases = new Releases({ database, clock, release, by });
  const seen = new SeenBuilds(database, clock);
  /** Whether the projector of this process reports to the board by itself, so that no polling is needed. */
  const feeding = { isHere: false };
  const watching = watchProjector(
    {
      database,
      seen,
      releases,
      clock,
      projections: allProjections,
      board,
      isFedHere: () => feeding.isHere,
      downAfter: lease * 1.5,
    },
    stopped.signal,
  );
  const watchingHead = watchHead(board, raw, clock, stopped.signal);
  const watchingClock = watchClock({ database, clock, onSkew: clockLog(log), onError }, stopped.signal);
  const watch = (pause: Milliseconds, work: () => Promise<void>): Promise<void> =>
    untilAborted({ clock, signal: stopped.signal, pause, onError }, work);
  const watchingKeys = watch(keysPollInterval, () => personalKeys.check());
  const watchingMark = watch(markPollInterval, async () => {
    if (why !== null || (await lookForMark()) === null) return;
    fail(new FinalError(`This is not the service any more: ${why}.`));
  });
  const keyUses = new BufferedKeyUses(mongoKeyUses(database), clock);
  const requests = new BufferedRequests(mongoRequests(database), personalKeys, clock, onError);
  const owner = `${by} ${entropy.uuid()}`;
  const machine = thisMachine();
  const leases = new MongoLeases({ database, clock, owner, onError, machine, timeout: lease });
  /** Does work under a lease of its name, and logs when this process gets and loses it. */
  const leased = (
    name: string,
    signal: AbortSignal,
    work: (held: HeldLease) => Promise<void>,
  ): Promise<void> =>
    leases.hold(name, signal, async (held) => {
      log.info({ work: name, epoch: held.epoch }, 'lease acquired, working');
      try {
        await work(held);
      } catch (error) {
        // Not an error of MongoDB, which the lease would take it for.
        reporter({ log, fail }, name)(error);
      } finally {
        log.info({ work: name, epoch: held.epoch }, 'lease given up, standing by');
      }
    });
  /** Projects the log, and runs requested rebuilds, while the lease is held. */
  const project = async ({ epoch, signal, say }: HeldLease): Promise<void> => {
    await releases.join(signal);
    const readModels = mongoProjectionStore({ database, clock, epoch: () => epoch, release });
    let status: ProjectorStatus = { down: null, projections: [] };
    const projector = new Projector({
      projections: allProjections,
      log: store,
      store: readModels,
      clock,
      reports: {
        status: (now) => {
          if (now.down !== null) onIncident(now.down);
          if (now.down !== status.down) say(now.down).catch(onError);
          status = now;
          // While an active build catches up, its checkpoint counts, and a position that was passed does not.
          feeding.isHere = !signal.aborted && now.down === null && now.projections.every(({ live }) => live);
          if (feeding.isHere) board.status(now);
        },
        moved: (position) => {
          if (feeding.isHere) board.moved(position);
        },
      },
      fail,
    });
    const requests = {
      database,
      clock,
      rebuild: (name: string) => projector.rebuild(name),
      areSeveral: () => releases.areSeveral(),
      onError,
    };
    signal.addEventListener('abort', () => void (feeding.isHere = false), { once: true });
    await Promise.all([
      projector.run(signal),
      followRebuildRequests(requests, signal),
      untilAborted({ clock, signal, pause: keepAliveInterval, onError }, () =>
        readModels.keep(allProjections),
      ),
    ]);
  };

  return {
    store,
    rehearsal,
    personalKeys,
    personalKeyStore,
    unreadable,
    idempotency: mongoIdempotencyStore({ database, clock }),
    readModels: mongoReadModels({ database, clock, seen }),
    readYourWrites: writesWait(board),
    checkpoints: mongoCheckpoints(database),
    tiles: mongoLogTiles(database),
    keyUses,
    requests,
    hookCalls: mongoHookCalls({ database, keep: settings.hookCallKeep }),
    signInRecords: mongoSignInRecords({ database, clock }),
    importRecords: mongoImportRecords({ database, clock }),
    artwork: mongoArtwork(database, clock),
    deliveries: mongoDeliveries({
      database,
      clock,
      entropy,
      attemptTime: settings.webhooks.timeout,
      keep: settings.webhooks.keep,
      ...(timeouts.claim !== undefined && { recordedWithin: timeouts.claim }),
    }),
    rateLimiter: mongoRateLimiter({ database, clock, fallback: new LocalRateLimiter() }),
    projector: {
      status: () => board.current(),
      rebuild: async (name: string) => {
        const known = allProjections.some((projection) => projection.name === name);
        if (known) await requestRebuild(database, name);
        return known;
      },
    },
    project: (signal: AbortSignal) => leased(projectorLease(release), signal, project),
    exclusively: (name: string, signal: AbortSignal, work: (signal: AbortSignal) => Promise<void>) =>
      leased(name, signal, (held) => work(held.signal)),
    ping: () => database.ping(),
    readings: () => readingsOf(database),
    close: async () => {
      stopped.abort();
      admitting.abort();
      indexing.abort();
      await Promise.all([watching, watchingHead, watchingClock]);
      board.close();
      await keyUses.close();
      await requests.close();
      await database.close();
      await Promise.allSettled([makingIndexes, admitted, watchingKeys, watchingMark]);
    },
  };
};

const clockLog =
  (log: EngineOptions['log']) =>
  (ahead: Milliseconds): void => {
    if (ahead === 0) log.info({ engine: 'MongoDB' }, "the clock agrees with the database's again");
    else
      log.warn(
        { engine: 'MongoDB', ahead_ms: ahead },
        "the clock differs from the database's, by which this process goes: let NTP set the clocks of all machines",
      );
  };

const pollInterval: Milliseconds = 250;
/** A database of keys that was replaced while the process runs is noticed after this time. */
const keysPollInterval: Milliseconds = 2_000;
/** A service that is moved away while the process runs is noticed after this time. */
const markPollInterval: Milliseconds = 1_000;
/** Builds are kept for longer than this after a projector has said that it feeds them. */
const keepAliveInterval: Milliseconds = 10 * 60_000;
