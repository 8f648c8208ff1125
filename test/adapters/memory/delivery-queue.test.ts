import { InProcessDeliveryQueue } from '../../../adapters/memory/delivery-queue.js';
import { deliveryQueueContract } from '../../contract/delivery-queue.js';

deliveryQueueContract('one process', () =>
  Promise.resolve({
    queue: new InProcessDeliveryQueue(),
    now: () => 1_000_000,
    close: () => Promise.resolve(),
  }),
);
