import { eventStoreContract } from '../../contract/event-store.js';
import { openNew } from './setup.js';

eventStoreContract('SQLite', async () => {
  const file = await openNew();
  return { store: file.eventStore, idempotency: file.idempotencyStore, close: file.close };
});
