import { parentPort, workerData } from 'node:worker_threads';
import { insideGate, type Gate } from '../../../adapters/sqlite/gate.js';

/**
 * What a test shares with its thread: the gate, and three 32-bit integers. The thread stays inside while
 * `held` is 1, and counts in `entered` and `left`.
 */
export interface GateThreadStart {
  readonly gate: Gate;
  readonly cells: SharedArrayBuffer;
}
export const held = 0;
export const entered = 1;
export const left = 2;

/** Goes in and out forever. */
const run = ({ gate, cells }: GateThreadStart): void => {
  const inside = insideGate(gate);
  const view = new Int32Array(cells);
  for (;;)
    inside(() => {
      Atomics.add(view, entered, 1);
      while (Atomics.load(view, held) === 1);
      Atomics.add(view, left, 1);
    });
};

if (parentPort !== null) run(workerData as GateThreadStart);
