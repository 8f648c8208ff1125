import { expect } from 'chai';
import { VirtualClock } from '../../support/memory/clock.js';
import { Bounds, MongoOverdue } from '../../../adapters/mongodb/bounds.js';

const never = (): Promise<string> => new Promise(() => undefined);

/** What came of it so far. */
const following = (asked: Promise<string>): { outcome: string } => {
  const followed = { outcome: 'under way' };
  asked.then(
    (value) => (followed.outcome = value),
    (error: unknown) => (followed.outcome = error instanceof MongoOverdue ? 'overdue' : String(error)),
  );
  return followed;
};

describe('the bounds of requests', () => {
  it('pass on what is made in time', async () => {
    const bounds = new Bounds(new VirtualClock(), 1_000);
    const broken = following(bounds.limit(Promise.reject(new RangeError('broken'))));
    expect(await bounds.limit(Promise.resolve('made'))).to.equal('made');
    expect(broken.outcome).to.equal('RangeError: broken');
    bounds.stop();
  });

  it('end each request when its own time is over', async () => {
    const clock = new VirtualClock();
    const bounds = new Bounds(clock, 1_000);
    const first = following(bounds.limit(never()));
    await clock.advance(400);
    const second = following(bounds.limit(never()));
    await clock.advance(599);
    expect([first.outcome, second.outcome]).to.deep.equal(['under way', 'under way']);
    await clock.advance(1);
    expect([first.outcome, second.outcome]).to.deep.equal(['overdue', 'under way']);
    await clock.advance(400);
    expect([first.outcome, second.outcome]).to.deep.equal(['overdue', 'overdue']);
    const later = following(bounds.limit(never()));
    await clock.advance(1_000);
    expect([later.outcome, clock.sleeping]).to.deep.equal(['overdue', 0]);
  });

  it('end each request in its own time where the clock of the machine is set back meanwhile', async () => {
    const clock = new VirtualClock();
    const bounds = new Bounds(clock, 1_000);
    const first = following(bounds.limit(never()));
    clock.set(clock.now() - 3_600_000);
    const second = following(bounds.limit(never()));
    await clock.advance(1_000);
    expect([first.outcome, second.outcome]).to.deep.equal(['overdue', 'overdue']);
  });

  it('end everything at once when they are stopped, and leave no timer', async () => {
    const clock = new VirtualClock();
    const bounds = new Bounds(clock, 1_000);
    const both = [following(bounds.limit(never())), following(bounds.limit(never()))];
    bounds.stop();
    await clock.advance(0);
    expect([both.map(({ outcome }) => outcome), clock.sleeping]).to.deep.equal([['overdue', 'overdue'], 0]);
  });

  it('end what is asked after that, too', async () => {
    const clock = new VirtualClock();
    const bounds = new Bounds(clock, 1_000);
    bounds.stop();
    const late = following(bounds.limit(never()));
    await clock.advance(1_000);
    expect([late.outcome, clock.sleeping]).to.deep.equal(['overdue', 0]);
  });
});
