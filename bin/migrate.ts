import { migrateDirectory } from '../adapters/sqlite/migrate.js';
import type { Clock } from '../application/ports/system.js';
import type { Settings } from './settings.js';

export interface MigrationDeps {
  readonly settings: Pick<Settings, 'dataDir' | 'mongoUrl'>;
  readonly clock: Clock;
  /** Takes a line for the person who waits. */
  readonly say: (line: string) => void;
}

const line = (where: string, name: string, rows: number): string =>
  `Making the index ${name} of ${where} (${rows.toLocaleString('en-US')} rows) ...`;

const onMongo = async ({ clock, say }: MigrationDeps, url: string): Promise<void> => {
  const [{ MongoDatabase }, { migrateMongo }] = await Promise.all([
    import('../adapters/mongodb/database.js'),
    import('../adapters/mongodb/migrate.js'),
  ]);
  const database = new MongoDatabase(url, clock);
  try {
    await database.ping();
    await migrateMongo(database, ({ collection, name, rows }) => say(line(collection, name, rows)));
  } finally {
    await database.close();
  }
};

/**
 * Makes what this version of the service needs of the data of an older one, ahead of its start. Read models
 * are not among it: they are built beside those in use. (docs/operations.md#upgrade)
 */
export const migrate = async (deps: MigrationDeps): Promise<void> => {
  const { settings, clock, say } = deps;
  const began = clock.monotonic();
  const { mongoUrl, dataDir } = settings;
  if (mongoUrl !== null) await onMongo(deps, mongoUrl);
  else if (!migrateDirectory(dataDir, ({ table, name, rows }) => say(line(table, name, rows)))) {
    say(`There are no data in ${dataDir} yet: nothing to do.`);
    return;
  }
  const seconds = ((clock.monotonic() - began) / 1_000).toFixed(1);
  say(`Everything is as this version needs it, after ${seconds} s. Start it now.`);
};
