import { SystemClock } from '../adapters/system/clock.js';
import { SystemEntropy } from '../adapters/system/entropy.js';
import { acceptRestore, type GivenUp } from '../application/log/accept-restore.js';
import { Streams } from '../application/streams.js';
import { elsewhereOf, keptElsewhere } from './known-elsewhere.js';
import { logKeys, signingWith } from './log-keys.js';
import { openLog } from './opened-log.js';
import { plainSealing } from './plain-sealing.js';
import { macsOfLog, UnusableSecretFile } from './secret-files.js';
import type { Settings } from './settings.js';

const clock = new SystemClock();
const entropy = new SystemEntropy();

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
  const { log, tiles, store, close } = await openLog(settings, { opensDamaged: true });
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
