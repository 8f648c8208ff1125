import { expect } from 'chai';
import { Worker } from 'node:worker_threads';
import { newGate, whileShut, insideGate } from '../../../adapters/sqlite/gate.js';
import { eventually } from '../../support/time/eventually.js';
import { entered, held, left, type GateThreadStart } from './gate-thread.js';

/** Runs a test beside a thread that goes in and out of a gate. */
const withThread = async (
  isHeld: boolean,
  run: (gate: SharedArrayBuffer, view: Int32Array) => Promise<void>,
): Promise<void> => {
  const start: GateThreadStart = {
    gate: newGate(),
    cells: new SharedArrayBuffer(3 * Int32Array.BYTES_PER_ELEMENT),
  };
  const view = new Int32Array(start.cells);
  Atomics.store(view, held, isHeld ? 1 : 0);
  const thread = new Worker(new URL('./gate-thread.js', import.meta.url), { workerData: start });
  try {
    await eventually(() => Atomics.load(view, entered) > 0);
    await run(start.gate, view);
  } finally {
    await thread.terminate();
  }
};

describe('the gate of the threads that use SQLite', () => {
  it('lets no thread in while it is shut, and lets them go on when it opens', () =>
    withThread(false, async (gate, view) => {
      const sights: (readonly [number, number])[] = [];
      whileShut(gate, () => {
        for (let look = 0; look < 100_000; look += 1)
          sights.push([Atomics.load(view, entered), Atomics.load(view, left)]);
      });
      const first = sights[0]?.[0] ?? 0;
      expect(sights.filter(([came, went]) => came !== first || went !== first)).to.deep.equal([]);
      await eventually(() => Atomics.load(view, entered) > first);
    }));

  it('does not wait forever for a thread that stays inside', () =>
    withThread(true, async (gate, view) => {
      let calls = 0;
      whileShut(gate, () => (calls += 1));
      expect([calls, Atomics.load(view, left)]).to.deep.equal([1, 0]);
    }));

  it('opens again if ending the process fails', () => {
    const gate = newGate();
    expect(() =>
      whileShut(gate, () => {
        throw new Error('the test lives on');
      }),
    ).to.throw('the test lives on');
    expect(insideGate(gate)(() => 'inside')).to.equal('inside');
  });
});
