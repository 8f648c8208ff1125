import { parentPort, workerData } from 'node:worker_threads';
import { openLogReader, type SharedLog } from '../../../adapters/sqlite/log/log-reader.js';
import { standingClock } from '../../support/time/standing-clock.js';
import { start } from './setup.js';

/** Follows the log from a thread of its own and reports what it sees, until it is told to stop. */
const follow = async (): Promise<void> => {
  const shared: SharedLog = workerData;
  const { reader, close } = openLogReader(shared, {
    clock: standingClock(start),
    onDamage: (error) => parentPort?.postMessage({ damage: error.message }),
  });
  const stop = new AbortController();
  parentPort?.once('message', () => stop.abort());
  const head = await reader.head();
  parentPort?.postMessage({ head: Number(head.position) });
  for await (const events of reader.follow(0n, { signal: stop.signal }))
    parentPort?.postMessage({ positions: events.map(({ position }) => Number(position)) });
  close();
  parentPort?.postMessage({ ended: true });
};

await follow();
