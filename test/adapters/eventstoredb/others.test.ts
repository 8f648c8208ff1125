import { EventStoreDBClient, jsonEvent, NO_STREAM } from '@eventstore/db-client';
import { expect } from 'chai';
import { readOurs } from '../../../adapters/eventstoredb/filtered-reads.js';
import type { EventStoreDbTimes } from '../../../adapters/eventstoredb/context.js';
import { EventStoreDbEventStore } from '../../../adapters/eventstoredb/event-store.js';
import { SystemEntropy } from '../../../adapters/system/entropy.js';
import { EventStoreUnavailable } from '../../../application/ports/event-store.js';
import { UnknownCategory } from '../../../application/ports/raw-log.js';
import { messageOf } from '../../../domain/errors.js';
import { EventStoreDbStandIn } from '../../engines/eventstoredb-stand-in.js';
import { describeWithEngines } from '../../support/runner/engines.js';
import { eventually } from '../../support/time/eventually.js';
import { card, clock, event, first, follower, names, shortTimes, write } from './support.js';

const million = 1_000_000;
/**
 * What another application writes, and the links to it of the server's system projections. Without a prefix
 * the last one is named like one of ours.
 */
const kinds = [
  { stream: 'invoice-1', type: 'InvoicePaid' },
  { stream: '$ce-invoice', type: '$>' },
  { stream: '$et-InvoicePaid', type: '$>' },
  { stream: 'card-of-a-library', type: 'Lent' },
];

interface Rig {
  readonly server: EventStoreDbStandIn;
  readonly store: EventStoreDbEventStore;
  readonly others: (count: number) => void;
  /** Calls of `$all` and events that came of them, since the last time. */
  readonly cost: () => { readonly calls: number; readonly sent: number };
  readonly open: () => EventStoreDbEventStore;
}

const beside = async (
  run: (rig: Rig) => Promise<void>,
  times: Partial<EventStoreDbTimes> = {},
  prefix = 'cards.',
): Promise<void> => {
  const server = await EventStoreDbStandIn.start(clock);
  const stores: EventStoreDbEventStore[] = [];
  const open = (): EventStoreDbEventStore => {
    const store = new EventStoreDbEventStore({
      url: server.url,
      prefix,
      clock,
      entropy: new SystemEntropy(),
      times: { ...shortTimes, ...times },
    });
    stores.push(store);
    return store;
  };
  let before = { calls: 0, sent: 0 };
  try {
    await run({
      server,
      open,
      store: open(),
      others: (count) => server.others({ count, kinds: prefix === '' ? kinds.slice(0, 3) : kinds }),
      cost: () => {
        const now = { calls: server.calls.get('read') ?? 0, sent: server.sent };
        const since = { calls: now.calls - before.calls, sent: now.sent - before.sent };
        before = now;
        return since;
      },
    });
  } finally {
    await Promise.all(stores.map((store) => store.close()));
    server.down();
  }
};

