import { expect } from 'chai';
import { newGate } from '../../../adapters/sqlite/gate.js';
import { startNotary } from '../../../adapters/sqlite/notary/notary.js';
import { eventKeys } from '../../support/fixtures/seal-events.js';
import { VirtualClock } from '../../support/memory/clock.js';

/** Fails the first time that it is started. */
const program = `
  import { parentPort, workerData } from 'node:worker_threads';
  if (Atomics.add(new BigInt64Array(workerData.log.head), 0, 1n) === 0n) throw new Error('too many open files');
  parentPort.postMessage({ kind: 'scrubbed' });
  parentPort.once('message', () => parentPort.close());`;

describe("the notary's thread", () => {
  it('is started again a second after it ended by itself', async () => {
    const clock = new VirtualClock();
    let fail: (reason: string) => void = () => undefined;
    const failed = new Promise<string>((resolve) => (fail = resolve));
    const thread = startNotary({
      shared: { path: '', head: new SharedArrayBuffer(BigInt64Array.BYTES_PER_ELEMENT), gate: newGate() },
      writer: { run: () => new Promise(() => undefined) },
      notary: {
        thread: new URL(`data:text/javascript,${encodeURIComponent(program)}`),
        signers: [],
        eventKeys: () => eventKeys,
        scrubEvery: 1,
        onError: fail,
      },
      isNew: true,
      clock,
      onDamage: () => undefined,
    });
    expect(await failed).to.equal('too many open files');
    await clock.advance(1_000);
    await thread.passed;
    await thread.close();
  });
});
