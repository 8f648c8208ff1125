import { parentPort, workerData } from 'node:worker_threads';
import { serveNotary } from '../adapters/sqlite/notary/notary-thread.js';
import { SystemClock } from '../adapters/system/clock.js';
import { keptElsewhere } from './wiring/known-elsewhere.js';

if (parentPort !== null)
  await serveNotary(workerData, { port: parentPort, clock: new SystemClock(), keptElsewhere });
