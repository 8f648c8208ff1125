import { expect } from 'chai';
import { VirtualClock } from '../../support/memory/clock.js';
import { SeededEntropy } from '../../support/memory/entropy.js';

describe('a virtual clock', () => {
  it('stands still until it is advanced', async () => {
    const clock = new VirtualClock('2026-03-02T15:00:00.000Z');
    expect(clock.instant()).to.equal('2026-03-02T15:00:00.000Z');
    await clock.advance(1500);
    expect(clock.instant()).to.equal('2026-03-02T15:00:01.500Z');
  });

  it('wakes sleepers at their time, in the order in which they are due, even those that fall asleep meanwhile', async () => {
    const clock = new VirtualClock();
    const start = clock.now();
    const woken: [string, number][] = [];
    const sleep = async (name: string, time: number) => {
      await clock.sleep(time);
      woken.push([name, clock.now() - start]);
    };
    const all = [
      sleep('late', 30),
      sleep('early', 10).then(() => sleep('again', 15)),
      sleep('next', 20),
      sleep('never', 1000),
    ];
    await clock.advance(100);
    expect(woken).to.deep.equal([
      ['early', 10],
      ['next', 20],
      ['again', 25],
      ['late', 30],
    ]);
    expect(clock.sleeping).to.equal(1);
    expect(clock.nextDue).to.equal(start + 1000);
    await clock.advance(900);
    await Promise.all(all);
  });

  it('can be set like the clock of a machine without an effect on sleepers and time limits', async () => {
    const clock = new VirtualClock('2026-03-02T15:00:00.000Z');
    const began = clock.monotonic();
    let awake = false;
    void clock.sleep(10).then(() => (awake = true));
    await clock.advance(4);
    clock.set(Date.parse('2026-01-01T00:00:00.000Z'));
    expect([clock.instant(), clock.monotonic() - began]).to.deep.equal(['2026-01-01T00:00:00.000Z', 4]);
    await clock.advance(5);
    expect([awake, clock.nextDue]).to.deep.equal([false, Date.parse('2026-01-01T00:00:00.006Z')]);
    await clock.advance(1);
    expect([awake, clock.nextDue]).to.deep.equal([true, null]);
  });

  it('wakes a sleeper if its signal aborts', async () => {
    const clock = new VirtualClock();
    const stop = new AbortController();
    const asleep = clock.sleep(10, stop.signal);
    stop.abort();
    await asleep;
    await clock.sleep(10, stop.signal);
    expect(clock.sleeping).to.equal(0);
  });
});

describe('seeded entropy', () => {
  const drawn = (seed: number) => {
    const entropy = new SeededEntropy(seed);
    return [entropy.uuid(), entropy.bytes(8).toString('hex'), entropy.below(1000), entropy.uuid()];
  };

  it('draws the same with the same seed, and something else with another', () => {
    expect(drawn(7)).to.deep.equal(drawn(7));
    expect(drawn(7)).to.not.deep.equal(drawn(8));
    expect(drawn(7)[0]).to.match(/^[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/);
  });

  it('draws every whole number below the limit', () => {
    const entropy = new SeededEntropy(1);
    expect(new Set(Array.from({ length: 500 }, () => entropy.below(5)))).to.deep.equal(
      new Set([0, 1, 2, 3, 4]),
    );
  });
});
