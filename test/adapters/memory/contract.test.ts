import { MemoryEventStore } from '../../support/memory/event-store.js';
import { MemoryIdempotencyStore } from '../../support/memory/idempotency-store.js';
import { eventStoreContract } from '../../contract/event-store.js';
import { standingClock } from '../../support/time/standing-clock.js';
import { idempotencyStoreContract, startOfContract } from '../../contract/idempotency-store.js';

const nothingToClose = () => Promise.resolve();

eventStoreContract('memory, atomic', () => {
  const idempotency = new MemoryIdempotencyStore(standingClock(startOfContract));
  const store = new MemoryEventStore({
    atomic: true,
    completeClaim: (claim) => void idempotency.completeNow(claim),
  });
  return Promise.resolve({ store, atomic: true, idempotency, close: nothingToClose });
});

eventStoreContract('memory, one stream at a time', () =>
  Promise.resolve({ store: new MemoryEventStore({ atomic: false }), atomic: false, close: nothingToClose }),
);

idempotencyStoreContract('memory', () => {
  const clock = standingClock(startOfContract);
  return Promise.resolve({
    store: new MemoryIdempotencyStore(clock),
    setClock: clock.set,
    close: nothingToClose,
  });
});
