import { SystemClock } from '../../adapters/system/clock.js';
import { SystemEntropy } from '../../adapters/system/entropy.js';
import { rebuildTree } from '../../application/log/notarize.js';
import { elsewhereOf, keptElsewhere } from '../wiring/known-elsewhere.js';
import { logKeys, signingWith } from '../settings/log-keys.js';
import { macsOfLog, UnusableSecretFile } from '../settings/secret-files.js';
import { markOfDirectory, markOfSettings } from '../settings/rehearsal-mark.js';
import type { Settings, Servers } from '../settings/settings.js';
import { copyLog, NoCopy, type CopiedLog } from '../../application/log/copy-log.js';
import { assertUndamaged } from '../../application/log/damaged-log.js';
import { acceptRestore, type GivenUp } from '../../application/log/accept-restore.js';
import { assertService } from '../../application/writing/rehearsal.js';
import { Streams } from '../../application/writing/streams.js';
import { FinalError } from '../../domain/errors.js';
import { join } from 'node:path';
import type { EventStoreDbTimes } from '../../adapters/eventstoredb/context.js';
import { isThere } from '../../adapters/sqlite/database.js';
import { openEventsFile } from '../../adapters/sqlite/log/events-file.js';
import type { EventStore } from '../../application/ports/event-store.js';

const [clock, entropy] = [new SystemClock(), new SystemEntropy()];

export type OpenedLog = Awaited<ReturnType<typeof openLog>>;

/** Repeats would change the order of appends. */
const triedOnce = { settle: 0, patience: 0 };

/** The log and the records on servers, for a command. */
export const openServers = async (
  { eventStoreUrl: url, mongoUrl }: Servers,
  { eventStorePrefix: prefix }: Pick<Settings, 'eventStorePrefix'>,
  times: Partial<EventStoreDbTimes> = {},
) => {
  const [{ EventStoreDbEventStore }, { MongoDatabase }] = await Promise.all([
    import('../../adapters/eventstoredb/event-store.js'),
    import('../../adapters/mongodb/client/database.js'),
  ]);
  const database = new MongoDatabase(mongoUrl, clock);
  const log = new EventStoreDbEventStore({ url, prefix, clock, entropy, times });
  const close = async (): Promise<void> => {
    await log.close();
    await database.close();
  };
  // Where the server is away, whatever needs it says so.
  await log.assertFormat().catch(async (error: unknown) => {
    if (!(error instanceof FinalError)) return;
    await close();
    throw error;
  });
  return { log, database, close };
};
export type OpenedServers = Omit<Awaited<ReturnType<typeof openServers>>, 'close'>;

export const closing = async <Opened extends { readonly close: () => unknown }, Result>(
  opened: Opened,
  work: (opened: Opened) => Promise<Result>,
): Promise<Result> => {
  try {
    return await work(opened);
  } finally {
    await opened.close();
  }
};

/** For what a command can't go on with. */
const throwIt = (error: unknown): never => {
  throw error;
};

/** For events that a command records, which hold nothing personal. Throws UnusableSecretFile. */
export const streamsOver = (store: EventStore, settings: Settings): Streams =>
  new Streams(store, {
    ready: () => Promise.resolve(),
    seal: ({ data }) => ({ data: JSON.stringify(data), personal: null }),
    sign: macsOfLog(settings, entropy).sign,
  });

export const assertUnmarked = (mark: OpenedLog['mark']): Promise<void> =>
  assertService(async () => (await mark())?.why ?? null);

/** The initiator of events that a command records. */
export const byOperator = { actor: { kind: 'operator', id: null }, requestId: null } as const;

/**
 * Opens the log for a command, without a notary. `makes`: where there is none, too. `name`: what to restore
 * from a backup if the log is damaged. Throws DataDirectoryInUse while the embedded service runs, and
 * DamagedLog, unless it is for a command that finds damage out by itself.
 */
