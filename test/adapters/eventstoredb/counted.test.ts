import { expect } from 'chai';
import { EventStoreDbEventStore } from '../../../adapters/eventstoredb/event-store.js';
import { SystemEntropy } from '../../../adapters/system/entropy.js';
import { EventStoreDbStandIn } from '../../engines/eventstoredb-stand-in.js';
import { eventually } from '../../support/time/eventually.js';
import { card, clock, first, follower, shortTimes } from './support.js';

describe('calls to EventStoreDB', () => {
  it('are counted by kind, and the events that come, and conflicts, which cost a read', async () => {
    const server = await EventStoreDbStandIn.start(clock);
    const calls: Record<string, number> = {};
    const count = (call: string, times = 1): void => void (calls[call] = (calls[call] ?? 0) + times);
    const times = { ...shortTimes, watchdog: 60_000 };
    const store = new EventStoreDbEventStore({
      url: server.url,
      clock,
      entropy: new SystemEntropy(),
      times,
      count,
    });
    try {
      await store.append([first('HC-1', 'one', 'two')]);
      await store.append([first('HC-2', 'three')]);
      const appended = (calls['append'] ?? 0) + (calls['batch append'] ?? 0);
      await store.readStream(card('HC-1'), 0);
      await store.readLast(card('HC-2'));
      await store.head();
      const following = follower(store);
      await eventually(() => following.seen.length === 3);
      await following.end();
      const { 'read stream': reads, 'read all': readsOfAll, subscribe, 'event received': received } = calls;
      // One of the three went ahead of the first append, to see whether the server answers.
      expect([appended, reads, subscribe]).to.deep.equal([2, 3, 1]);
      expect(readsOfAll).to.be.at.least(1);
      // Two and one of the streams, one of the head, three of the subscription.
      expect(received).to.be.at.least(2 + 1 + 1 + 3);
      expect(calls['conflict']).to.equal(undefined);
      expect(await store.append([first('HC-1', 'another')])).to.deep.equal([{ kind: 'conflict' }]);
      expect([calls['conflict'], calls['read stream']]).to.deep.equal([1, (reads ?? 0) + 1]);
    } finally {
      await store.close();
      server.down();
    }
  });
});
