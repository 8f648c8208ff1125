import { expect } from 'chai';
import { watchClock } from '../../../../adapters/mongodb/client/clock-watch.js';
import { MongoDatabase } from '../../../../adapters/mongodb/client/database.js';
import { mongoRateLimiter } from '../../../../adapters/mongodb/records/rate-limiter.js';
import { LocalRateLimiter } from '../../../../adapters/system/rate-limiter.js';
import { SystemClock } from '../../../../adapters/system/clock.js';
import { eventually } from '../../../support/time/eventually.js';
import type { Milliseconds } from '../../../../domain/ids.js';
import { VirtualClock } from '../../../support/memory/clock.js';
import { describeWithEngines } from '../../../support/runner/engines.js';
import { freshDatabase } from '../support.js';

const minute: Milliseconds = 60_000;

/** A watched process whose database is `skew` behind, and what it reports. */
const watch = (skew: () => Milliseconds, tripTime: Milliseconds = 0) => {
  const clock = new VirtualClock();
  const reports: Milliseconds[] = [];
  const errors: unknown[] = [];
  const stopped = new AbortController();
  const serverTime = async (): Promise<Date> => {
    await clock.sleep(tripTime);
    return new Date(clock.now() - skew());
  };
  const watching = watchClock(
    {
      database: { serverTime },
      clock,
      onSkew: (ahead) => reports.push(ahead),
      onError: (error) => errors.push(error),
    },
    stopped.signal,
  );
  const stop = async () => {
    stopped.abort();
    await clock.advance(tripTime);
    await watching;
  };
  return { clock, reports, errors, stop };
};

describe('the clock of a process with servers', () => {
  it('is reported when it is more than 30 s off the database’s, and again when that is over', async () => {
    let skew = 30_000;
    const { clock, reports, stop } = watch(() => skew);
    await clock.advance(minute);
    expect(reports).to.deep.equal([]);
    skew = 30_001;
    await clock.advance(minute);
    expect(reports).to.deep.equal([30_001]);
    await clock.advance(5 * minute);
    expect(reports).to.deep.equal([30_001]);
    skew = 0;
    await clock.advance(minute);
    skew = -600_000;
    await clock.advance(minute);
    expect(reports).to.deep.equal([30_001, 0, -600_000]);
    await stop();
  });

  it('is reported every hour while it is wrong', async () => {
    const { clock, reports, stop } = watch(() => 120_000);
    await clock.advance(61 * minute);
    expect(reports).to.deep.equal([120_000, 120_000]);
    await stop();
  });

  it('is not blamed for a database that takes long to respond', async () => {
    const { clock, reports, stop } = watch(() => 40_000, 50_000);
    await clock.advance(2 * minute);
    expect(reports).to.deep.equal([]);
    await stop();
  });

  it('is found to be wrong if it is set while the database responds', async () => {
    let skew = 0;
    const { clock, reports, stop } = watch(() => skew, 1_000);
    skew = minute;
    clock.set(clock.now() + skew);
    await clock.advance(1_000);
    expect(reports).to.deep.equal([minute - 1_000]);
    await stop();
  });

  it('is compared within a second after its machine was suspended', async () => {
    let skew = 0;
    const { clock, reports, stop } = watch(() => skew);
    const suspended = Object.assign(clock, { isAgreed: () => skew === 0 });
    await clock.advance(3_000);
    skew = -minute;
    expect(suspended.isAgreed()).to.equal(false);
    await clock.advance(1_000);
    expect(reports).to.deep.equal([-minute]);
    await stop();
  });

  it('is compared again after the database was away', async () => {
    let away = true;
    const { clock, reports, errors, stop } = watch(() => {
      if (away) throw new Error('away');
      return 60_000;
    });
    await clock.advance(0);
    expect([errors.length, reports]).to.deep.equal([1, []]);
    away = false;
    await clock.advance(minute);
    expect(reports).to.deep.equal([60_000]);
    await stop();
  });
});

describeWithEngines(['MONGODB_URL'], 'the time of MongoDB', (url) => {
  it('is that of all processes, however far their clocks are apart, and if one is set', async () => {
    const { database, end } = freshDatabase(url);
    const stopped = new AbortController();
    const clocks = [30_000, -30_000, -3_600_000].map((skew) => {
      const clock = new SystemClock();
      clock.agree(skew);
      return clock;
    });
    const onError = (error: unknown): void => {
      throw error;
    };
    const watching = clocks.map((clock) =>
      watchClock({ database, clock, onSkew: () => undefined, onError }, stopped.signal),
    );
    const apart = () => clocks.map((clock) => Math.abs(clock.now() - Date.now()));
    await eventually(() => Math.max(...apart()) < 1_000);
    // So all of them count a request in the same minute.
    const hits = await eventually(async () => {
      const subject = `key ${performance.now()}`;
      const minutes = clocks.map((clock) => Math.floor(clock.now() / minute));
      const counts: number[] = [];
      for (const clock of clocks)
        counts.push(
          await mongoRateLimiter({ database, clock, fallback: new LocalRateLimiter() }).hit(
            subject,
            clock.now(),
          ),
        );
      return new Set(minutes).size === 1 && counts;
    });
    expect(hits).to.deep.equal([1, 2, 3]);
    stopped.abort();
    await Promise.all(watching);
    await end();
  });

  it('is that of a process from its first request on', async () => {
    const clock = new SystemClock();
    clock.agree(-60 * minute);
    const database = new MongoDatabase(url, clock);
    await database.collection('nothing').findOne({});
    expect(Math.abs(clock.now() - Date.now())).to.be.below(minute);
    await database.close();
  });
});
