import { EventStoreDbEventStore } from '../../../adapters/eventstoredb/event-store.js';
import { SystemEntropy } from '../../../adapters/system/entropy.js';
import { EventStoreDbStandIn } from '../../engines/eventstoredb-stand-in.js';
import { eventStoreContract } from '../../contract/event-store.js';
import { describeWithEngines } from '../../support/runner/engines.js';
import { clock } from './support.js';

const entropy = new SystemEntropy();

eventStoreContract('EventStoreDbEventStore on the stand-in', async () => {
  const server = await EventStoreDbStandIn.start(clock);
  const store = new EventStoreDbEventStore({ url: server.url, prefix: 'cards.', clock, entropy });
  const close = async (): Promise<void> => {
    await store.close();
    server.down();
  };
  return { store, atomic: false, close };
});

describeWithEngines(['EVENTSTORE_URL'], 'a running EventStoreDB', (url) => {
  eventStoreContract('EventStoreDbEventStore', async () => {
    const prefix = `test.${entropy.uuid()}.`;
    const store = new EventStoreDbEventStore({ url, prefix, clock, entropy });
    return { store, atomic: false, close: () => store.close() };
  });
});
