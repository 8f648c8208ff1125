import { status } from '@grpc/grpc-js';
import { expect } from 'chai';
import { EventStoreUnavailable, noStream } from '../../../application/ports/event-store.js';
import { type Instant, streamName } from '../../../domain/ids.js';
import { messageOf } from '../../../domain/errors.js';
import { storedTexts, verifies } from '../../../application/log/hash-chain.js';
import { Streams } from '../../../application/writing/streams.js';
import { ledger } from '../../../domain/credits.js';
import { eventually } from '../../support/time/eventually.js';
import { EventStoreDbEventStore } from '../../../adapters/eventstoredb/event-store.js';
import { sealEvents, unsealed } from '../../support/fixtures/seal-events.js';
import { card, clock, event, first, follower, kinds, names, withRig, write } from './support.js';

const isUnavailable = async (read: Promise<unknown>): Promise<void> => {
  const outcome = await read.then(
    () => 'resolved',
    (error: unknown) => error,
  );
  expect(outcome).to.be.instanceOf(EventStoreUnavailable);
};

describe('reading from EventStoreDB', () => {
  it('returns events as they were stored', () =>
    withRig(async ({ store }) => {
      const stored = event(card('A'), 'a', {
        name: 'a',
        big: 2 ** 53 - 1,
        text: 'Grüße 🎉',
        nothing: null,
        personal: { email: 'x' },
      });
      await store.append([{ stream: card('A'), expected: -1, events: [stored] }]);
      const [read] = await store.readStream(card('A'), 0);
      expect(read).to.deep.equal({ ...stored, stream: card('A'), revision: 0, position: null });
      const { position } = await store.head();
      expect(await store.readLog(0n, 10)).to.deep.equal([
        { ...stored, stream: card('A'), revision: 0, position },
      ]);
    }));

  it('returns the exact texts that the server keeps, from a stream and from the log', () =>
    withRig(async ({ server, store }) => {
      const sealed = [0, 1].map((n) => {
        const { metadata, ...rest } = event(card('A'), `${n}`, { n, personal: { name: 'Ada' } });
        const { hash: _, personal: __, ...unsealed } = metadata;
        return { ...rest, metadata: unsealed };
      });
      const events = sealEvents(card('A'), null, sealed);
      const write = { stream: card('A'), expected: noStream, events };
      await store.append([write]);
      const expected = write.events.map((each, revision) => ({
        id: each.id,
        stream: write.stream,
        revision,
        type: each.type,
        ...storedTexts(each),
      }));
      const inStream = await store.readStream(write.stream, 0);
      expect(await store.readStoredStream(write.stream, 0)).to.deep.equal(
        expected.map((each, index) => ({ position: inStream[index]?.position, ...each })),
      );
      const log = await store.readStored(0n, 10);
      const positions = (await store.readLog(0n, 10)).map(({ position }) => position);
      expect(log).to.deep.equal(expected.map((each, index) => ({ position: positions[index], ...each })));
      const [one, two] = expected;
      if (one === undefined || two === undefined) throw new Error('two events were stored');
      expect([verifies(null, one), verifies(write.events[0]?.metadata.hash ?? null, two)]).to.deep.equal([
        true,
        true,
      ]);
      // A space that JSON does not need: parsed, nothing has changed.
      server.rewrite('"n":', '"n": ');
      const [changed] = await store.readStoredStream(write.stream, 0, 1);
      expect(changed?.data).to.include('"n": ');
      expect(changed && verifies(null, changed)).to.equal(false);
      expect((await store.readStream(write.stream, 0))[0]?.data).to.deep.equal(write.events[0]?.data);
    }));

  it("returns the position of a stream's event if the server tells it", () =>
    withRig(async ({ server, store }) => {
      await store.append([first('A', 'a')]);
      server.placesStreamReads = true;
      expect((await store.readLast(card('A')))?.position).to.equal((await store.head()).position);
    }));

  it('returns nothing for a stream that does not exist, or after the end of a stream', () =>
    withRig(async ({ store }) => {
      await store.append([first('A', 'a')]);
      expect([
        await store.readStream(card('B'), 0),
        await store.readLast(card('B')),
        await store.readStream(card('A'), 1),
      ]).to.deep.equal([[], null, []]);
    }));

  it("leaves out other writers' events", () =>
    withRig(async ({ server, store }) => {
      expect(await store.head()).to.deep.equal({ position: 0n, event: null });
      server.noise(3);
      const [a] = await store.append([first('A', 'a')]);
      server.noise(30);
      expect(a).to.deep.equal({ kind: 'appended', position: (await store.head()).position });
      expect((await store.head()).event?.hash).to.equal('hash of a');
      await store.append([first('B', 'b')]);
      server.noise(3);
      expect((await store.head()).event?.hash).to.equal('hash of b');
      const log = await store.readLog(0n, 10);
      expect(names(log)).to.deep.equal(['a', 'b']);
      expect(names(await store.readLog(log[0]?.position ?? 0n, 10))).to.deep.equal(['b']);
      expect(await store.readLog(log[1]?.position ?? 0n, 10)).to.deep.equal([]);
    }));

  it('leaves out the streams of deployments that share the server under another prefix', () =>
    withRig(async ({ server, store, entropy }) => {
      const under = (prefix: string) =>
        new EventStoreDbEventStore({ url: server.url, prefix, clock, entropy });
      const others = [under('one.'), under('two.')];
      const stores = [store, ...others];
      const followers = stores.map((each) => follower(each));
      try {
        for (const [number, each] of stores.entries()) {
          expect(
            kinds(await each.append([first('A', `a${number}`), first(`B${number}`, 'b')])),
          ).to.deep.equal(['appended', 'appended']);
          // A repeat is found in its own stream.
          server.appendFates.push({ kind: 'conflicting' });
          expect(kinds(await each.append([first('A', `a${number}`)]))).to.deep.equal(['appended']);
        }
        for (const [number, each] of stores.entries()) {
          const log = await each.readLog(0n, 10);
          expect(log.map(({ stream }) => stream)).to.deep.equal([card('A'), card(`B${number}`)]);
          expect(names(log)).to.deep.equal([`a${number}`, 'b']);
          expect((await each.head()).position).to.equal(log[1]?.position);
          expect(names(await each.readStream(card('A'), 0))).to.deep.equal([`a${number}`]);
          expect([(await each.readLast(card('A')))?.stream, await each.readLast(card('B9'))]).to.deep.equal([
            card('A'),
            null,
          ]);
          await eventually(() => followers[number]?.seen.length === 2);
          expect(followers[number]?.seen).to.deep.equal(log);
        }
      } finally {
        await Promise.all(followers.map(({ end }) => end()));
        await Promise.all(others.map((other) => other.close()));
      }
    }));

  it('asks for one event to find the head, and for one more once behind the events of others', () =>
    withRig(async ({ server, store }) => {
      await store.append([first('A', 'a1', 'a2', 'a3')]);
      const [, , last] = await store.readLog(0n, 10);
      const sentFor = async (): Promise<number> => {
        const before = server.sent;
        expect((await store.head()).position).to.equal(last?.position);
        return server.sent - before;
      };
      expect(await sentFor()).to.equal(1);
      server.noise(50);
      expect(await sentFor()).to.equal(2);
      // What was searched once is not searched again.
      expect(await sentFor()).to.equal(1);
    }));

  it('finds no head in a log without events of ours', () =>
    withRig(async ({ server, store }) => {
      server.noise(40);
      expect(await store.head()).to.deep.equal({ position: 0n, event: null });
    }));

  it('cancels a read that it does not need to the end', () =>
    withRig(async ({ server, store }) => {
      await store.append([first('A', ...Array.from({ length: 500 }, (_, number) => `a${number}`))]);
      expect(names(await store.readLog(0n, 2))).to.deep.equal(['a0', 'a1']);
      await eventually(() => server.openReads === 0, { what: 'no read is open' });
    }));

  it('throws EventStoreUnavailable if the server falls silent, at the beginning or in the middle of a read', () =>
    withRig(
      async ({ server, store }) => {
        await store.append([first('A', 'a1', 'a2')]);
        server.readFates.push(
          { kind: 'silent', after: 0 },
          { kind: 'silent', after: 1 },
          { kind: 'silent', after: 0 },
        );
        await Promise.all([
          isUnavailable(store.readStream(card('A'), 0)),
          isUnavailable(store.readLog(0n, 10)),
          isUnavailable(store.head()),
        ]);
        await eventually(() => server.openReads === 0, { what: 'no read is open' });
        const read = await eventually(() => store.readStream(card('A'), 0));
        expect(names(read)).to.deep.equal(['a1', 'a2']);
      },
      { read: 300 },
    ));

  it('repeats a read that is cut off once, and throws EventStoreUnavailable the second time', () =>
    withRig(async ({ server, store }) => {
      await store.append([first('A', 'a1', 'a2')]);
      server.readFates.push({ kind: 'cut', after: 1 });
      expect(names(await store.readStream(card('A'), 0))).to.deep.equal(['a1', 'a2']);
      server.readFates.push({ kind: 'cut', after: 1 }, { kind: 'cut', after: 1 });
      await isUnavailable(store.readLog(0n, 10));
    }));

  it('throws EventStoreUnavailable while the server is down, and works when it is back', () =>
    withRig(async ({ server, store }) => {
      await store.append([first('A', 'a')]);
      server.down();
      for (let round = 0; round < 5; round += 1)
        await Promise.all(
          [store.readStream(card('A'), 0), store.readLast(card('A')), store.readLog(0n, 1), store.head()].map(
            isUnavailable,
          ),
        );
      await server.up();
      expect(names(await eventually(() => store.readStream(card('A'), 0), { within: 500 }))).to.deep.equal([
        'a',
      ]);
      expect(kinds(await store.append([write(card('A'), 0, 'a2')]))).to.deep.equal(['appended']);
    }));

  it('makes a read again whose client was replaced in the middle, and never takes it for complete', () =>
    withRig(
      async ({ server, store }) => {
        await store.append([first('A', 'a1', 'a2', 'a3')]);
        server.readFates.push({ kind: 'silent', after: 2 });
        const reading = store.readStream(card('A'), 0);
        await eventually(() => server.openReads === 1 && server.sent === 2);
        const cut = { kind: 'cut', after: 0 } as const;
        server.readFates.push(cut, cut, cut);
        // The third failure in a row replaces the client.
        await isUnavailable(store.head());
        await store.head();
        expect(names(await reading)).to.deep.equal(['a1', 'a2', 'a3']);
      },
      { read: 60_000 },
    ));

  it('says what to do if the user may not read $all, or the password is wrong, to readers and followers', () =>
    withRig(async ({ server, store, errors }) => {
      const noRight =
        'EventStoreDB does not let the user "nobody" read $all. With the connection string of an administrator as EVENTSTORE_URL, run "npm run -s cli -- eventstore grant --user nobody"; it writes {"$acl":{"$r":["$admins","nobody"]}} into the metadata of $all.';
      const wrongPassword = 'EventStoreDB refuses the user "nobody" of EVENTSTORE_URL, or its password.';
      for (const [denies, message] of [
        [status.PERMISSION_DENIED, noRight],
        [status.UNAUTHENTICATED, wrongPassword],
      ] as const) {
        server.denies = denies;
        errors.length = 0;
        const failures = [store.head(), store.readLog(0n, 1)].map((read) => read.catch(messageOf));
        expect(await Promise.all(failures)).to.deep.equal([message, message]);
        const { end } = follower(store);
        await eventually(() => errors.map(messageOf).filter((each) => each === message).length > 2);
        await end();
      }
    }));

  it('passes over events under its names that another program wrote, counts them, and reports the first', () =>
    withRig(async ({ server, store, foreign }) => {
      const following = follower(store);
      try {
        server.foreign('card-X');
        await store.append([first('A', 'a1', 'a2')]);
        server.foreign('card-A');
        server.foreign('card-A');
        await store.append([first('B', 'b')]);
        const log = await store.readLog(0n, 10);
        expect(names(log)).to.deep.equal(['a1', 'a2', 'b']);
        await eventually(() => following.seen.length === 3);
        expect(following.seen).to.deep.equal(log);
        server.foreign('card-Y');
        expect((await store.head()).position).to.equal(log[2]?.position);
        expect(names(await store.readStream(card('A'), 0))).to.deep.equal(['a1', 'a2']);
        expect((await store.readLast(card('A')))?.revision).to.equal(1);
        expect([await store.readStream(card('X'), 0), await store.readLast(card('X'))]).to.deep.equal([
          [],
          null,
        ]);
        expect([store.foreignEvents, foreign]).to.deep.equal([
          4,
          [{ stream: 'card-X', revision: 0n, type: 'Foreign' }],
        ]);
        // One of our own after theirs.
        const stored = { stream: card('A'), expected: 3, events: [event(card('A'), 'a3')] };
        expect(kinds(await store.append([stored]))).to.deep.equal(['appended']);
        expect(names(await store.readStream(card('A'), 1, 2))).to.deep.equal(['a2', 'a3']);
      } finally {
        await following.end();
      }
    }));

  it('finds a position by the time of the events around it, from the end of the log', () =>
    withRig(async ({ server, store }) => {
      const hour = 3_600_000;
      const start = Date.parse('2026-03-01T12:00:00.000Z');
      for (const [index, name] of ['A', 'B', 'C'].entries()) {
        const stream = card(name);
        const plain = event(stream, name);
        const occurredAt = new Date(start + index * hour).toISOString() as Instant;
        await store.append([
          { stream, expected: noStream, events: [{ ...plain, metadata: { ...plain.metadata, occurredAt } }] },
        ]);
        server.noise(1);
      }
      const positions = (await store.readLog(0n, 10)).map(({ position }) => position);
      const found = [];
      for (const hours of [0, 1, 2, 9])
        found.push(await store.positionBefore({ time: start + hours * hour }));
      expect(found).to.deep.equal([0n, ...positions]);
      expect(await store.positionBefore({ time: start }, AbortSignal.abort())).to.equal(positions[2]);
    }));

  it('refuses a stream whose beginning is hidden, and says how: no decision rests on a part of it', () =>
    withRig(async ({ server, store, errors }) => {
      const told =
        /^The stream card-A begins at revision 1 in EventStoreDB: \$maxCount, \$maxAge or \$tb in its metadata/;
      await store.append([first('A', 'a1', 'a2')]);
      server.truncate('card-A', { truncateBefore: 1 });
      expect(await store.readStream(card('A'), 0).catch(messageOf)).to.match(told);
      expect(names(await store.readStream(card('A'), 1))).to.deep.equal(['a2']);
      server.truncate('card-A', { truncateBefore: 0 });
      expect(names(await store.readStream(card('A'), 0))).to.deep.equal(['a1', 'a2']);
      // A deleted stream reads as none, and begins again above what it had.
      await store.append([first('B', 'b1', 'b2')]);
      server.softDelete('card-B');
      expect(await store.readStream(card('B'), 0)).to.deep.equal([]);
      await store.append([first('B', 'b3')]);
      expect(errors.map(messageOf).at(-1)).to.equal(
        'The stream card-B was deleted in EventStoreDB: what was appended as its beginning stands at revision 2.',
      );
      expect(await store.readStream(card('B'), 0).catch(messageOf)).to.match(
        /^The stream card-B begins at revision 2/,
      );
    }));

  it('finds no event at a position that another log has inside a record, or that it has not reached', () =>
    withRig(async ({ server, store }) => {
      await store.append([first('A', 'a1', 'a2')]);
      server.noise(1);
      const [a1, a2] = await store.readLog(0n, 10);
      const [begin, end] = [a1?.position ?? 0n, a2?.position ?? 0n];
      const hashes = [];
      for (const position of [begin, begin + 1n, end, end + 1_000_000n, 0n])
        hashes.push((await store.markAt(position))?.hash ?? null);
      expect(hashes).to.deep.equal(['hash of a1', null, 'hash of a2', null, null]);
      expect(await store.readLog(begin + 1n, 1).catch(messageOf)).to.equal(
        `EventStoreDB has no event at position ${begin + 1n}: the position is of another log, or was made up.`,
      );
      expect(await store.readLog(end + 1_000_000n, 1)).to.deep.equal([]);
    }));

  it('loads a ledger of thousands of movements from one event, and a longer one from its newest few', () =>
    withRig(async ({ server, store }) => {
      const org = 'an-organization';
      const moved = (balance: number) => ({
        ...event(streamName('credits', org), `movement ${balance}`, {
          cause: 'a purchase',
          amount: 1,
          reason: null,
          balance,
        }),
        type: 'CreditsPurchased',
      });
      const many = Array.from({ length: 2_000 }, (_, index) => moved(index + 1));
      const stream = streamName('credits', org);
      for (let from = 0; from < many.length; from += 500)
        await store.append([{ stream, expected: from - 1, events: many.slice(from, from + 500) }]);
      const streams = new Streams(store, unsealed);
      const sentBy = async (work: () => Promise<unknown>) => {
        const before = server.sent;
        const result = await work();
        return { result, sent: server.sent - before };
      };
      const first = await sentBy(() => streams.load(ledger, org));
      expect(first.result).to.deep.include({ state: { balance: 2_000 }, revision: 1_999 });
      expect(first.sent).to.equal(1);
      const later = Array.from({ length: 400 }, (_, index) => moved(2_001 + index));
      await store.append([{ stream, expected: 1_999, events: later }]);
      const second = await sentBy(() => streams.load(ledger, org));
      expect(second.result).to.deep.include({ state: { balance: 2_400 }, revision: 2_399 });
      expect(second.sent).to.be.at.most(20);
    }));
});
