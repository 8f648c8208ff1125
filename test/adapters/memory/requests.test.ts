import { requestsContract } from '../../contract/requests.js';
import { memoryRequests } from '../../support/memory/requests.js';

requestsContract('memory', async () => ({ rows: memoryRequests(), close: async () => undefined }));
