import { expect } from 'chai';
import { MongoClient } from 'mongodb';
import { VirtualClock } from '../../../support/memory/clock.js';
import { bounded, Bounds, MongoOverdue } from '../../../../adapters/mongodb/client/bounds.js';

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

describe('a bounded database', () => {
  it('tells each request by its method and its collection, however it is made', async () => {
    const client = new MongoClient('mongodb://127.0.0.1:1', { serverSelectionTimeoutMS: 1 });
    const asked: string[] = [];
    const database = bounded(client.db('any'), (request, call) => {
      asked.push(call);
      request.catch(() => undefined);
      return Promise.resolve([]);
    });
    try {
      const cards = database.collection<{ _id: string }>('documents_cards_v3_g12');
      await cards.find({}).sort({ _id: 1 }).limit(2).toArray();
      await cards.bulkWrite([{ insertOne: { document: { _id: 'a' } } }]);
      await database.collection('builds').aggregate([]).toArray();
      await database.command({ ping: 1 });
      expect(asked).to.deep.equal([
        'find documents_cards',
        'bulkWrite documents_cards',
        'aggregate builds',
        'command',
      ]);
    } finally {
      await client.close();
    }
  });
});
