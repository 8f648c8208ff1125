import { MemoryDeliveries } from '../../support/memory/deliveries.js';
import { deliveriesContract } from '../../contract/deliveries.js';

deliveriesContract('memory', async () => {
  const deliveries = new MemoryDeliveries();
  return {
    deliveries,
    restarted: async () => deliveries.restarted(),
    restartedLater: async () => deliveries.restarted(),
    steps: null,
    close: async () => undefined,
  };
});
