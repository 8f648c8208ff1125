import { expect } from 'chai';
import { untilAborted } from '../../../application/timing/until-aborted.js';
import { VirtualClock } from '../../support/memory/clock.js';

describe('work that is repeated until a signal aborts', () => {
  const start = (pauseAfterError?: number) => {
    const clock = new VirtualClock();
    const began = clock.now();
    const stopping = new AbortController();
    const times: number[] = [];
    const errors: unknown[] = [];
    const ended = untilAborted(
      {
        clock,
        signal: stopping.signal,
        pause: 100,
        ...(pauseAfterError !== undefined && { pauseAfterError }),
        onError: (error) => errors.push(error),
      },
      async () => {
        times.push(clock.now() - began);
        if (times.length === 2) throw new Error('the second time');
      },
    );
    return { clock, stopping, times, errors, ended };
  };

  it('runs at once and again after each pause, even after a failure, which it reports', async () => {
    const { clock, stopping, times, errors, ended } = start();
    await clock.advance(350);
    stopping.abort();
    await ended;
    expect(times).to.deep.equal([0, 100, 200, 300]);
    expect(errors.map(String)).to.deep.equal(['Error: the second time']);
    expect(clock.sleeping).to.equal(0);
  });

  it('waits after a failure as long as it is told to', async () => {
    const { clock, stopping, times, ended } = start(1_000);
    await clock.advance(1_250);
    stopping.abort();
    await ended;
    expect(times).to.deep.equal([0, 100, 1_100, 1_200]);
  });

  it('does nothing if the signal is already aborted', async () => {
    const times: number[] = [];
    await untilAborted(
      { clock: new VirtualClock(), signal: AbortSignal.abort(), pause: 100, onError: () => undefined },
      async () => times.push(1),
    );
    expect(times).to.deep.equal([]);
  });
});
