import shared from '@eventstore/db-client/generated/shared_pb.js';
import streamsService from '@eventstore/db-client/generated/streams_grpc_pb.js';
import streams from '@eventstore/db-client/generated/streams_pb.js';
import { credentials, status } from '@grpc/grpc-js';
import { expect } from 'chai';
import { EventStoreDbEventStore } from '../../../adapters/eventstoredb/event-store.js';
import { SystemEntropy } from '../../../adapters/system/entropy.js';
import { EventStoreUnavailable, type WriteOutcome } from '../../../application/ports/event-store.js';
import { eventually } from '../../support/time/eventually.js';
import { card, clock, event, first, kinds, names, shortTimes, withRig, write } from './support.js';

const rejection = (promise: Promise<unknown>): Promise<unknown> =>
  promise.then(
    (value) =>
      expect.fail(
        `resolved with ${JSON.stringify(value, (_, part: unknown) => (typeof part === 'bigint' ? String(part) : part))}`,
      ),
    (error: unknown) => error,
  );

const positionOf = (outcome: WriteOutcome | undefined): bigint => {
  if (outcome?.kind !== 'appended') throw new Error(`it is ${outcome?.kind}`);
  return outcome.position;
};

describe('an append to EventStoreDB', () => {
  it('tries each write only once those before it are stored', () =>
    withRig(async ({ server, store }) => {
      await store.append([first('A', 'taken')]);
      expect(kinds(await store.append([first('A', 'a'), first('B', 'b'), first('C', 'c')]))).to.deep.equal([
        'conflict',
        'skipped',
        'skipped',
      ]);
      expect(server.calls.get('append')).to.equal(2);
      expect(kinds(await store.append([first('B', 'b'), first('A', 'a'), first('C', 'c')]))).to.deep.equal([
        'appended',
        'conflict',
        'skipped',
      ]);
      expect(server.calls.get('append')).to.equal(4);
    }));

  it('returns the position of its last event', () =>
    withRig(async ({ store }) => {
      const [outcome] = await store.append([first('A', 'a1', 'a2', 'a3')]);
      const log = await store.readLog(0n, 10);
      expect(names(log)).to.deep.equal(['a1', 'a2', 'a3']);
      expect(outcome).to.deep.equal({ kind: 'appended', position: log.at(-1)?.position });
    }));

  it('uses the classic call, which keeps its deadline, and asks for no server features', () =>
    withRig(async ({ server, store }) => {
      await store.append([first('A', 'a')]);
      expect([
        server.calls.get('append'),
        server.calls.get('batchAppend'),
        server.calls.get('features'),
      ]).to.deep.equal([1, undefined, undefined]);
    }));

  it('stores all events or none in the stand-in, even if the call is cancelled half-way', () =>
    withRig(async ({ server }) => {
      const client = new streamsService.StreamsClient(
        `127.0.0.1:${server.port}`,
        credentials.createInsecure(),
      );
      const begin = (stream: string, ...ids: number[]) => {
        let settle: (outcome: unknown) => void = () => undefined;
        const ended = new Promise<unknown>((resolve) => (settle = resolve));
        const call = client.append((error, answer) => settle(error?.code ?? answer.hasSuccess()));
        const identifier = new shared.StreamIdentifier().setStreamName(Buffer.from(card(stream)));
        call.write(
          new streams.AppendReq().setOptions(
            new streams.AppendReq.Options().setStreamIdentifier(identifier).setNoStream(new shared.Empty()),
          ),
        );
        for (const id of ids) {
          const uuid = new shared.UUID().setString(`00000000-0000-4000-8000-00000000000${id}`);
          call.write(
            new streams.AppendReq().setProposedMessage(new streams.AppendReq.ProposedMessage().setId(uuid)),
          );
        }
        return { call, ended };
      };
      const whole = (stream: string, ...ids: number[]): Promise<unknown> => {
        const { call, ended } = begin(stream, ...ids);
        call.end();
        return ended;
      };
      try {
        const half = begin('A', 1);
        // One connection keeps the order: the server gets half of the first append before the second one, and
        // the cancellation before the third.
        expect(await whole('B', 2)).to.equal(true);
        half.call.cancel();
        expect(await half.ended).to.equal(status.CANCELLED);
        expect(await whole('A', 1, 3)).to.equal(true);
      } finally {
        client.close();
      }
    }));

  it('finds out the outcome if the response is lost', () =>
    withRig(async ({ server, store }) => {
      for (const code of [
        status.UNAVAILABLE,
        status.DEADLINE_EXCEEDED,
        status.ABORTED,
        status.CANCELLED,
        status.INTERNAL,
        status.UNKNOWN,
      ]) {
        for (const stored of [true, false]) {
          const name = `${status[code]}-${stored}`;
          server.appendFates.push({ kind: 'lost', stored, code });
          expect(kinds(await store.append([first(name, name)])), name).to.deep.equal(['appended']);
          expect(names(await store.readStream(card(name), 0)), name).to.deep.equal([name]);
        }
      }
    }));

  it('finds out the outcome if no response ever comes', () =>
    withRig(
      async ({ server, store }) => {
        server.appendFates.push({ kind: 'silent', stored: true }, { kind: 'silent', stored: false });
        const [outcome] = await store.append([first('A', 'a1', 'a2')]);
        const log = await store.readLog(0n, 10);
        expect(names(log)).to.deep.equal(['a1', 'a2']);
        expect(outcome).to.deep.equal({ kind: 'appended', position: log[1]?.position });
      },
      { append: 300 },
    ));

  it('recognizes its own events in what the server calls a conflict', () =>
    withRig(async ({ server, store }) => {
      const stored = await store.append([first('A', 'a1', 'a2')]);
      await store.append([write(card('A'), 1, 'a3')]);
      server.appendFates.push({ kind: 'conflicting' });
      expect(await store.append([first('A', 'a1', 'a2')])).to.deep.equal(stored);
      server.appendFates.push({ kind: 'conflicting' });
      expect(kinds(await store.append([first('A', 'a1', 'other')]))).to.deep.equal(['conflict']);
      expect(kinds(await store.append([first('A', 'a1', 'a2', 'a3', 'a4')]))).to.deep.equal(['conflict']);
      expect(kinds(await store.append([write(card('A'), 7, 'a8')]))).to.deep.equal(['conflict']);
    }));

  it('stores its events once if its first try arrives after the second one', () =>
    withRig(async ({ server, store }) => {
      let release = (): void => undefined;
      server.appendFates.push({ kind: 'late', until: new Promise<void>((resolve) => (release = resolve)) });
      expect(kinds(await store.append([first('A', 'a')]))).to.deep.equal(['appended']);
      release();
      await store.append([first('B', 'b')]);
      expect(names(await store.readLog(0n, 10))).to.deep.equal(['a', 'b']);
    }));

  it('takes the position from the log if the response names none', () =>
    withRig(async ({ server, store }) => {
      server.appendFates.push({ kind: 'unplaced' });
      const [outcome] = await store.append([first('A', 'a1', 'a2')]);
      await store.append([first('B', 'b')]);
      const log = await store.readLog(0n, 10);
      expect(positionOf(outcome)).to.equal(log[1]?.position);
      server.appendFates.push({ kind: 'unplaced' });
      expect(await store.append([first('A', 'a1', 'a2')])).to.deep.equal([outcome]);
    }));

  it('throws EventStoreUnavailable if nothing can have been sent', () =>
    withRig(async ({ server, store }) => {
      server.down();
      expect(await rejection(store.append([first('A', 'a')]))).to.be.instanceOf(EventStoreUnavailable);
      await server.up();
      expect(kinds(await store.append([first('A', 'a')]))).to.deep.equal(['appended']);
    }));

  it('reports an unknown outcome if a try may have arrived and the server is gone', () =>
    withRig(
      async ({ server, store }) => {
        server.appendFates.push({ kind: 'silent', stored: true });
        const outcome = store.append([first('A', 'a'), first('B', 'b')]);
        await eventually(() => server.appendFates.length === 0);
        server.down();
        expect(kinds(await outcome)).to.deep.equal(['unknown', 'skipped']);
        await server.up();
        await eventually(async () => {
          const repeated = kinds(await store.append([first('A', 'a'), first('B', 'b')]));
          expect(repeated).to.deep.equal(['appended', 'appended']);
          return true;
        });
        expect(names(await store.readLog(0n, 10))).to.deep.equal(['a', 'b']);
      },
      { settle: 500 },
    ));

  it('keeps the outcome of the first write if the server rejects the second', () =>
    withRig(
      async ({ server, store }) => {
        let release = (): void => undefined;
        server.appendFates.push(
          { kind: 'delayed', until: new Promise<void>((resolve) => (release = resolve)) },
          { kind: 'refused', exception: 'access-denied', code: 7 },
        );
        const outcome = store.append([first('A', 'a'), first('B', 'b')]);
        release();
        expect(kinds(await outcome)).to.deep.equal(['appended', 'unknown']);
      },
      { settle: 500 },
    ));

  it('throws EventStoreUnavailable without another try if the server denies access', () =>
    withRig(async ({ server, store }) => {
      server.appendFates.push({
        kind: 'refused',
        exception: 'access-denied',
        code: status.PERMISSION_DENIED,
      });
      expect(await rejection(store.append([first('A', 'a')]))).to.be.instanceOf(EventStoreUnavailable);
      expect(server.calls.get('append')).to.equal(1);
    }));

  for (const [details, code] of [
    ['Server Is Not Ready', status.UNAVAILABLE],
    ['Server Is Too Busy', status.UNAVAILABLE],
    ['No leader info available in response', status.UNKNOWN],
  ] as const)
    it(`throws EventStoreUnavailable, and leaves nothing open, if the server says "${details}"`, () =>
      withRig(async ({ server, store }) => {
        for (let count = 0; count < 3; count += 1)
          server.appendFates.push({ kind: 'refused', code, details });
        expect(await rejection(store.append([first('A', 'a')]))).to.be.instanceOf(EventStoreUnavailable);
        expect(kinds(await store.append([first('A', 'a')]))).to.deep.equal(['appended']);
      }));

  it('takes a tombstoned stream for an empty one that takes nothing', () =>
    withRig(async ({ server, store }) => {
      await store.append([first('A', 'a')]);
      server.tombstone('card-A');
      expect([await store.readStream(card('A'), 0), await store.readLast(card('A'))]).to.deep.equal([
        [],
        null,
      ]);
      expect(kinds(await store.append([first('A', 'b'), first('B', 'b')]))).to.deep.equal([
        'conflict',
        'skipped',
      ]);
    }));

  it("refuses data that JSON can't hold, empty writes and repeated streams before anything is sent", () =>
    withRig(async ({ server, store }) => {
      const bad = (data: object) => ({
        stream: card('B'),
        expected: -1,
        events: [event(card('B'), 'b', data)],
      });
      const round: { self?: object } = {};
      round.self = round;
      for (const data of [{ amount: 1n }, round, { toJSON: () => undefined }])
        expect(await rejection(store.append([first('A', 'a'), bad(data)])))
          .to.be.instanceOf(TypeError)
          .with.property('message')
          .that.matches(/^CardQueued for card-B can't be stored: /);
      expect(
        await rejection(store.append([{ stream: card('A'), expected: -1, events: [] }])),
      ).to.be.instanceOf(TypeError);
      expect(await rejection(store.append([first('A', 'a'), first('A', 'a')]))).to.be.instanceOf(TypeError);
      expect(server.calls.get('append')).to.equal(undefined);
    }));

  it('detects a conflict even if the connection string asks the client not to throw', () =>
    withRig(async ({ server }) => {
      const url = `${server.url}&throwOnAppendFailure=false`;
      const store = new EventStoreDbEventStore({
        url,
        clock,
        entropy: new SystemEntropy(),
        times: shortTimes,
      });
      try {
        await store.append([first('A', 'a')]);
        expect(kinds(await store.append([first('A', 'other')]))).to.deep.equal(['conflict']);
      } finally {
        await store.close();
      }
    }));
});
