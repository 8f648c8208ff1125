import { isThere } from '../../adapters/sqlite/database.js';
import { keysPath, openPersonalKeys } from '../../adapters/sqlite/keys/personal-keys.js';
import { SystemClock } from '../../adapters/system/clock.js';
import { SystemEntropy } from '../../adapters/system/entropy.js';
import { giveUpKeys } from '../../application/personal/give-up.js';
import { rotateKeys, type Rotated } from '../../application/personal/key-ring.js';
import type { UnreadableEvents } from '../../application/personal/own-keys.js';
import type { MasterKeys } from '../../domain/webhook-signing.js';
import { assertUnmarked, byOperator, closing, streamsOver } from './offline-log.js';
import { openPlace } from './places.js';
import { masterKeys } from '../settings/secret-files.js';
import type { Settings } from '../settings/settings.js';

const clock = new SystemClock();
const entropy = new SystemEntropy();

const mastersOf = ({ personalKeyFile }: Settings): MasterKeys =>
  masterKeys(personalKeyFile, entropy, false, 'PERSONAL_KEY_FILE');

const openKeys = async ({ servers, dataDir }: Settings) => {
  if (servers !== null) {
    const [{ MongoDatabase }, { mongoPersonalKeys }] = await Promise.all([
      import('../../adapters/mongodb/client/database.js'),
      import('../../adapters/mongodb/records/personal-keys.js'),
    ]);
    const database = new MongoDatabase(servers.mongoUrl, clock);
    await database.ping().catch(async (error: unknown) => {
      await database.close();
      throw error;
    });
    return { store: mongoPersonalKeys(database), close: () => database.close() };
  }
  const path = keysPath(dataDir);
  if (!isThere(path)) throw new Error(`There is no ${path}. Set DATA_DIR.`);
  const store = openPersonalKeys(path);
  return { store, close: store.close };
};

/** Encrypts all keys of personal data with the newest line of PERSONAL_KEY_FILE. The service may run. */
export const rotateKeysOf = async (
  settings: Settings,
  onProgress: (blocks: number) => void,
): Promise<Rotated & { readonly newest: string }> => {
  const masters = mastersOf(settings);
  return closing(await openKeys(settings), async ({ store }) => {
    return { newest: masters[0].id, ...(await rotateKeys({ store, masters, entropy }, onProgress)) };
  });
};

/**
 * Gives up the keys of personal data that are missing. Throws DataDirectoryInUse while the embedded service
 * runs, and the errors of `giveUpKeys`.
 */
export const giveUpKeysOf = async (settings: Settings, by: string): Promise<UnreadableEvents> =>
  closing(await openPlace(settings, false), async ({ store, personalKeyStore: keys, mark }) => {
    const masters = mastersOf(settings);
    await assertUnmarked(mark);
    const streams = streamsOver(store, settings);
    return giveUpKeys({ store, streams, keys, masters, clock, entropy }, byOperator, by);
  });
