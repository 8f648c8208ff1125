import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { lockDirectory } from '../adapters/sqlite/database.js';
import { openLogFile } from '../adapters/sqlite/notary/offline.js';
import { SystemClock } from '../adapters/system/clock.js';
import { SystemEntropy } from '../adapters/system/entropy.js';
import type { LogTiles } from '../application/ports/log-tiles.js';
import { rebuildTree, type Notarizing } from '../application/log/notarize.js';
import { elsewhereOf, keptElsewhere } from './known-elsewhere.js';
import { logKeys } from './log-keys.js';
import { macsOfLog } from './secret-files.js';
import type { Settings } from './settings.js';

type Progress = (events: number) => void;

const clock = new SystemClock();
const silent: Omit<Notarizing, 'log' | 'tiles' | 'restore' | 'macs'> = {
  clock,
  sign: null,
  scrubEvery: 86_400_000,
};

/** Where the log's key is not at hand, only the checkpoints that are kept with the tiles are compared. */
const elsewhereFor = (settings: Settings, tiles: LogTiles): Promise<Partial<Notarizing>> =>
  keptElsewhere(elsewhereOf(settings, logKeys(settings, new SystemEntropy(), false)), {
    tiles,
    clock,
    report: () => undefined,
  });

const inFile = async (settings: Settings, onProgress: Progress): Promise<number> => {
  const { dataDir } = settings;
  const path = join(dataDir, 'events.db');
  if (!existsSync(path)) throw new Error(`There is no ${path}. Set DATA_DIR.`);
  const lock = lockDirectory(dataDir);
  const file = openLogFile(path);
  try {
    return await rebuildTree(
      {
        ...silent,
        ...file,
        macs: macsOfLog(settings, new SystemEntropy()),
        ...(await elsewhereFor(settings, file.tiles)),
        restore: 'events.db',
      },
      onProgress,
    );
  } finally {
    file.close();
    lock.release();
  }
};

const onServers = async (
  settings: Settings,
  { eventStoreUrl, mongoUrl }: { readonly eventStoreUrl: string; readonly mongoUrl: string },
  onProgress: Progress,
): Promise<number> => {
  const [{ EventStoreDbEventStore }, { MongoDatabase }, { MongoLogTiles }] = await Promise.all([
    import('../adapters/eventstoredb/event-store.js'),
    import('../adapters/mongodb/database.js'),
    import('../adapters/mongodb/log-tiles.js'),
  ]);
  const { eventStorePrefix } = settings;
  const database = new MongoDatabase(mongoUrl, clock);
  const tiles = new MongoLogTiles(database);
  const log = new EventStoreDbEventStore({
    url: eventStoreUrl,
    prefix: eventStorePrefix,
    clock,
    entropy: new SystemEntropy(),
  });
  try {
    await database.ping();
    return await rebuildTree(
      {
        ...silent,
        log,
        tiles,
        macs: macsOfLog(settings, new SystemEntropy()),
        ...(await elsewhereFor(settings, tiles)),
        restore: 'the event store',
      },
      onProgress,
    );
  } finally {
    await log.close();
    await database.close();
  }
};

/**
 * Makes the tree over the log again, and compares it with every checkpoint that is kept,
 * also by anchors and witnesses. Signs nothing. Returns the
 * number of events. Throws DamagedLog, and DataDirectoryInUse while the embedded service runs.
 */
export const rebuildLog = (settings: Settings, onProgress: Progress): Promise<number> => {
  const { eventStoreUrl, mongoUrl } = settings;
  return eventStoreUrl !== null && mongoUrl !== null
    ? onServers(settings, { eventStoreUrl, mongoUrl }, onProgress)
    : inFile(settings, onProgress);
};
