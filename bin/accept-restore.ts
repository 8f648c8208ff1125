import { SystemClock } from '../adapters/system/clock.js';
import { SystemEntropy } from '../adapters/system/entropy.js';
import { acceptRestore, type GivenUp } from '../application/log/accept-restore.js';
import type { EventStore } from '../application/ports/event-store.js';
import type { LogTiles } from '../application/ports/log-tiles.js';
import type { RawLog } from '../application/ports/raw-log.js';
import { Streams } from '../application/streams.js';
import { elsewhereOf, keptElsewhere } from './known-elsewhere.js';
import { logKeys, signingWith } from './log-keys.js';
import { plainSealing } from './plain-sealing.js';
import { macsOfLog, UnusableSecretFile } from './secret-files.js';
import type { Settings } from './settings.js';

const clock = new SystemClock();
const entropy = new SystemEntropy();

interface Opened {
  readonly store: EventStore;
  readonly log: RawLog;
  readonly tiles: LogTiles;
  readonly close: () => Promise<void>;
}

const openLog = async (settings: Settings): Promise<Opened> => {
  const { eventStoreUrl: url, eventStorePrefix: prefix, mongoUrl, dataDir: directory } = settings;
  if (url === null || mongoUrl === null) {
    const { openEventsFile } = await import('../adapters/sqlite/log/events-file.js');
    const fail = (error: Error): void => {
      throw error;
    };
    const file = await openEventsFile({ directory, clock, onUnknownOutcome: fail, onDamage: fail });
    return { store: file.eventStore, log: file.raw, tiles: file.tiles, close: file.close };
  }
  const [{ EventStoreDbEventStore }, { MongoDatabase }, { MongoLogTiles }] = await Promise.all([
    import('../adapters/eventstoredb/event-store.js'),
    import('../adapters/mongodb/database.js'),
    import('../adapters/mongodb/log-tiles.js'),
  ]);
  const database = new MongoDatabase(mongoUrl, clock);
  const store = new EventStoreDbEventStore({ url, prefix, clock, entropy });
  const close = async (): Promise<void> => {
    await store.close();
    await database.close();
  };
  return { store, log: store, tiles: new MongoLogTiles(database), close };
};

/**
 * Gives up the head of the log that was signed last. Throws DataDirectoryInUse while the embedded service
 * runs, UnusableSecretFile, and what `acceptRestore` throws.
 */
export const acceptRestoreOf = async (
  settings: Settings,
  choice: { readonly by: string; readonly anew: boolean },
  onProgress: (events: number) => void,
): Promise<GivenUp> => {
  const keys = logKeys(settings, entropy, false);
  const sign = signingWith(keys);
  const { log, tiles, store, close } = await openLog(settings);
  try {
    const report = (error: unknown): void => {
      throw error;
    };
    const { heads, knownElsewhere } = await keptElsewhere(elsewhereOf(settings, keys), {
      tiles,
      clock,
      report,
    });
    if (heads === undefined || sign === null)
      throw new UnusableSecretFile(
        `LOG_KEY_FILE ${settings.logKeyFile} does not exist: it says which heads are the log's.`,
      );
    const macs = macsOfLog(settings, entropy);
    const deps = { store, log, tiles, macs, heads, knownElsewhere, sign, clock, entropy };
    const streams = new Streams(store, plainSealing(settings, entropy));
    const initiator = { actor: { kind: 'operator', id: null }, requestId: null } as const;
    return await acceptRestore({ ...deps, streams }, initiator, choice, onProgress);
  } finally {
    await close();
  }
};
