import { SystemClock } from '../adapters/system/clock.js';
import { SystemEntropy } from '../adapters/system/entropy.js';
import { rebuildTree } from '../application/log/notarize.js';
import { elsewhereOf, keptElsewhere } from './known-elsewhere.js';
import { logKeys } from './log-keys.js';
import { openLog } from './opened-log.js';
import { macsOfLog } from './secret-files.js';
import type { Settings } from './settings.js';

const [clock, entropy] = [new SystemClock(), new SystemEntropy()];

/**
 * Makes the tree over the log again, and compares it with every checkpoint that is kept; where the log's key
 * is at hand, also with its last signed head, anchors and witnesses. Signs nothing. Returns the number of
 * events. Throws DamagedLog, and DataDirectoryInUse while the embedded service runs.
 */
export const rebuildLog = async (
  settings: Settings,
  onProgress: (events: number) => void,
): Promise<number> => {
  const { log, tiles, name, close } = await openLog(settings, { opensDamaged: true });
  try {
    const keys = logKeys(settings, entropy, false);
    const elsewhere = await keptElsewhere(elsewhereOf(settings, keys), {
      tiles,
      clock,
      report: () => undefined,
    });
    const silent = { clock, sign: null, scrubEvery: 0, restore: name, macs: macsOfLog(settings, entropy) };
    return await rebuildTree({ ...silent, log, tiles, ...elsewhere }, onProgress);
  } finally {
    await close();
  }
};
