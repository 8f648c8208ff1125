import { parentPort, workerData } from 'node:worker_threads';
import { serveProjector } from '../../adapters/sqlite/projector-thread.js';
import { SystemClock } from '../../adapters/system/clock.js';
import { counts, notes } from './notes.js';

if (parentPort !== null) await serveProjector(workerData, { port: parentPort, projections: [notes, counts], clock: new SystemClock() });
