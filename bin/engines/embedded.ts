import { existsSync } from 'node:fs';
import { join } from 'node:path';
import type { Logger } from 'pino';
import { fileArtwork } from '../../adapters/artwork/files.js';
import { InProcessDeliveryQueue } from '../../adapters/memory/delivery-queue.js';
import { sqliteDeliveries } from '../../adapters/sqlite/records/deliveries.js';
import { openEventsFile, type EventsFile } from '../../adapters/sqlite/log/events-file.js';
import { sqliteHookCalls } from '../../adapters/sqlite/records/hook-calls.js';
import { keysPath, openPersonalKeys, unusableKeys } from '../../adapters/sqlite/keys/personal-keys.js';
import {
  sqliteCheckpoints,
  sqliteImportRecords,
  sqliteKeyUses,
  sqliteRequests,
  sqliteSignInRecords,
} from '../../adapters/sqlite/records/records.js';
import { probe } from '../../adapters/sqlite/records/tables.js';
import { emptyInterval, watchFiles } from '../../adapters/sqlite/database.js';
import { openReadFile } from '../../adapters/sqlite/read/read-file.js';
import { LocalRateLimiter } from '../../adapters/system/rate-limiter.js';
import { assertEventKey } from '../../application/log/assert-event-key.js';
import { keyRing } from '../../application/personal/key-ring.js';
import { assertOwnKeys, noKeys } from '../../application/personal/own-keys.js';
import { openedEvents } from '../../application/personal/personal.js';
import type { EventStore } from '../../application/ports/event-store.js';
import { PersonalKeysUnavailable } from '../../application/ports/personal-keys.js';
import { BufferedRequests } from '../../application/requests/request-log.js';
import { BufferedKeyUses } from '../../application/access/buffered-key-uses.js';
import { untilAborted } from '../../application/timing/until-aborted.js';
import type { MasterKeys } from '../../domain/webhook-signing.js';
import { storeOfService } from '../../application/writing/rehearsal.js';
import { WriteHealth } from '../../application/writing/write-health.js';
import { markOfDirectory, markOfSettings } from '../settings/rehearsal-mark.js';
import type { Engine, EngineOptions } from '../wiring/engine.js';
import { macsOf, notarized, shownTiles } from './notarized.js';
import { measureLag } from '../metrics/projection-lag.js';
import { projectionParts } from '../wiring/projection-parts.js';
import { logPart } from '../wiring/log-part.js';
import { otherLogSaid, watchUnreadable } from './incidents.js';
import type { Milliseconds } from '../../domain/ids.js';
import { reporter } from '../wiring/reporter.js';

const pause: Milliseconds = 1_000;

/** Closes files if the rest of the start fails. */
const orClose = <T>(rest: Promise<T>, ...open: readonly Pick<EventsFile, 'close'>[]): Promise<T> =>
  rest.catch(async (error: unknown) => {
    for (const each of open) await each.close();
    throw error;
  });

/** Logs what was recovered after a kill or a power loss; after a clean stop there is nothing to log. */
const logCrashRecovery = async ({ left, eventStore }: EventsFile, log: Logger): Promise<void> => {
  const { commits, lostCommits } = left;
  if (commits === 0 && lostCommits === 0) return;
  const { position } = await eventStore.head();
  log.info(
    { events: Number(position), recovered_commits: commits, unfinished_commits: lostCommits },
    lostCommits === 0
      ? 'the previous run was not stopped cleanly: the log is whole, and has everything that was acknowledged'
      : 'the previous run was not stopped cleanly: the last commit of the log is unfinished and left out',
  );
};

/** Where so much has room, many sends have. */
const probeBytes = 65_536;

/**
 * Opens keys.db once it is known to hold the keys of this log; makes it only where the log needs none.
 * Throws LostKeys, MissingPersonalKey, UnusableFile.
 */
const openOwnKeys = async (
  eventStore: EventStore,
  masters: MasterKeys,
  { settings: { dataDir }, log }: EngineOptions,
  onFailure: (error: Error) => void,
): Promise<ReturnType<typeof openPersonalKeys>> => {
  const place = keysPath(dataDir);
  const comparing = { log: eventStore, masters, place, onOther: otherLogSaid(log) };
  if (!existsSync(place)) await assertOwnKeys({ ...comparing, store: noKeys });
  const keys = openPersonalKeys(place, { onFailure });
  try {
    await assertOwnKeys({ ...comparing, store: keys });
    return keys;
  } catch (error) {
    keys.close();
    throw error instanceof PersonalKeysUnavailable ? unusableKeys(place, error.cause) : error;
  }
};

