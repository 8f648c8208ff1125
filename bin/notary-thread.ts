import { parentPort } from 'node:worker_threads';
import { serveNotary } from '../adapters/sqlite/notary/notary-thread.js';
import { SystemClock } from '../adapters/system/clock.js';
import { keptElsewhere } from './wiring/known-elsewhere.js';

if (parentPort !== null) await serveNotary({ port: parentPort, clock: new SystemClock(), keptElsewhere });