describe('a log in EventStoreDB beside a million events and links of others', () => {
  for (const [where, before, between, after] of [
    ['behind the last of ours', 0, 0, million],
    ['before the first of ours', million, 0, 0],
    ['mixed in', 0, million / 2, million / 2],
  ] as const)
    for (const prefix of ['cards.', ''])
      it(`is read as it would be without them, with the prefix '${prefix}': ${where}`, () =>
        beside(
          async ({ server, store, others, cost, open }) => {
            others(before);
            await store.append([first('A', 'a', 'b')]);
            others(between);
            await store.append([write(card('A'), 1, 'c')]);
            others(after);
            cost();
            const fresh = open();
            const head = await fresh.head();
            expect(head).to.deep.include({ event: (await store.head()).event });
            const log = await fresh.readLog(0n, 10);
            expect(names(log)).to.deep.equal(['a', 'b', 'c']);
            expect(log.at(-1)?.position).to.equal(head.position);
            expect((await fresh.readStored(0n, 10)).map(({ id }) => id)).to.deep.equal(
              log.map(({ id }) => id),
            );
            expect(await fresh.positionBefore({ time: Date.parse('2030-01-01') })).to.equal(head.position);
            const following = follower(fresh);
            await eventually(() => following.seen.length === 3 && server.subscriptions === 1);
            await store.append([write(card('A'), 2, 'd')]);
            await eventually(() => following.seen.length === 4);
            await following.end();
            expect(cost().sent).to.be.below(60);
          },
          {},
          prefix,
        )).timeout(20_000);

  it('passes over them once: whoever stands at the head asks where the log ends, and looks at what is new', () =>
    beside(async ({ server, store, others, cost }) => {
      await store.append([first('A', 'a')]);
      others(million);
      const { position } = await store.head();
      // Who would pass over all of it would take two minutes.
      server.passesOver = million / 120;
      cost();
      for (const read of [
        () => store.head(),
        () => store.readLog(position, 10),
        () => store.readStored(position, 10),
      ]) {
        await read();
        expect(cost()).to.include({ calls: 1 });
        others(2_000);
        await read();
        const { calls, sent } = cost();
        expect(calls).to.be.at.most(3);
        expect(sent).to.be.at.most(calls);
      }
      await store.append([write(card('A'), 0, 'b')]);
      expect(names(await store.readLog(position, 10))).to.deep.equal(['b']);
      expect((await store.head()).position).to.satisfy((now: bigint) => now > position);
    }));

  it('searches once for all who ask for the head together, and answers nobody with an older one', () =>
    beside(async ({ server, store, others, cost }) => {
      await store.append([first('A', 'a')]);
      others(million);
      cost();
      const asked = Array.from({ length: 7 }, () => store.head());
      await eventually(() => server.openReads > 0);
      await store.append([write(card('A'), 0, 'b')]);
      const later = await store.head();
      expect(new Set((await Promise.all(asked)).map(({ position }) => position)).size).to.equal(1);
      expect(later.position).to.equal((await store.readLog(0n, 10)).at(-1)?.position);
      expect(cost().calls).to.be.below(8);
    }));

  it('subscribes near the end of the log, and compares its subscription with it at no cost', () =>
    beside(
      async ({ server, store, others, cost }) => {
        await store.append([first('A', 'a')]);
        others(million);
        const following = follower(store);
        await eventually(() => server.subscriptions === 1);
        await store.head();
        // From now on, passing over all of them again would take two minutes.
        server.passesOver = million / 120;
        cost();
        for (let n = 0; n < 5; n += 1) {
          others(500);
          const calls = server.calls.get('read') ?? 0;
          await eventually(() => (server.calls.get('read') ?? 0) > calls + 1);
        }
        const { calls, sent } = cost();
        expect(sent).to.be.at.most(calls);
        server.dropSubscriptions();
        await eventually(() => server.subscriptions === 1);
        await store.append([write(card('A'), 0, 'b')]);
        await eventually(() => following.seen.length === 2);
        await following.end();
      },
      { watchdog: 30 },
    ));

  it('gives a silent search the time that its bytes take while the server answers, and no more', () =>
    beside(
      async ({ server, store, others }) => {
        await store.append([first('A', 'a')]);
        others(million);
        server.passesOver = million / 2;
        expect((await store.head()).position).to.equal((await store.readLog(0n, 1))[0]?.position);
        server.readFates.push(...Array.from({ length: 2 }, () => ({ kind: 'silent', after: 0 }) as const));
        expect(await store.readLog(0n, 1).catch((error: unknown) => error)).to.be.instanceOf(
          EventStoreUnavailable,
        );
      },
      { read: 200, patience: 0 },
    ));

  it('begins again from the end if the log does not go on where the search had come to', () =>
    beside(async ({ server, store, others }) => {
      await store.append([first('A', 'a')]);
      const { position } = await store.head();
      const kept = server.records;
      others(10);
      await store.append([write(card('A'), 0, 'b')]);
      others(million);
      expect((await store.head()).position).to.satisfy((now: bigint) => now > position);
      server.rewind(kept);
      expect((await store.head()).position).to.equal(position);
      server.plant('elsewhere', { type: 'Long', data: Buffer.alloc(500_000_000, 'x') });
      others(1);
      expect((await store.head()).position).to.equal(position);
    }));

  it('is followed from the last of ours if the log does not go on where a search had come to', () =>
    beside(async ({ server, store, others }) => {
      await store.append([first('A', 'a')]);
      const kept = server.records;
      others(10);
      const { position } = await store.head();
      server.down();
      server.rewind(kept);
      server.plant('elsewhere', { type: 'Long', data: Buffer.alloc(10_000, 'x') });
      await server.up();
      const following = follower(store, position);
      await eventually(async () => (await store.append([write(card('A'), 0, 'b')]))[0]?.kind === 'appended');
      await eventually(() => following.seen.length === 1);
      await following.end();
    }));

  it('shows whoever checks it an event in a category of ours that this version does not know', () =>
    beside(async ({ server, store, others }) => {
      await store.append([first('A', 'a')]);
      others(million);
      const { position } = await store.head();
      const { metadata } = event(card('A'), 'x');
      const born = { type: 'Born', data: Buffer.from('{}'), metadata: Buffer.from(JSON.stringify(metadata)) };
      server.plant('galaxy-1', born);
      expect(await store.readStored(position, 10)).to.deep.equal([]);
      server.plant('cards.galaxy-1', born);
      others(million);
      expect((await store.head()).position).to.equal(position);
      for (let times = 0; times < 2; times += 1)
        expect(await store.readStored(position, 10).catch((error: unknown) => error)).to.be.instanceOf(
          UnknownCategory,
        );
    }));

  it('is refused by a server older than 21.10, and the message says so', () =>
    beside(async ({ server, store }) => {
      server.hasFilteredReads = false;
      for (const read of [() => store.readLog(0n, 1), () => store.readStored(0n, 1)])
        expect(await read().catch(messageOf)).to.include('older than 21.10');
      const following = follower(store);
      await eventually(() => (server.calls.get('read') ?? 0) > 3);
      await following.end();
      expect(following.seen).to.deep.equal([]);
    }));

  it('is not read by a client that makes its calls in another way', () => {
    const other = {
      readAll: () => ({}),
      GRPCStreamCreator: () => undefined,
    } as unknown as EventStoreDBClient;
    expect(() => readOurs(other, '^cards[.]', {})).to.throw('no longer reads as this adapter expects');
  });
});

