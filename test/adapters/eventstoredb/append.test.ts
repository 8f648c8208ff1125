import shared from '@eventstore/db-client/generated/shared_pb.js';
import streamsService from '@eventstore/db-client/generated/streams_grpc_pb.js';
import streams from '@eventstore/db-client/generated/streams_pb.js';
import { MaxAppendSizeExceededError } from '@eventstore/db-client';
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
      expect(server.calls.get('batchAppend')).to.equal(2);
      expect(kinds(await store.append([first('B', 'b'), first('A', 'a'), first('C', 'c')]))).to.deep.equal([
        'appended',
        'conflict',
        'skipped',
      ]);
      expect(server.calls.get('batchAppend')).to.equal(4);
    }));

  it('returns the position of its last event', () =>
    withRig(async ({ store }) => {
      const [outcome] = await store.append([first('A', 'a1', 'a2', 'a3')]);
      const log = await store.readLog(0n, 10);
      expect(names(log)).to.deep.equal(['a1', 'a2', 'a3']);
      expect(outcome).to.deep.equal({ kind: 'appended', position: log.at(-1)?.position });
    }));

  it('goes over one call with the others, and asks for no server features', () =>
    withRig(async ({ server, store }) => {
      const codes = Array.from({ length: 64 }, (_, index) => `A${index}`);
      const outcomes = await Promise.all(codes.map((code) => store.append([first(code, code)])));
      expect(outcomes.flatMap(kinds)).to.deep.equal(codes.map(() => 'appended'));
      expect(names(await store.readLog(0n, 100))).to.deep.equal(codes);
      const counted = ['batch', 'batchAppend', 'append', 'features'].map(
        (call) => server.calls.get(call) ?? 0,
      );
      expect(counted).to.deep.equal([1, 64, 0, 0]);
    }));

  it('has a call of its own if it is larger than 64 KiB', () =>
    withRig(async ({ server, store }) => {
      const large = { ...first('A', 'a'), events: [event(card('A'), 'a', { name: 'x'.repeat(66_000) })] };
      expect(kinds(await store.append([large]))).to.deep.equal(['appended']);
      expect(kinds(await store.append([first('B', 'b')]))).to.deep.equal(['appended']);
      expect([server.calls.get('append'), server.calls.get('batchAppend')]).to.deep.equal([1, 1]);
    }));

  it('has a call of its own on a server that knows no batches', () =>
    withRig(
      async ({ server, store }) => {
        for (const code of ['A', 'B', 'C'])
          expect(kinds(await store.append([first(code, code)]))).to.deep.equal(['appended']);
        expect([server.calls.get('append'), server.calls.get('batch')]).to.deep.equal([3, 1]);
      },
      {},
      false,
    ));

  it('is refused if it is larger than 1 MiB in all', () =>
    withRig(async ({ store }) => {
      const events = ['a', 'b'].map((name) => event(card('A'), name, { name: name.repeat(600_000) }));
      const refusal = await rejection(store.append([{ ...first('A', 'a'), events }]));
      expect(refusal).to.be.instanceOf(MaxAppendSizeExceededError);
      expect(await store.readStream(card('A'), 0)).to.deep.equal([]);
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

  for (const [by, hasBatchAppend] of [
    ['in a batch', true],
    ['by a call of its own', false],
  ] as const) {
    it(`${by} finds out the outcome if the response is lost`, () =>
      withRig(
        async ({ server, store }) => {
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
        },
        {},
        hasBatchAppend,
      ));

    it(`${by} finds out the outcome if no response ever comes`, () =>
      withRig(
        async ({ server, store }) => {
          server.appendFates.push({ kind: 'silent', stored: true }, { kind: 'silent', stored: false });
          const [outcome] = await store.append([first('A', 'a1', 'a2')]);
          const log = await store.readLog(0n, 10);
          expect(names(log)).to.deep.equal(['a1', 'a2']);
          expect(outcome).to.deep.equal({ kind: 'appended', position: log[1]?.position });
        },
        { append: 300 },
        hasBatchAppend,
      ));

    it(`${by} stores its events once if its first try arrives after the second one`, () =>
      withRig(
        async ({ server, store }) => {
          let release = (): void => undefined;
          server.appendFates.push({
            kind: 'late',
            until: new Promise<void>((resolve) => (release = resolve)),
          });
          expect(kinds(await store.append([first('A', 'a')]))).to.deep.equal(['appended']);
          release();
          await store.append([first('B', 'b')]);
          expect(names(await store.readLog(0n, 10))).to.deep.equal(['a', 'b']);
        },
        {},
        hasBatchAppend,
      ));
  }

  it('is found by its ids if its batch breaks half-way, like every other in it, and is stored once', () =>
    withRig(async ({ server, store }) => {
      const codes = Array.from({ length: 12 }, (_, index) => `A${index}`);
      // Four are answered, two are stored without an answer, the seventh ends the batch, and the rest was
      // sent.
      server.appendFates.push(
        ...Array.from({ length: 4 }, () => ({ kind: 'doubled' }) as const),
        { kind: 'silent', stored: true },
        { kind: 'silent', stored: true },
        { kind: 'lost', stored: true },
      );
      const outcomes = await Promise.all(
        codes.map((code) => store.append([first(code, `${code}a`, `${code}b`)])),
      );
      expect(outcomes.flatMap(kinds)).to.deep.equal(codes.map(() => 'appended'));
      const log = await store.readLog(0n, 100);
      expect(names(log)).to.have.members(codes.flatMap((code) => [`${code}a`, `${code}b`]));
      for (const [index, code] of codes.entries())
        expect(log.findLast(({ stream }) => stream === card(code))?.position).to.equal(
          positionOf(outcomes[index]?.[0]),
        );
      expect(server.calls.get('batch')).to.be.greaterThan(1);
    }));

  it('is settled before its late response comes, which is dropped', () =>
    withRig(
      async ({ server, store }) => {
        let release = (): void => undefined;
        const until = new Promise<void>((resolve) => (release = resolve));
        // The batch stays, because something else comes back by it meanwhile.
        server.appendFates.push({ kind: 'delayed', until });
        const late = store.append([first('A', 'a')]);
        await eventually(() => server.appendFates.length === 0);
        expect(kinds(await store.append([first('B', 'b')]))).to.deep.equal(['appended']);
        expect(kinds(await late)).to.deep.equal(['appended']);
        release();
        expect(kinds(await store.append([first('C', 'c')]))).to.deep.equal(['appended']);
        expect(names(await store.readLog(0n, 10))).to.deep.equal(['a', 'b', 'c']);
      },
      { append: 300 },
    ));

  it('goes over a new call when the server is back', () =>
    withRig(async ({ server, store }) => {
      await store.append([first('A', 'a')]);
      server.down();
      await rejection(store.head());
      expect(await rejection(store.append([first('B', 'b')]))).to.be.instanceOf(EventStoreUnavailable);
      await server.up();
      await eventually(async () => kinds(await store.append([first('C', 'c')]))[0] === 'appended');
      expect(server.calls.get('batch')).to.equal(2);
      expect(names(await store.readLog(0n, 10))).to.deep.equal(['a', 'c']);
    }));

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
      expect(server.calls.get('batchAppend')).to.equal(1);
    }));

  for (const [details, code] of [
    ['Server Is Not Ready', status.UNAVAILABLE],
    ['Server Is Too Busy', status.UNAVAILABLE],
    ['Server Is Busy', status.UNAVAILABLE],
    ['No leader info available in response', status.UNKNOWN],
  ] as const)
    it(`is tried again while the server says "${details}"`, () =>
      withRig(
        async ({ server, store }) => {
          const refused = { kind: 'refused', code, details } as const;
          server.appendFates.push(refused, refused, refused);
          expect(kinds(await store.append([first('A', 'a')]))).to.deep.equal(['appended']);
          expect(names(await store.readLog(0n, 10))).to.deep.equal(['a']);
        },
        { patience: 600_000 },
      ));

  it('is refused, and leaves nothing open, if the server stays unready', () =>
    withRig(
      async ({ server, store }) => {
        const refused = {
          kind: 'refused',
          code: status.UNAVAILABLE,
          details: 'Server Is Not Ready',
        } as const;
        server.appendFates.push(...Array.from({ length: 1_000 }, () => refused));
        expect(await rejection(store.append([first('A', 'a')]))).to.be.instanceOf(EventStoreUnavailable);
        server.appendFates.length = 0;
        expect(await store.readLog(0n, 10)).to.deep.equal([]);
      },
      { patience: 300 },
    ));

  it('follows the leader if its server has lost that role in the middle of a batch', () =>
    withRig(async ({ server, store }) => {
      server.appendFates.push({ kind: 'refused', exception: 'not-leader', code: status.NOT_FOUND });
      const codes = ['A', 'B', 'C'];
      const outcomes = await Promise.all(codes.map((code) => store.append([first(code, code)])));
      expect(outcomes.flatMap(kinds)).to.deep.equal(['appended', 'appended', 'appended']);
      expect(names(await store.readLog(0n, 10))).to.have.members(codes);
    }));

  it('says what to do about a tombstoned stream, which can be neither read nor written', () =>
    withRig(async ({ server, store }) => {
      await store.append([first('A', 'a')]);
      server.tombstone('card-A');
      const told = /^The stream card-A was deleted for good in EventStoreDB \(tombstoned\)/;
      for (const call of [
        () => store.readStream(card('A'), 0),
        () => store.readLast(card('A')),
        () => store.append([first('A', 'b'), first('B', 'b')]),
      ])
        expect(await rejection(call()))
          .to.be.instanceOf(EventStoreUnavailable)
          .with.property('message')
          .that.matches(told);
      expect(names(await store.readLog(0n, 10))).to.deep.equal(['a']);
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
      expect(server.calls.get('batchAppend')).to.equal(undefined);
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
