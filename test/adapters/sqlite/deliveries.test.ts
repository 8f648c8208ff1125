import { SqliteDeliveries } from '../../../adapters/sqlite/records/deliveries.js';
import { deliveriesContract } from '../../contract/deliveries.js';
import { openNew } from './setup.js';

deliveriesContract('SQLite', async () => {
  const file = await openNew();
  return {
    deliveries: new SqliteDeliveries(file),
    restarted: async () => new SqliteDeliveries(file),
    close: file.close,
  };
});
