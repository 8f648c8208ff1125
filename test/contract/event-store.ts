import { expect } from 'chai';
import { rawOf, verifies, type UnsealedEvent } from '../../application/log/hash-chain.js';
import {
  clockTolerance,
  noStream,
  type EventStore,
  type NewEvent,
  type WriteOutcome,
} from '../../application/ports/event-store.js';
import type { KeyClaim, IdempotencyStore } from '../../application/ports/idempotency-store.js';
import type { LoggedEvent, RecordedEvent } from '../../domain/events.js';
import {
  derivedUuid,
  streamName,
  type CommandId,
  type Instant,
  type OrganizationId,
  type StreamName,
} from '../../domain/ids.js';
import { sealEvents } from '../support/fixtures/seal-events.js';

/** A store under test. It may hold the streams of earlier runs. */
export interface MadeEventStore {
  readonly store: EventStore;
  /** Whether it commits several streams at once. */
  readonly atomic: boolean;
  /** Given if the store completes claims. */
  readonly idempotency?: IdempotencyStore;
  readonly close: () => Promise<void>;
}

let made = 0;
const run = derivedUuid('event store contract', process.pid, Date.now());
/** A stream name that no other test and no earlier run has used. */
const newStream = (): StreamName => streamName('card', `contract-${run}-${(made += 1)}`);

const at = '2026-03-01T12:00:00.000Z' as Instant;

const metadata: UnsealedEvent['metadata'] = {
  org: 'org-1' as OrganizationId,
  actor: { kind: 'key', id: 'key-1' },
  requestId: 'req-1',
  correlationId: 'corr-1',
  causationId: 'cause-1',
  schemaVersion: 1,
  occurredAt: at,
  subject: null,
};

type Before = { readonly revision: number; readonly hash: string } | null;

/** The last of a stream's events, the first of which has this revision. */
const lastOf = (events: readonly NewEvent[], first = 0): Before => {
  const last = events.at(-1);
  return last === undefined ? null : { revision: first + events.length - 1, hash: last.metadata.hash };
};

/** Events of one command on one stream, chained to the event before them. */
const sealed = (
  stream: StreamName,
  command: string,
  data: readonly object[],
  before: Before = null,
): readonly NewEvent[] =>
  sealEvents(
    stream,
    before,
    data.map((each, index) => ({
      id: derivedUuid(stream, command, index),
      type: 'Noted',
      data: each,
      metadata,
    })),
  );

const kinds = (outcomes: readonly WriteOutcome[]) => outcomes.map(({ kind }) => kind);
const positionOf = (outcome: WriteOutcome | undefined): bigint => {
  if (outcome?.kind !== 'appended') throw new Error(`not appended but ${outcome?.kind}`);
  return outcome.position;
};
const without = ({ id, stream, revision, type, data, metadata }: RecordedEvent) => ({
  id,
  stream,
  revision,
  type,
  data,
  metadata,
});
const recorded = (stream: StreamName, firstRevision: number, events: readonly NewEvent[]) =>
  events.map((event, index) => ({ ...event, stream, revision: firstRevision + index }));

/** Appends, and returns the position of the last event. */
const appended = async (
  store: EventStore,
  stream: StreamName,
  expected: number,
  events: readonly NewEvent[],
): Promise<bigint> => positionOf((await store.append([{ stream, expected, events }]))[0]);

/**
 * Follows until `count` events of these streams have come. Returns them, and the size of the largest batch.
 */
const followed = async (
  store: EventStore,
  after: bigint,
  {
    streams,
    count,
    batch,
  }: { readonly streams: readonly StreamName[]; readonly count: number; readonly batch?: number },
): Promise<{ readonly events: readonly LoggedEvent[]; readonly largest: number }> => {
  const stop = new AbortController();
  const guard = AbortSignal.any([stop.signal, AbortSignal.timeout(60_000)]);
  const events: LoggedEvent[] = [];
  let largest = 0;
  for await (const found of store.follow(after, {
    signal: guard,
    ...(batch === undefined ? {} : { batch }),
  })) {
    largest = Math.max(largest, found.length);
    events.push(...found.filter(({ stream }) => streams.includes(stream)));
    if (events.length >= count) stop.abort();
  }
  return { events, largest };
};

const increasing = (positions: readonly bigint[]) =>
  positions.every((position, index) => index === 0 || position > (positions[index - 1] ?? position));

