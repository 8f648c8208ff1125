import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { openEventsFile } from '../adapters/sqlite/log/events-file.js';
import { SystemClock } from '../adapters/system/clock.js';
import { SystemEntropy } from '../adapters/system/entropy.js';
import type { EventStore } from '../application/ports/event-store.js';
import type { LogTiles } from '../application/ports/log-tiles.js';
import type { RawLog } from '../application/ports/raw-log.js';
import type { Servers, Settings } from './settings.js';

const [clock, entropy] = [new SystemClock(), new SystemEntropy()];

export interface OpenedLog {
  readonly store: EventStore;
  readonly log: RawLog;
  readonly tiles: LogTiles;
  /** What a backup has to be put in place of if the log is damaged. */
  readonly name: string;
  readonly close: () => Promise<void>;
}

/** The log and the records on servers, for a command. */
export const openServers = async (
  { eventStoreUrl: url, mongoUrl }: Servers,
  { eventStorePrefix: prefix }: Pick<Settings, 'eventStorePrefix'>,
) => {
  const [{ EventStoreDbEventStore }, { MongoDatabase }] = await Promise.all([
    import('../adapters/eventstoredb/event-store.js'),
    import('../adapters/mongodb/database.js'),
  ]);
  const database = new MongoDatabase(mongoUrl, clock);
  const log = new EventStoreDbEventStore({ url, prefix, clock, entropy });
  const close = async (): Promise<void> => {
    await log.close();
    await database.close();
  };
  return { log, database, close };
};

const throwIt = (error: Error): never => {
  throw error;
};

/**
 * Opens the log for a command, without a notary. Throws DataDirectoryInUse while the embedded service runs,
 * and DamagedLog, unless it is for a command that finds damage out by itself.
 */
export const openLog = async (
  settings: Settings,
  { opensDamaged = false }: { readonly opensDamaged?: boolean } = {},
): Promise<OpenedLog> => {
  const { servers, dataDir: directory } = settings;
  if (servers === null) {
    const path = join(directory, 'events.db');
    if (!existsSync(path)) throw new Error(`There is no ${path}. Set DATA_DIR.`);
    const { eventStore, raw, tiles, close } = await openEventsFile({
      directory,
      clock,
      opensDamaged,
      onDamage: opensDamaged ? () => undefined : throwIt,
      onUnknownOutcome: throwIt,
    });
    return { store: eventStore, log: raw, tiles, name: 'events.db', close };
  }
  const { MongoLogTiles } = await import('../adapters/mongodb/log-tiles.js');
  const { log, database, close } = await openServers(servers, settings);
  return { store: log, log, tiles: new MongoLogTiles(database), name: 'the event store', close };
};
