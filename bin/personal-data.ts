import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { keysPath, openPersonalKeys } from '../adapters/sqlite/keys/personal-keys.js';
import { openStoredPersonal } from '../adapters/sqlite/keys/stored-personal.js';
import { lockDirectory } from '../adapters/sqlite/database.js';
import { SystemClock } from '../adapters/system/clock.js';
import { SystemEntropy } from '../adapters/system/entropy.js';
import { keyRing, rotateKeys, type Rotated } from '../application/personal/key-ring.js';
import { sealPersonal, type SealedLog } from '../application/personal/seal-personal.js';
import type { MasterKeys } from '../domain/webhook-signing.js';
import { masterKeys } from './secret-files.js';
import type { Settings } from './settings.js';

const clock = new SystemClock();
const entropy = new SystemEntropy();

const mastersOf = ({ personalKeyFile }: Settings, make: boolean): MasterKeys =>
  masterKeys(personalKeyFile, entropy, make, 'PERSONAL_KEY_FILE');

/**
 * Seals the personal data that is in the clear in the embedded log. Throws DataDirectoryInUse while the
 * service runs, and DamagedLog.
 */
export const sealInFile = async (
  settings: Settings,
  onProgress: (events: number) => void,
): Promise<SealedLog> => {
  const { dataDir } = settings;
  const path = join(dataDir, 'events.db');
  if (!existsSync(path)) throw new Error(`There is no ${path}. Set DATA_DIR.`);
  const lock = lockDirectory(dataDir);
  try {
    const masters = mastersOf(settings, true);
    const store = openPersonalKeys(keysPath(dataDir));
    const texts = openStoredPersonal(path);
    try {
      return await sealPersonal(texts, keyRing({ store, masters, clock, entropy }), entropy, onProgress);
    } finally {
      texts.close();
      store.close();
    }
  } finally {
    lock.release();
  }
};

/** Encrypts all keys of personal data with the newest line of PERSONAL_KEY_FILE. The service may run. */
export const rotateKeysOf = async (
  settings: Settings,
  onProgress: (blocks: number) => void,
): Promise<Rotated & { readonly newest: string }> => {
  const masters = mastersOf(settings, false);
  const newest = masters[0].id;
  const { mongoUrl, dataDir } = settings;
  if (mongoUrl !== null) {
    const [{ MongoDatabase }, { MongoPersonalKeys }] = await Promise.all([
      import('../adapters/mongodb/database.js'),
      import('../adapters/mongodb/personal-keys.js'),
    ]);
    const database = new MongoDatabase(mongoUrl, clock);
    try {
      await database.ping();
      const store = new MongoPersonalKeys(database);
      return { newest, ...(await rotateKeys({ store, masters, entropy }, onProgress)) };
    } finally {
      await database.close();
    }
  }
  const path = keysPath(dataDir);
  if (!existsSync(path)) throw new Error(`There is no ${path}. Set DATA_DIR.`);
  const store = openPersonalKeys(path);
  try {
    return { newest, ...(await rotateKeys({ store, masters, entropy }, onProgress)) };
  } finally {
    store.close();
  }
};
