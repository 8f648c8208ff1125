import { SystemEntropy } from '../adapters/system/entropy.js';
import { copyLog, NoCopy, type CopiedLog } from '../application/log/copy-log.js';
import { assertUndamaged } from '../application/log/damaged-log.js';
import { openServers } from './opened-log.js';
import { macsOfLog } from './secret-files.js';
import type { Servers, Settings } from './settings.js';

const entropy = new SystemEntropy();

/**
 * Copies the log in EventStoreDB to another EventStoreDB, once all of it is signed. Nobody may write to
 * either. Throws what `copyLog` throws.
 */
export const copyLogTo = async (
  url: string,
  servers: Servers,
  settings: Settings,
  onProgress: (events: number) => void,
): Promise<CopiedLog> => {
  const { MongoLogTiles } = await import('../adapters/mongodb/log-tiles.js');
  const macs = macsOfLog(settings, entropy);
  const { log: from, database, close } = await openServers(servers, settings);
  const { log: to, close: closeOther } = await openServers({ ...servers, eventStoreUrl: url }, settings);
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
    await closeOther();
    await close();
  }
};
