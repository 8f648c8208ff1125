import { personalKeysContract } from '../../contract/personal-keys.js';
import { MemoryPersonalKeys } from '../../support/memory/personal-keys.js';

personalKeysContract('memory', async () => ({
  keys: new MemoryPersonalKeys(),
  close: () => Promise.resolve(),
}));
