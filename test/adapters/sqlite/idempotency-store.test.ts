import { idempotencyStoreContract } from '../../contract/idempotency-store.js';
import { openNew } from './setup.js';

idempotencyStoreContract('SQLite', async () => {
  const file = await openNew();
  return { store: file.idempotencyStore, setClock: file.clock.set, close: file.close };
});