export const openLog = async (
  settings: Settings,
  { opensDamaged = false, makes = false }: { readonly opensDamaged?: boolean; readonly makes?: boolean } = {},
) => {
  const { servers, dataDir: directory } = settings;
  if (servers === null) {
    const path = join(directory, 'events.db');
    if (!makes && !isThere(path)) throw new Error(`There is no ${path}. Set DATA_DIR.`);
    const file = await openEventsFile({
      directory,
      clock,
      opensDamaged,
      onDamage: opensDamaged ? () => undefined : throwIt,
      onUnknownOutcome: throwIt,
    });
    const mark = async () => markOfSettings(settings) ?? markOfDirectory(directory);
    const { eventStore: store, raw: log, database: files } = file;
    // Another process holds its lock.
    const running = () => Promise.resolve(null);
    return { ...file, store, log, name: 'events.db', mark, running, records: { files } };
  }
  const [{ mongoLogTiles }, { markIn }, { whoRuns }] = await Promise.all([
    import('../../adapters/mongodb/records/log-tiles.js'),
    import('../../adapters/mongodb/records/rehearsal.js'),
    import('../../adapters/mongodb/read/releases.js'),
  ]);
  const { log, database, close } = await openServers(servers, settings, makes ? triedOnce : {});
  const tiles = mongoLogTiles(database);
  const mark = async () => markOfSettings(settings) ?? markIn(database);
  const running = () => whoRuns(database, clock);
  const records = { log, database };
  return { store: log, log, tiles, name: 'the event store', mark, running, records, close };
};

/** Throws NoCopy while a process of the service may still write. */
export const assertStopped = async (running: OpenedLog['running']): Promise<void> => {
  const process = await running();
  if (process !== null)
    throw new NoCopy(`The process ${process} still runs. Stop every process, and run this again.`);
};

/**
 * Gives up the head of the log that was signed last. Throws DataDirectoryInUse while the embedded service
 * runs, UnusableSecretFile, and the errors of `acceptRestore`.
 */
export const acceptRestoreOf = async (
  settings: Settings,
  choice: { readonly by: string; readonly beginsAgain: boolean },
  onProgress: (events: number) => void,
): Promise<GivenUp> => {
  const keys = logKeys(settings, entropy, false);
  const sign = signingWith(keys);
  return closing(await openLog(settings, { opensDamaged: true }), async ({ log, tiles, store, mark }) => {
    await assertUnmarked(mark);
    const elsewhere = elsewhereOf(settings, keys);
    const { heads, knownElsewhere } = await keptElsewhere(elsewhere, { tiles, clock, report: throwIt });
    if (heads === undefined || sign === null)
      throw new UnusableSecretFile(
        `LOG_KEY_FILE ${settings.logKeyFile} does not exist: it says which heads are the log's.`,
      );
    const macs = macsOfLog(settings, entropy);
    const deps = { store, log, tiles, macs, heads, knownElsewhere, sign, clock, entropy };
    const streams = streamsOver(store, settings);
    return acceptRestore({ ...deps, streams }, byOperator, choice, onProgress);
  });
};

/**
 * Copies the log in EventStoreDB to another EventStoreDB, once all of it is signed. No process may write to
 * either. Throws the errors of `copyLog`.
 */
export const copyLogTo = async (
  to: Settings,
  from: Settings,
  onProgress: (events: number) => void,
): Promise<CopiedLog> =>
  closing(await openLog(from), async (source) =>
    closing(await openLog(to, { makes: true }), async (target) => {
      await assertStopped(source.running);
      await assertUndamaged(source.tiles);
      if ('log' in target.records) await target.records.log.assertFormat(true);
      const logs = { from: source.log, to: target.log, writer: target.store };
      const copied = await copyLog({ ...logs, macs: macsOfLog(from, entropy) }, onProgress);
      const newest = await source.tiles.newest();
      if (newest?.size !== copied.events || !newest.root.equals(copied.root))
        throw new NoCopy(
          `The newest checkpoint of the log covers ${newest?.size ?? 0} of its ${copied.events} events, so it does not close it. Let the role notary sign the rest while no process writes, then copy again: it goes on where it was.`,
        );
      return copied;
    }),
  );

/**
 * Makes the tree over the log again, and compares it with every checkpoint that is kept; where the log's key
 * is at hand, also with its last signed head, anchors and witnesses. Signs nothing. Returns the number of
 * events. Throws DamagedLog, and DataDirectoryInUse while the embedded service runs.
 */
export const rebuildLog = async (
  settings: Settings,
  onProgress: (events: number) => void,
): Promise<number> => {
  return closing(await openLog(settings, { opensDamaged: true }), async ({ log, tiles, name }) => {
    const keys = logKeys(settings, entropy, false);
    const report = (): void => undefined;
    const elsewhere = await keptElsewhere(elsewhereOf(settings, keys), { tiles, clock, report });
    const macs = macsOfLog(settings, entropy);
    return rebuildTree({ clock, macs, log, tiles, restoreHint: name, ...elsewhere }, onProgress);
  });
};
