import { status } from '@grpc/grpc-js';
import { expect } from 'chai';
import { EventStoreDbEventStore } from '../../../adapters/eventstoredb/event-store.js';
import { OtherLog } from '../../../application/log/same-log.js';
import { eventually } from '../../support/time/eventually.js';
import { card, clock, event, first, follower, kinds, names, shortTimes, withRig, write } from './support.js';

const many = (count: number): string[] => Array.from({ length: count }, (_, number) => `a${number}`);

describe('following the log of EventStoreDB', () => {
  it('yields the events after a position, then new ones as they come', () =>
    withRig(async ({ server, store }) => {
      await store.append([first('A', 'a1', 'a2')]);
      server.noise(3);
      await store.append([write(card('A'), 1, 'a3')]);
      const [begin] = await store.readLog(0n, 1);
      const following = follower(store, begin?.position);
      await eventually(() => following.seen.length === 2);
      await store.append([first('B', 'b')]);
      await eventually(() => following.seen.length === 3);
      await following.end();
      expect(names(following.seen)).to.deep.equal(['a2', 'a3', 'b']);
      expect(following.seen).to.deep.equal((await store.readLog(0n, 10)).slice(1));
    }));

  it('yields batches of at most the size asked for, in order', () =>
    withRig(
      async ({ store }) => {
        const all = many(300);
        expect(kinds(await store.append([first('A', ...all)]))).to.deep.equal(['appended']);
        const stop = new AbortController();
        const batches: string[][] = [];
        const largest = () => Math.max(...batches.map(({ length }) => length));
        let pause = 10;
        for await (const events of store.follow(0n, { signal: stop.signal, batch: 64 })) {
          batches.push(names(events).map(String));
          // More events arrive meanwhile; how many depends on the machine.
          if (largest() < 20 && pause < 2_000) await clock.sleep((pause *= 2));
          if (batches.flat().length === all.length) stop.abort();
        }
        expect(batches.flat()).to.deep.equal(all);
        expect(largest()).to.be.within(20, 64);
      },
      { append: 10_000, settle: 20_000 },
    ));

  for (const [title, isSubscribed] of [
    ['reads an old log', false],
    ['is at its head', true],
  ] as const)
    it(`holds the server back while its consumer is slow and ${title}`, () =>
      withRig(
        async ({ server, store }) => {
          const appendMany = async (): Promise<void> => {
            for (const name of ['B', 'C', 'D']) {
              const events = many(800).map((each) => event(card(name), each));
              const outcomes = await store.append([{ stream: card(name), expected: -1, events }]);
              expect(kinds(outcomes)).to.deep.equal(['appended']);
            }
          };
          await store.append([first('A', 'a')]);
          if (!isSubscribed) await appendMany();
          const stop = new AbortController();
          const iterator = store.follow(0n, { signal: stop.signal, batch: 10 })[Symbol.asyncIterator]();
          try {
            const begin = await iterator.next();
            expect(begin.done).to.equal(false);
            if (isSubscribed) {
              await eventually(() => server.subscriptions === 1);
              await appendMany();
            }
            const sent = await eventually(async () => {
              const before = server.sent;
              await clock.sleep(100);
              return server.sent === before && before;
            });
            expect(sent).to.be.lessThan(2_000);
          } finally {
            stop.abort();
          }
          expect(await iterator.next()).to.deep.equal({ done: true, value: undefined });
        },
        { watchdog: 60_000, append: 20_000, settle: 25_000 },
      ));

  it("resumes from the last event that was handled, not from the server's checkpoints", () =>
    withRig(async ({ server, store, errors }) => {
      server.subscriptionFates.push(
        { kind: 'cut', after: 50 },
        { kind: 'cut', after: 70 },
        { kind: 'cut', after: 0, code: status.ABORTED },
      );
      const following = follower(store, 0n, 20);
      const expected: string[] = [];
      for (const name of ['A', 'B', 'C']) {
        await eventually(() => server.subscriptions === 1);
        const some = many(200).map((each) => `${name}${each}`);
        expected.push(...some);
        await store.append([first(name, ...some)]);
        await eventually(() => following.seen.length >= expected.length);
      }
      await eventually(() => server.calls.get('subscribe') === 4);
      await following.end();
      expect(names(following.seen)).to.deep.equal(expected);
      expect(errors.map(String)).to.deep.equal([
        'Error: 14 UNAVAILABLE: told to fail',
        'Error: 14 UNAVAILABLE: told to fail',
        'Error: 10 ABORTED: told to fail',
      ]);
    }));

  it('subscribes again if the server drops the subscription as too slow', () =>
    withRig(async ({ server, store }) => {
      const following = follower(store);
      for (const name of many(5)) {
        await eventually(() => server.subscriptions === 1);
        server.dropSubscriptions(status.ABORTED);
        await store.append([first(name, name)]);
        await eventually(() => names(following.seen).includes(name));
      }
      await following.end();
      expect(names(following.seen)).to.deep.equal(many(5));
    }));

  it('goes on by itself when the server comes back, even if it was away at the start', () =>
    withRig(async ({ server, store }) => {
      server.down();
      const following = follower(store);
      await clock.sleep(50);
      await server.up();
      await store.append([first('A', 'a')]);
      await eventually(() => following.seen.length === 1);
      server.down();
      await server.up();
      await eventually(async () => (await store.append([first('B', 'b')])).length === 1);
      await eventually(() => following.seen.length === 2);
      await following.end();
      expect(names(following.seen)).to.deep.equal(['a', 'b']);
    }));

  it('drops events that come twice', () =>
    withRig(async ({ server, store }) => {
      await store.append([first('A', ...many(50))]);
      server.subscriptionFates.push({ kind: 'twice' });
      const following = follower(store);
      await eventually(() => following.seen.length >= 50);
      await store.append([first('B', 'b')]);
      await eventually(() => following.seen.length >= 51);
      await following.end();
      expect(names(following.seen)).to.deep.equal([...many(50), 'b']);
    }));

  it('replaces a subscription that is silent although the log has a new event', () =>
    withRig(async ({ server, store, errors }) => {
      server.subscriptionFates.push({ kind: 'silent', after: 1 });
      const following = follower(store);
      await store.append([first('A', 'a')]);
      await eventually(() => following.seen.length === 1);
      await store.append([first('B', 'b')]);
      await eventually(() => following.seen.length === 2);
      await following.end();
      expect(names(following.seen)).to.deep.equal(['a', 'b']);
      expect(errors.map(String)).to.deep.equal([
        `Error: the subscription has missed the event at ${(await store.head()).position}`,
      ]);
    }));

  it('keeps a subscription that is silent because the log has nothing new', () =>
    withRig(
      async ({ server, store, errors }) => {
        const following = follower(store);
        await store.append([first('A', 'a')]);
        server.noise(20);
        await eventually(() => (server.calls.get('read') ?? 0) > 3);
        await following.end();
        expect([errors, server.calls.get('subscribe')]).to.deep.equal([[], 1]);
      },
      { watchdog: 10 },
    ));

  it('waits longer after each failure in a row, and from the first wait again after progress', () =>
    withRig(
      async ({ server, store, entropy }) => {
        const cut = { kind: 'cut', after: 0 } as const;
        await store.append([first('A', 'a')]);
        server.readFates.push(cut, cut, cut, cut);
        const following = follower(store);
        await eventually(() => following.seen.length === 1);
        expect(entropy.limits.splice(0)).to.deep.equal([2, 4, 8, 16]);
        await eventually(() => server.subscriptions === 1);
        server.dropSubscriptions();
        await eventually(() => server.calls.get('subscribe') === 2);
        expect(entropy.limits).to.deep.equal([2]);
        await following.end();
      },
      { backoff: { first: 4, max: 1_000 } },
    ));

  it('leaves no subscription open, whenever it is stopped', () =>
    withRig(async ({ server, store }) => {
      await store.append([first('A', ...many(100))]);
      for (const stopAfter of [0, 1, 100]) {
        const following = follower(store, 0n, 10);
        await eventually(() => following.seen.length >= stopAfter);
        await following.end();
        await eventually(() => server.subscriptions === 0, { what: 'no subscription is open' });
      }
      for await (const events of store.follow(0n, { signal: new AbortController().signal })) {
        expect(events.length).to.be.greaterThan(0);
        break;
      }
      await eventually(() => server.subscriptions === 0, { what: 'no subscription is open' });
      server.down();
      const following = follower(store);
      await clock.sleep(20);
      await following.end();
    }));

  for (const [title, after] of [
    ['ends before the event that was read last', []],
    ['has another event in its place', ['c1', 'c2', 'c3']],
  ] as const)
    it(`ends with the reason if the server comes back with a log that ${title}`, () =>
      withRig(async ({ server, store, entropy }) => {
        await store.append([first('A', 'a1')]);
        const kept = server.records;
        await store.append([first('B', 'b1', 'b2')]);
        const seen: unknown[] = [];
        const follow = async (): Promise<string> => {
          try {
            for await (const events of store.follow(0n, { signal: AbortSignal.timeout(20_000) }))
              seen.push(...names(events));
            return 'aborted';
          } catch (error) {
            return error instanceof OtherLog ? 'another log' : String(error);
          }
        };
        const following = follow();
        await eventually(() => seen.length === 3);
        server.down();
        server.rewind(kept);
        await server.up();
        if (after.length > 0) {
          const writer = new EventStoreDbEventStore({ url: server.url, clock, entropy, times: shortTimes });
          await eventually(async () => kinds(await writer.append([first('C', ...after)]))[0] === 'appended');
          await writer.close();
        }
        expect(await following).to.equal('another log');
        expect(seen).to.deep.equal(['a1', 'b1', 'b2']);
      }));
});
