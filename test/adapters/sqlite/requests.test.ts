import { sqliteRequests } from '../../../adapters/sqlite/records/requests.js';
import { requestsContract } from '../../contract/requests.js';
import { openNew } from './setup.js';

requestsContract('SQLite', async () => {
  const file = await openNew();
  return { rows: sqliteRequests(file.writer, file.database), close: () => file.close() };
});
