import { parentPort, workerData } from 'node:worker_threads';
import { insideGate, type Gate } from '../../../adapters/sqlite/gate.js';

/**
 * What a test shares with its thread: the gate, and 32-bit integers: `held` (the thread stays inside while it
 * is 1), and how often it has `entered` and `left`.
 */
export interface GateThreadStart {
  readonly gate: Gate;
  readonly cells: SharedArrayBuffer;
}
export const held = 0;
export const entered = 1;
export const left = 2;

/** Goes in and out without end. */
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