/**
 * Everything in files of this process: events, idempotency keys and deliveries in events.db, and read models
 * in read.db, which is rebuilt if it is lost.
 */
export const openEmbedded = async (options: EngineOptions): Promise<Engine> => {
  const { settings, clock, entropy, personalMasters, log, fail } = options;
  const { dataDir } = settings;
  const why = (markOfSettings(settings) ?? markOfDirectory(dataDir))?.why ?? null;
  const rehearsal = (): string | null => why;
  const writes = new WriteHealth(clock, async () => {
    await events.writer.write([probe, probeBytes]);
    await personalKeys.fill();
  });
  const onUnwritten = (error: Error): void => writes.wrote(error);
  const events = await openEventsFile({
    directory: dataDir,
    clock,
    onUnwritten,
    // Nothing is signed, and the head that was signed last may be a later one.
    ...notarized(why === null ? options : { ...options, logKeys: null }),
  });
  const eventMacs = macsOf(options);
  await orClose(assertEventKey(events.eventStore, events.raw, eventMacs), events);
  const tiles = shownTiles(options, events.tiles, rehearsal);
  const masters = personalMasters();
  if (masters === null) throw new TypeError('one process opens personal data');
  const keys = await orClose(openOwnKeys(events.eventStore, masters, options, onUnwritten), events);
  const personalKeys = keyRing({ store: keys, masters, clock, entropy });
  const unreadable = watchUnreadable(events.eventStore, personalKeys, log);
  const reading = openReadFile({
    directory: dataDir,
    log: events.shared,
    keys: { path: keysPath(dataDir), masters },
    clock,
    thread: new URL('../projector-thread.js', import.meta.url),
    fail,
  });
  const projected = await orClose(reading, { close: async () => keys.close() }, events);
  await logCrashRecovery(events, log);
  void events.verified.then(() => log.info('every event of the log at the start has been read back'));
  const stopping = new AbortController();
  const emptying = untilAborted(
    { clock, signal: stopping.signal, pause: emptyInterval, onError: () => undefined },
    async () => events.writer.emptyLog(),
  );
  const { path } = events.shared;
  const lostFile = watchFiles(path, `${path}-wal`, keysPath(dataDir));
  const measure = measureLag(events.eventStore, clock);
  const requests = new BufferedRequests(sqliteRequests(events), personalKeys, clock, (error) =>
    log.error({ err: error }, 'requests are not logged yet'),
  );
  const keyUses = new BufferedKeyUses(sqliteKeyUses(events), clock);
  const store = openedEvents(events.eventStore, { ...personalKeys, unopened: unreadable.note }, clock);
  return {
    store: storeOfService(store, rehearsal),
    rehearsal,
    personalKeys,
    eventMacs,
    unreadable,
    raw: events.raw,
    tiles,
    notarize: null,
    personalKeyStore: keys,
    idempotency: events.idempotencyStore,
    readModels: projected.readModels,
    readYourWrites: projected.readYourWrites,
    checkpoints: sqliteCheckpoints(events),
    keyUses,
    requests,
    hookCalls: sqliteHookCalls(events),
    signInRecords: sqliteSignInRecords({ ...events, clock }),
    importRecords: sqliteImportRecords({ ...events, clock }),
    artwork: fileArtwork(join(dataDir, 'artwork'), clock),
    deliveries: sqliteDeliveries(events),
    deliveryQueue: new InProcessDeliveryQueue(),
    rateLimiter: new LocalRateLimiter(),
    projector: projected,
    publicStream: null,
    project: null,
    hasServers: false,
    foreignEvents: () => 0,
    // The projector looks by itself, and everything else is in the file of the log.
    assertLog: () => Promise.resolve(),
    // A process that runs alone does the work at once, and again if it ends or fails.
    exclusively: (name, signal, work) =>
      untilAborted({ clock, signal, pause, onError: reporter({ log, fail }, name) }, () => work(signal)),
    readiness: async () => {
      const status = projected.status();
      const lag = await measure(status.projections.map(({ checkpoint }) => checkpoint));
      const failure = lostFile() ?? (await writes.failure());
      const disk = { name: 'disk', ready: failure === null, detail: failure };
      return [disk, ...projectionParts(status, lag), await logPart(tiles)];
    },
    close: async () => {
      stopping.abort();
      await emptying;
      await projected.close();
      await keyUses.close();
      await requests.close();
      keys.close();
      await events.close();
    },
  };
};
