import { expect } from 'chai';
import { withTimeout } from '../../../application/timing/with-timeout.js';
import { VirtualClock } from '../../support/memory/clock.js';

const pending = new Promise<never>(() => undefined);

describe('a promise with a time limit', () => {
  it('resolves with its own value, and leaves no timer', async () => {
    const clock = new VirtualClock();
    let late = 0;
    const value = await withTimeout(clock, 100, Promise.resolve('in time'), () => (late += 1));
    expect([value, clock.sleeping]).to.deep.equal(['in time', 0]);
    await clock.advance(1_000);
    expect(late).to.equal(0);
  });

  it('rejects with its own error, and leaves no timer', async () => {
    const clock = new VirtualClock();
    const error = await withTimeout(clock, 100, Promise.reject(new Error('refused')), () => null).catch(
      String,
    );
    expect([error, clock.sleeping]).to.deep.equal(['Error: refused', 0]);
  });

  it('resolves with the substitute value when the time is up, and not before', async () => {
    const clock = new VirtualClock();
    const outcomes: string[] = [];
    void withTimeout(clock, 100, pending, () => 'late').then((outcome) => outcomes.push(outcome));
    await clock.advance(99);
    expect(outcomes).to.deep.equal([]);
    await clock.advance(1);
    expect(outcomes).to.deep.equal(['late']);
  });

  it('rejects with the substitute error when the time is up', async () => {
    const clock = new VirtualClock();
    const outcome = withTimeout(clock, 100, pending, () => {
      throw new Error('too late');
    }).catch(String);
    await clock.advance(100);
    expect(await outcome).to.equal('Error: too late');
  });
});
