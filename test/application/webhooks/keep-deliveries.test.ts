import { expect } from 'chai';
import { forwardClock } from '../../../application/timing/forward-clock.js';
import { keepDeliveries } from '../../../application/webhooks/keep-deliveries.js';
import { VirtualClock } from '../../support/memory/clock.js';

describe('the upkeep of deliveries', () => {
  it('ends windows when they are over for attempts, also after the clock was set back', async () => {
    const clock = new VirtualClock();
    const dueClock = forwardClock(clock);
    const began = dueClock.now();
    clock.set(clock.now() - 3_600_000);
    const stop = new AbortController();
    const asked: number[] = [];
    const log = {
      dropExpired: (now: number) => Promise.resolve(asked.push(now - began)),
      continueRedrives: () => Promise.resolve(new Set<never>()),
      removeEnded: () => Promise.resolve(0),
    };
    const queue = { announce: () => Promise.resolve(), listen: () => Promise.resolve() };
    const policy = { backoff: [60_000], disableAfter: 20 };
    const kept = keepDeliveries({ log, queue, clock, dueClock, policy, keep: 1 }, stop.signal, (error) => {
      throw error;
    });
    await clock.advance(0);
    stop.abort();
    await clock.advance(60_000);
    await kept;
    expect(asked).to.deep.equal([0]);
  });
});
