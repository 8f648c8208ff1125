import { recordsContract } from '../../contract/records.js';
import { VirtualClock } from '../../support/memory/clock.js';
import { MemoryImportRecords, MemorySignInRecords } from '../../support/memory/records.js';

const close = () => Promise.resolve();

recordsContract('signing in, in memory', ['session', 'link', 'form'], async () => {
  const clock = new VirtualClock();
  return { records: new MemorySignInRecords(clock), clock, close };
});

recordsContract('imports, in memory', ['import', 'import-part', 'import-bad'], async () => {
  const clock = new VirtualClock();
  return { records: new MemoryImportRecords(clock), clock, close };
});
