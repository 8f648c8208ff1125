import { SystemClock } from '../adapters/system/clock.js';
import { SystemEntropy } from '../adapters/system/entropy.js';
import { copyLog, NoCopy, type CopiedLog } from '../application/log/copy-log.js';
import { assertUndamaged } from '../application/log/damaged-log.js';
import { macsOfLog } from './secret-files.js';
import type { Servers, Settings } from './settings.js';

const clock = new SystemClock();
const entropy = new SystemEntropy();

/**
 * Copies the log in EventStoreDB to another EventStoreDB, once all of it is signed. Nobody may write to
 * either. Throws what `copyLog` throws.
 */
export const copyLogTo = async (
  url: string,
  { eventStoreUrl, mongoUrl }: Servers,
  { eventStorePrefix: prefix, eventKeyFile }: Settings,
  onProgress: (events: number) => void,
): Promise<CopiedLog> => {
  const [{ EventStoreDbEventStore }, { MongoDatabase }, { MongoLogTiles }] = await Promise.all([
    import('../adapters/eventstoredb/event-store.js'),
    import('../adapters/mongodb/database.js'),
    import('../adapters/mongodb/log-tiles.js'),
  ]);
  const macs = macsOfLog({ eventKeyFile }, entropy);
  const database = new MongoDatabase(mongoUrl, clock);
  const from = new EventStoreDbEventStore({ url: eventStoreUrl, prefix, clock, entropy });
  const to = new EventStoreDbEventStore({ url, prefix, clock, entropy });
  try {
    await database.ping();
    const tiles = new MongoLogTiles(database);
    await assertUndamaged(tiles);
    const copied = await copyLog({ from, to, macs }, onProgress);
    const newest = await tiles.newest();
    if (newest?.size !== copied.events || !newest.root.equals(copied.root))
      throw new NoCopy(
        `The newest checkpoint of the log covers ${newest?.size ?? 0} of its ${copied.events} events, so it does not close it. Let the role notary sign the rest while nobody writes, then copy again: it goes on where it was.`,
      );
    return copied;
  } finally {
    await to.close();
    await from.close();
    await database.close();
  }
};
