import { signInRecordsContract } from '../../contract/sign-in-records.js';
import { VirtualClock } from '../../support/memory/clock.js';
import { MemorySignInRecords } from '../../support/memory/sign-in-records.js';

signInRecordsContract('memory', async () => {
  const clock = new VirtualClock();
  return { records: new MemorySignInRecords(clock), clock, close: () => Promise.resolve() };
});