describeWithEngines(
  ['EVENTSTORE_URL'],
  'a running EventStoreDB with thousands of events of others',
  (url) => {
    it('leaves them out of reads in both directions, and of subscriptions', async () => {
      const entropy = new SystemEntropy();
      const prefix = `test.${entropy.uuid()}.`;
      const client = EventStoreDBClient.connectionString(url);
      const open = () => new EventStoreDbEventStore({ url, prefix, clock, entropy });
      const [store, fresh] = [open(), open()];
      const others = async (): Promise<void> => {
        for (let n = 0; n < 4; n += 1) {
          const paid = Array.from({ length: 500 }, () => jsonEvent({ type: 'InvoicePaid', data: {} }));
          await client.appendToStream(`invoice-${entropy.uuid()}`, paid, { expectedRevision: NO_STREAM });
        }
      };
      try {
        await others();
        await store.append([first('A', 'a', 'b')]);
        await others();
        await store.append([write(card('A'), 1, 'c')]);
        await others();
        const log = await fresh.readLog(0n, 10);
        expect(names(log)).to.deep.equal(['a', 'b', 'c']);
        const position = log.at(-1)?.position ?? 0n;
        for (let times = 0; times < 3; times += 1) {
          expect((await fresh.head()).position).to.equal(position);
          expect(await fresh.readLog(position, 10)).to.deep.equal([]);
          expect(await fresh.readStored(position, 10)).to.deep.equal([]);
          await others();
        }
        expect((await fresh.readStored(0n, 10)).map(({ id }) => id)).to.deep.equal(log.map(({ id }) => id));
        const following = follower(fresh);
        await eventually(() => following.seen.length === 3);
        await others();
        await store.append([write(card('A'), 2, 'd')]);
        await eventually(() => following.seen.length === 4);
        await following.end();
        expect((await fresh.head()).position).to.equal(following.seen.at(-1)?.position);
      } finally {
        await Promise.all([store.close(), fresh.close(), client.dispose()]);
      }
    }).timeout(60_000);
  },
);
