import type { Entropy } from '../../application/ports/system.js';
import type { Sealing } from '../../application/writing/streams.js';
import { macsOfLog } from '../settings/secret-files.js';
import type { Settings } from '../settings/settings.js';

/**
 * Sealing for events that are recorded beside the service, which hold nothing personal. Throws
 * UnusableSecretFile.
 */
export const plainSealing = (settings: Settings, entropy: Entropy): Sealing => ({
  ready: () => Promise.resolve(),
  seal: ({ data }) => ({ data: JSON.stringify(data), personal: null }),
  sign: macsOfLog(settings, entropy).sign,
});