/** What every EventStore promises. `make` is called for each test. */
export const eventStoreContract = (name: string, make: () => Promise<MadeEventStore>): void => {
  describe(`the event store contract: ${name}`, () => {
    let store: EventStore;
    let atomic: boolean;
    let idempotency: IdempotencyStore | undefined;
    let close: () => Promise<void>;

    beforeEach(
      async () => ({ store, atomic, idempotency, close } = { idempotency: undefined, ...(await make()) }),
    );
    afterEach(() => close());

    describe('appending', () => {
      it('stores events at the end of their stream, in order, as they were given', async () => {
        const stream = newStream();
        const events = sealed(stream, 'a', [
          { n: 1, text: 'Grüße, 🖋', nested: { list: [1, null, true] } },
          { n: 2 },
        ]);
        expect(kinds(await store.append([{ stream, expected: noStream, events }]))).to.deep.equal([
          'appended',
        ]);
        expect((await store.readStream(stream, 0)).map(without)).to.deep.equal(recorded(stream, 0, events));
      });

      it('appends at the expected revision', async () => {
        const stream = newStream();
        const first = sealed(stream, 'a', [{ n: 1 }]);
        const second = sealed(stream, 'b', [{ n: 2 }], lastOf(first));
        const position = await appended(store, stream, noStream, first);
        expect(await appended(store, stream, 0, second)).to.satisfy((next: bigint) => next > position);
        expect((await store.readStream(stream, 0)).map(({ data }) => data)).to.deep.equal([
          { n: 1 },
          { n: 2 },
        ]);
      });

      for (const expected of [1, 7]) {
        it(`reports a conflict at revision ${expected}, which the stream has not reached`, async () => {
          const stream = newStream();
          await appended(store, stream, noStream, sealed(stream, 'a', [{ n: 1 }]));
          expect(
            await store.append([{ stream, expected, events: sealed(stream, 'b', [{ n: 2 }]) }]),
          ).to.deep.equal([{ kind: 'conflict' }]);
          expect(await store.readStream(stream, 0)).to.have.length(1);
        });
      }

      it('reports a conflict at a revision that the stream has passed', async () => {
        const stream = newStream();
        await appended(store, stream, noStream, sealed(stream, 'a', [{ n: 1 }]));
        expect(
          await store.append([{ stream, expected: noStream, events: sealed(stream, 'b', [{ n: 2 }]) }]),
        ).to.deep.equal([{ kind: 'conflict' }]);
        expect((await store.readStream(stream, 0)).map(({ data }) => data)).to.deep.equal([{ n: 1 }]);
      });

      it('reports a conflict if the stream does not exist but is expected to', async () => {
        const stream = newStream();
        expect(
          await store.append([{ stream, expected: 0, events: sealed(stream, 'a', [{ n: 1 }]) }]),
        ).to.deep.equal([{ kind: 'conflict' }]);
        expect(await store.readStream(stream, 0)).to.deep.equal([]);
      });

      it('keeps personal data and whole numbers up to 2^53', async () => {
        const stream = newStream();
        const data = {
          personal: { name: 'Ada Löwe', lines: ['1 Main St', 'Apt "2"'] },
          amount: Number.MAX_SAFE_INTEGER,
        };
        const events = sealed(stream, 'a', [data]);
        await appended(store, stream, noStream, events);
        const [event] = await store.readStream(stream, 0);
        expect(event?.data).to.deep.equal(data);
        expect(event && verifies(null, rawOf(event))).to.equal(true);
      });

      it('stores data so that its hash can be verified', async () => {
        const stream = newStream();
        const events = sealed(stream, 'a', [
          { b: 1, a: { z: 'x\u2028\n', 10: 1, 2: 2 } },
          { float: 0.1, big: 1e21, minus: -0 },
          { personal: { a: 1 }, z: null },
        ]);
        await appended(store, stream, noStream, events);
        const read = await store.readStream(stream, 0);
        expect(
          read.map((event, index) => verifies(read[index - 1]?.metadata.hash ?? null, rawOf(event))),
        ).to.deep.equal([true, true, true]);
      });
    });

    describe('repeating an append', () => {
      it('returns the same outcome and stores nothing', async () => {
        const stream = newStream();
        const write = { stream, expected: noStream, events: sealed(stream, 'a', [{ n: 1 }, { n: 2 }]) };
        const first = await store.append([write]);
        expect(await store.append([write])).to.deep.equal(first);
        expect(await store.readStream(stream, 0)).to.have.length(2);
      });

      it('returns the same outcome even if the stream has grown since', async () => {
        const stream = newStream();
        const write = { stream, expected: noStream, events: sealed(stream, 'a', [{ n: 1 }, { n: 2 }]) };
        const first = await store.append([write]);
        await appended(store, stream, 1, sealed(stream, 'b', [{ n: 3 }]));
        expect(await store.append([write])).to.deep.equal(first);
        expect(await store.readStream(stream, 0)).to.have.length(3);
      });

      it('reports a conflict if only some of the events are the same', async () => {
        const stream = newStream();
        const [first, second] = sealed(stream, 'a', [{ n: 1 }, { n: 2 }]);
        const [other] = sealed(stream, 'b', [{ n: 3 }]);
        if (first === undefined || second === undefined || other === undefined)
          throw new Error('three events were sealed');
        await appended(store, stream, noStream, [first, second]);
        expect(await store.append([{ stream, expected: noStream, events: [first, other] }])).to.deep.equal([
          { kind: 'conflict' },
        ]);
        expect(await store.readStream(stream, 0)).to.have.length(2);
      });

      it('returns the same outcomes for several streams', async () => {
        const [one, two] = [newStream(), newStream()];
        const writes = [one, two].map((stream) => ({
          stream,
          expected: noStream,
          events: sealed(stream, 'a', [{ n: 1 }]),
        }));
        const first = await store.append(writes);
        expect(kinds(first)).to.deep.equal(['appended', 'appended']);
        expect(await store.append(writes)).to.deep.equal(first);
        expect([...(await store.readStream(one, 0)), ...(await store.readStream(two, 0))]).to.have.length(2);
      });
    });

    describe('appending to several streams', () => {
      it('returns one outcome per stream, in their order', async () => {
        const streams = [newStream(), newStream(), newStream()];
        const outcomes = await store.append(
          streams.map((stream) => ({
            stream,
            expected: noStream,
            events: sealed(stream, 'a', [{ n: 1 }, { n: 2 }]),
          })),
        );
        expect(kinds(outcomes)).to.deep.equal(['appended', 'appended', 'appended']);
        expect(increasing(outcomes.map(positionOf))).to.equal(true);
        for (const stream of streams) expect(await store.readStream(stream, 0)).to.have.length(2);
      });

      const conflictAt = async (faulty: number) => {
        const streams = [newStream(), newStream(), newStream()];
        const outcomes = await store.append(
          streams.map((stream, index) => ({
            stream,
            expected: index === faulty ? 5 : noStream,
            events: sealed(stream, 'a', [{ n: 1 }]),
          })),
        );
        const lengths: number[] = [];
        for (const stream of streams) lengths.push((await store.readStream(stream, 0)).length);
        return { outcomes: kinds(outcomes), lengths };
      };

      for (const faulty of [0, 1, 2]) {
        it(`stores nothing if atomic, else the writes before the conflict: write ${faulty}`, async () => {
          const rest = { before: atomic ? 'skipped' : 'appended', length: atomic ? 0 : 1 };
          expect(await conflictAt(faulty)).to.deep.equal({
            outcomes: [0, 1, 2].map((index) =>
              index < faulty ? rest.before : index === faulty ? 'conflict' : 'skipped',
            ),
            lengths: [0, 1, 2].map((index) => (index < faulty ? rest.length : 0)),
          });
        });
      }
    });

    describe('reading a stream', () => {
      it('returns the events from a revision on', async () => {
        const stream = newStream();
        const events = sealed(stream, 'a', [{ n: 0 }, { n: 1 }, { n: 2 }]);
        await appended(store, stream, noStream, events);
        expect((await store.readStream(stream, 1)).map(without)).to.deep.equal(
          recorded(stream, 0, events).slice(1),
        );
      });

      it('returns no more events than are asked for', async () => {
        const stream = newStream();
        const events = sealed(stream, 'a', [{ n: 0 }, { n: 1 }, { n: 2 }]);
        await appended(store, stream, noStream, events);
        const page = async (from: number, limit: number) =>
          (await store.readStream(stream, from, limit)).map(({ revision }) => revision);
        expect([await page(0, 2), await page(2, 2), await page(3, 2)]).to.deep.equal([[0, 1], [2], []]);
        await appended(store, stream, 2, sealed(stream, 'b', [{ n: 3 }], lastOf(events)));
        expect(await page(2, 2)).to.deep.equal([2, 3]);
      });

      it('returns nothing past the end, and new events once they are appended', async () => {
        const stream = newStream();
        await appended(store, stream, noStream, sealed(stream, 'a', [{ n: 0 }]));
        expect(await store.readStream(stream, 1)).to.deep.equal([]);
        await appended(store, stream, 0, sealed(stream, 'b', [{ n: 1 }]));
        expect((await store.readStream(stream, 1)).map(({ revision }) => revision)).to.deep.equal([1]);
        expect(await store.readStream(stream, 2)).to.deep.equal([]);
      });

      it('returns nothing for a stream that does not exist', async () => {
        expect(await store.readStream(newStream(), 0)).to.deep.equal([]);
        expect(await store.readLast(newStream())).to.equal(null);
      });

      it('returns the last event of a stream', async () => {
        const stream = newStream();
        const events = sealed(stream, 'a', [{ n: 0 }, { n: 1 }]);
        await appended(store, stream, noStream, events);
        const last = await store.readLast(stream);
        expect(last && without(last)).to.deep.equal(recorded(stream, 0, events)[1]);
      });

      it('leaves out a stream whose name begins the same', async () => {
        const stream = newStream();
        const longer = `${stream}0` as StreamName;
        await appended(store, longer, noStream, sealed(longer, 'a', [{ n: 1 }]));
        expect(await store.readStream(stream, 0)).to.deep.equal([]);
        expect(await store.readLast(stream)).to.equal(null);
      });
    });

    describe('reading the log', () => {
      it('returns the events of all streams in the order in which they were appended', async () => {
        const { position: before } = await store.head();
        const [one, two] = [newStream(), newStream()];
        await appended(store, one, noStream, sealed(one, 'a', [{ n: 1 }]));
        await appended(store, two, noStream, sealed(two, 'a', [{ n: 2 }, { n: 3 }]));
        const last = await appended(store, one, 0, sealed(one, 'b', [{ n: 4 }]));
        const log = (await store.readLog(before, 100)).filter(
          ({ stream }) => stream === one || stream === two,
        );
        expect(log.map(({ stream, revision, data }) => ({ stream, revision, data }))).to.deep.equal([
          { stream: one, revision: 0, data: { n: 1 } },
          { stream: two, revision: 0, data: { n: 2 } },
          { stream: two, revision: 1, data: { n: 3 } },
          { stream: one, revision: 1, data: { n: 4 } },
        ]);
        expect(increasing(log.map(({ position }) => position))).to.equal(true);
        expect(log.at(-1)?.position).to.equal(last);
        for (const { position } of log) expect(position).to.be.a('bigint');
      });

      it('returns the log in pages', async () => {
        const { position: before } = await store.head();
        const stream = newStream();
        await appended(store, stream, noStream, sealed(stream, 'a', [{ n: 0 }, { n: 1 }, { n: 2 }]));
        const all = await store.readLog(before, 100);
        const paged: LoggedEvent[] = [];
        for (
          let page = await store.readLog(before, 2);
          page.length > 0;
          page = await store.readLog(paged.at(-1)?.position ?? before, 2)
        ) {
          expect(page.length).to.be.at.most(2);
          paged.push(...page);
        }
        expect(paged).to.deep.equal(all);
        expect(paged.filter((event) => event.stream === stream)).to.have.length(3);
      });

      it('returns the last event as the head', async () => {
        const stream = newStream();
        const events = sealed(stream, 'a', [{ n: 0 }, { n: 1 }]);
        const position = await appended(store, stream, noStream, events);
        const last = { id: events[1]?.id, hash: events[1]?.metadata.hash, at };
        expect(await store.head()).to.deep.equal({ position, event: last });
        expect(await store.markAt(position)).to.deep.equal(last);
        expect(await store.readLog(position, 10)).to.deep.equal([]);
      });
    });

    describe('following the log', () => {
      it('yields stored events, then new ones, in order', async () => {
        const { position: before } = await store.head();
        const stream = newStream();
        await appended(store, stream, noStream, sealed(stream, 'a', [{ n: 0 }, { n: 1 }]));
        const following = followed(store, before, { streams: [stream], count: 5 });
        await appended(store, stream, 1, sealed(stream, 'b', [{ n: 2 }]));
        await appended(store, stream, 2, sealed(stream, 'c', [{ n: 3 }, { n: 4 }]));
        const { events } = await following;
        expect(events.map(({ revision, data }) => ({ revision, data }))).to.deep.equal(
          [0, 1, 2, 3, 4].map((n) => ({ revision: n, data: { n } })),
        );
        expect(increasing(events.map(({ position }) => position))).to.equal(true);
        expect(events).to.deep.equal(
          (await store.readLog(before, 100)).filter((event) => event.stream === stream),
        );
      });

      it('yields the events after a position, in batches no larger than asked for', async () => {
        const { position: before } = await store.head();
        const stream = newStream();
        await appended(
          store,
          stream,
          noStream,
          sealed(stream, 'a', [{ n: 0 }, { n: 1 }, { n: 2 }, { n: 3 }, { n: 4 }]),
        );
        const log = (await store.readLog(before, 100)).filter((event) => event.stream === stream);
        const { events, largest } = await followed(store, log[1]?.position ?? 0n, {
          streams: [stream],
          count: 3,
          batch: 2,
        });
        expect(events).to.deep.equal(log.slice(2));
        expect(largest).to.be.at.most(2);
      });

      it('ends without an error if it is aborted while it waits', async () => {
        const { position } = await store.head();
        const stop = new AbortController();
        const iterator = store.follow(position, { signal: stop.signal })[Symbol.asyncIterator]();
        const next = iterator.next();
        stop.abort();
        expect(await next).to.deep.equal({ done: true, value: undefined });
      });

      it('ends at once if it is aborted before it begins, or while a batch is handled', async () => {
        const stream = newStream();
        await appended(store, stream, noStream, sealed(stream, 'a', [{ n: 0 }, { n: 1 }]));
        expect(
          await store.follow(0n, { signal: AbortSignal.abort() })[Symbol.asyncIterator]().next(),
        ).to.deep.equal({ done: true, value: undefined });
        const stop = new AbortController();
        let batches = 0;
        for await (const _ of store.follow(0n, { signal: stop.signal, batch: 1 })) {
          batches += 1;
          stop.abort();
        }
        expect(batches).to.equal(1);
      });

      it('waits for a slow consumer and loses no event', async () => {
        const { position: before } = await store.head();
        const stream = newStream();
        const stop = new AbortController();
        const seen: number[] = [];
        let revision = noStream;
        const append = async () => {
          await appended(store, stream, revision, sealed(stream, `${revision}`, [{ n: revision + 1 }]));
          revision += 1;
        };
        await append();
        for await (const batch of store.follow(before, {
          signal: AbortSignal.any([stop.signal, AbortSignal.timeout(60_000)]),
          batch: 3,
        })) {
          seen.push(...batch.filter((event) => event.stream === stream).map((event) => event.revision));
          if (revision < 20) for (let more = 0; more < 4; more += 1) await append();
          if (seen.length > 20) stop.abort();
        }
        expect(seen).to.deep.equal(Array.from({ length: revision + 1 }, (_, index) => index));
      });

      it('yields every event to each of several followers', async () => {
        const { position: before } = await store.head();
        const stream = newStream();
        const following = [1, 2, 3].map(() => followed(store, before, { streams: [stream], count: 3 }));
        for (const n of [0, 1, 2]) await appended(store, stream, n - 1, sealed(stream, `${n}`, [{ n }]));
        for (const { events } of await Promise.all(following))
          expect(events.map(({ revision }) => revision)).to.deep.equal([0, 1, 2]);
      });
    });

    describe('writing at once', () => {
      it('lets one of 24 writers win each revision of a stream', async () => {
        const writers = 24;
        const stream = newStream();
        const { position: before } = await store.head();
        const writer = async (who: number): Promise<bigint> => {
          for (;;) {
            const last = await store.readLast(stream);
            const expected = last?.revision ?? noStream;
            const before = last && { revision: last.revision, hash: last.metadata.hash };
            const events = sealed(stream, `writer ${who}`, [{ who }], before);
            const [outcome] = await store.append([{ stream, expected, events }]);
            if (outcome?.kind !== 'conflict') return positionOf(outcome);
          }
        };
        const positions = await Promise.all(Array.from({ length: writers }, (_, who) => writer(who)));
        const events = await store.readStream(stream, 0);
        expect(events.map(({ revision }) => revision)).to.deep.equal(
          Array.from({ length: writers }, (_, index) => index),
        );
        expect(new Set(events.map(({ id }) => id)).size).to.equal(writers);
        expect(
          events.every((event, index) => verifies(events[index - 1]?.metadata.hash ?? null, rawOf(event))),
        ).to.equal(true);
        const log = (await store.readLog(before, 1000)).filter((event) => event.stream === stream);
        expect(log.map(({ position }) => position)).to.deep.equal(
          positions.toSorted((a, b) => (a < b ? -1 : 1)),
        );
      });

      it('appends to many streams at once', async () => {
        const streams = Array.from({ length: 200 }, newStream);
        const { position: before } = await store.head();
        const following = followed(store, before, { streams, count: 400 });
        const positions = await Promise.all(
          streams.map((stream) =>
            appended(store, stream, noStream, sealed(stream, 'a', [{ n: 0 }, { n: 1 }])),
          ),
        );
        expect(new Set(positions).size).to.equal(200);
        const { events } = await following;
        expect(events).to.have.length(400);
        expect(increasing(events.map(({ position }) => position))).to.equal(true);
      });
    });

    it('finds a position by the time of the events around it', async () => {
      const hours = [0, 1, 2, 3, 4, 5, 6];
      const timeOf = (hour: number): number => Date.parse('2037-05-01T00:00:00.000Z') + hour * 3_600_000;
      const positions: bigint[] = [];
      for (const hour of hours) {
        const stream = newStream();
        const occurredAt = new Date(timeOf(hour)).toISOString() as Instant;
        const event = { id: derivedUuid(stream), type: 'Noted', data: { hour } };
        const events = sealEvents(stream, null, [{ ...event, metadata: { ...metadata, occurredAt } }]);
        const [outcome] = await store.append([{ stream, expected: noStream, events }]);
        positions.push(positionOf(outcome));
      }
      const found = await Promise.all(
        [...hours, 99].map((hour) => store.positionBefore({ time: timeOf(hour) })),
      );
      expect(found.slice(1)).to.deep.equal(positions);
      expect(Number(found[0])).to.be.lessThan(Number(positions[0]));
      const almost = timeOf(3) + clockTolerance - 1;
      expect(await store.positionBefore({ time: almost })).to.equal(positions[2]);
      expect(await store.positionBefore({ time: almost + 2 })).to.equal(positions[3]);
    });

    it('finds the position after which a reader begins who wants the event at a position', async () => {
      await appended(store, newStream(), noStream, sealed('card-A' as StreamName, 'a', [{ n: 0 }, { n: 1 }]));
      const log = await store.readLog(0n, 1_000);
      for (const { position } of log.slice(-3)) {
        const [first] = await store.readLog(await store.positionBefore({ position }), 1);
        expect(first?.position).to.equal(position);
      }
      const [first] = await store.readLog(await store.positionBefore({ position: 0n }), 1);
      expect(first).to.deep.equal(log[0]);
    });

    describe('completing claims', () => {
      const claimFor = (code: string): KeyClaim => ({
        org: 'org-1' as OrganizationId,
        key: `key of ${code}`,
        body: 'b'.repeat(64),
        code,
        owner: `command of ${code}` as CommandId,
        ledgerRevision: 0,
        claimedAt: at,
      });

      it('completes a claim together with its events, and not if they conflict', async function () {
        if (!atomic || idempotency === undefined) return this.skip();
        const [stream, other] = [newStream(), newStream()];
        const [claim, lost] = [claimFor(stream), claimFor(other)];
        expect([await idempotency.claim(claim), await idempotency.claim(lost)]).to.deep.equal([
          { kind: 'claimed' },
          { kind: 'claimed' },
        ]);
        expect(
          kinds(
            await store.append(
              [{ stream, expected: noStream, events: sealed(stream, 'a', [{ n: 1 }]) }],
              [claim],
            ),
          ),
        ).to.deep.equal(['appended']);
        expect(
          kinds(
            await store.append(
              [{ stream: other, expected: 3, events: sealed(other, 'a', [{ n: 1 }]) }],
              [lost],
            ),
          ),
        ).to.deep.equal(['conflict']);
        expect(
          await idempotency.claim({ ...claim, code: 'another', owner: 'next' as CommandId }),
        ).to.deep.equal({ kind: 'completed', code: claim.code });
        expect(
          await idempotency.claim({ ...lost, code: 'another', owner: 'next' as CommandId }),
        ).to.deep.equal({ kind: 'running', claim: lost });
        expect(await idempotency.complete(claim)).to.equal(false);
      });

      it('completes several claims in one append', async function () {
        if (!atomic || idempotency === undefined) return this.skip();
        const stream = newStream();
        const claims = [claimFor(`${stream}-1`), claimFor(`${stream}-2`)];
        for (const claim of claims) await idempotency.claim(claim);
        await store.append([{ stream, expected: noStream, events: sealed(stream, 'a', [{ n: 1 }]) }], claims);
        for (const claim of claims)
          expect(await idempotency.claim({ ...claim, owner: 'next' as CommandId })).to.deep.equal({
            kind: 'completed',
            code: claim.code,
          });
      });
    });
  });
};
