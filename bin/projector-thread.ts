import { parentPort } from 'node:worker_threads';
import { serveProjector } from '../adapters/sqlite/read/projector-thread.js';
import { SystemClock } from '../adapters/system/clock.js';
import { SystemEntropy } from '../adapters/system/entropy.js';
import { allProjections } from '../projections/all.js';

if (parentPort !== null)
  await serveProjector({
    port: parentPort,
    projections: allProjections,
    clock: new SystemClock(),
    entropy: new SystemEntropy(),
  });
