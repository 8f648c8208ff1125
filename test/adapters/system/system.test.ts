import { expect } from 'chai';
import { SystemClock } from '../../../adapters/system/clock.js';
import { SystemEntropy } from '../../../adapters/system/entropy.js';
import { LocalRateLimiter } from '../../../adapters/system/rate-limiter.js';

describe('the system clock', () => {
  it('gives the same time as a number and as an instant', () => {
    const clock = new SystemClock();
    const before = clock.now();
    const instant = Date.parse(clock.instant());
    expect(instant).to.be.within(before, clock.now());
    expect(clock.instant()).to.match(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/);
  });

  it('goes on steadily while the machine’s clock is set, until a time is agreed on', () => {
    const clock = new SystemClock();
    const { now } = Date;
    const hour = 3_600_000;
    const inHours = (time: number) => Math.round((time - now()) / hour) || 0;
    Date.now = () => now() + 2 * hour;
    try {
      expect([clock.now(), clock.steady()].map(inHours)).to.deep.equal([2, 0]);
      clock.agree(-hour);
      expect([clock.now(), clock.steady()].map(inHours)).to.deep.equal([1, 1]);
    } finally {
      Date.now = now;
    }
  });

  it('is no longer what was agreed on once the machine was suspended, or its clock set, until the next time', () => {
    const clock = new SystemClock();
    const { now } = Date;
    const agreed: boolean[] = [];
    const look = (ahead: number) => {
      Date.now = () => now() + ahead;
      agreed.push(clock.isAgreed());
    };
    try {
      look(60_000);
      clock.agree(0);
      for (const ahead of [60_000, 62_000, 58_000, 60_500]) look(ahead);
      look(-60_000);
      clock.agree(0);
      look(-60_000);
      expect(agreed).to.deep.equal([true, true, false, false, true, false, true]);
    } finally {
      Date.now = now;
    }
  });

  it('sleeps for the given time', async () => {
    const clock = new SystemClock();
    const before = performance.now();
    await clock.sleep(5);
    expect(performance.now() - before).to.be.at.least(4);
  });

  it('measures elapsed time in whole milliseconds', async () => {
    const clock = new SystemClock();
    const before = clock.monotonic();
    await clock.sleep(5);
    const passed = clock.monotonic() - before;
    expect(passed).to.be.at.least(5);
    expect(Number.isInteger(before), String(before)).to.equal(true);
  });

  it('wakes at once if the signal aborts during the sleep, or before it', async () => {
    const clock = new SystemClock();
    const stop = new AbortController();
    const asleep = clock.sleep(3_600_000, stop.signal);
    stop.abort();
    await asleep;
    await clock.sleep(3_600_000, stop.signal);
  });
});

describe('the system entropy', () => {
  it('draws the number of bytes asked for, and never the same bytes twice', () => {
    const entropy = new SystemEntropy();
    const drawn = Array.from({ length: 2000 }, () => entropy.bytes(32));
    expect(new Set(drawn.map((bytes) => bytes.toString('hex'))).size).to.equal(2000);
    expect([0, 1, 1024, 5000].map((count) => entropy.bytes(count).length)).to.deep.equal([0, 1, 1024, 5000]);
  });

  it('makes random UUIDs', () => {
    expect(new SystemEntropy().uuid()).to.match(
      /^[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/,
    );
  });

  it('draws every whole number below the limit', () => {
    const entropy = new SystemEntropy();
    expect(new Set(Array.from({ length: 500 }, () => entropy.below(5)))).to.deep.equal(
      new Set([0, 1, 2, 3, 4]),
    );
  });
});

describe('the rate limiter of a process', () => {
  const minute = Date.parse('2026-03-02T15:04:00.000Z');

  it('counts each subject per clock minute', async () => {
    const limiter = new LocalRateLimiter();
    expect(await limiter.hit('key a', minute)).to.equal(1);
    expect(await limiter.hit('key a', minute + 59_999)).to.equal(2);
    expect(await limiter.hit('key b', minute)).to.equal(1);
    expect(await limiter.hit('key a', minute + 60_000)).to.equal(1);
  });
});
