import { existsSync } from 'node:fs';

import { keysPath, openPersonalKeys } from '../adapters/sqlite/keys/personal-keys.js';
import { SystemClock } from '../adapters/system/clock.js';
import { SystemEntropy } from '../adapters/system/entropy.js';
import { rotateKeys, type Rotated } from '../application/personal/key-ring.js';
import { masterKeys } from './secret-files.js';
import type { Settings } from './settings.js';

const clock = new SystemClock();
const entropy = new SystemEntropy();

/** Encrypts all keys of personal data with the newest line of PERSONAL_KEY_FILE. The service may run. */
export const rotateKeysOf = async (
  { mongoUrl, dataDir, personalKeyFile }: Settings,
  onProgress: (blocks: number) => void,
): Promise<Rotated & { readonly newest: string }> => {
  const masters = masterKeys(personalKeyFile, entropy, false, 'PERSONAL_KEY_FILE');
  const newest = masters[0].id;
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
