import { MemoryHookCalls } from '../../support/memory/hook-calls.js';
import { hookCallsContract } from '../../contract/hook-calls.js';

hookCallsContract('memory', async () => ({ calls: new MemoryHookCalls(), close: async () => undefined }));
