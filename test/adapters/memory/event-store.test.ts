import { expect } from 'chai';
import { MemoryEventStore, type Fate } from '../../support/memory/event-store.js';
import {
  EventStoreUnavailable,
  noStream,
  type NewEvent,
  type StreamWrite,
} from '../../../application/ports/event-store.js';
import type { EventMetadata } from '../../../domain/events.js';
import { derivedUuid, streamName, type Instant } from '../../../domain/ids.js';

const metadata: EventMetadata = {
  org: null,
  actor: { kind: 'system', id: null },
  requestId: null,
  correlationId: 'c',
  causationId: 'c',
  schemaVersion: 1,
  occurredAt: '2026-03-02T15:00:00.000Z' as Instant,
  subject: null,
  keyId: null,
  chain: 2,
  personal: null,
  hash: 'h',
};

const event = (...name: readonly (string | number)[]): NewEvent => ({
  id: derivedUuid(...name),
  type: 'Happened',
  data: { name: name.join(' ') },
  metadata,
});

const first = (id: string): StreamWrite => ({
  stream: streamName('card', id),
  expected: noStream,
  events: [event(id, 0)],
});

const types = async (store: MemoryEventStore) =>
  (await store.readLog(0n, 100)).map(({ stream, revision, position }) => [
    stream,
    revision,
    Number(position),
  ]);

/** Gives out the fates in order, then stores. */
const fated = (...fates: readonly Fate[]) => {
  const left = [...fates];
  return async () => left.shift() ?? 'store';
};

describe('the event store in memory', () => {
  it('stores all writes of an atomic append, or none', async () => {
    const store = new MemoryEventStore({ atomic: true });
    expect(await store.append([first('a'), first('b')])).to.deep.equal([
      { kind: 'appended', position: 1n },
      { kind: 'appended', position: 2n },
    ]);
    expect(await store.append([first('c'), { ...first('b'), events: [event('other')] }])).to.deep.equal([
      { kind: 'skipped' },
      { kind: 'conflict' },
    ]);
    expect(await types(store)).to.deep.equal([
      ['card-a', 0, 1],
      ['card-b', 0, 2],
    ]);
  });

  it('has the records of others only between its positions, and wakes a follower for nothing', async () => {
    const store = new MemoryEventStore({ atomic: false, bytesPerEvent: 10, others: () => 2 });
    const { signal } = new AbortController();
    const followed = store.follow(0n, { signal })[Symbol.asyncIterator]();
    store.passOver(3);
    await store.append([first('a'), first('b')]);
    store.passOver(4);
    const all = [
      ['card-a', 0, 60],
      ['card-b', 0, 90],
    ];
    expect(await types(store)).to.deep.equal(all);
    expect((await store.head()).position).to.equal(90n);
    expect((await store.readLog(70n, 9)).map(({ position }) => position)).to.deep.equal([90n]);
    expect(await store.readLog(120n, 9)).to.deep.equal([]);
    expect((await followed.next()).value).to.have.length(2);
    const next = followed.next();
    store.passOver(1);
    await store.append([first('c')]);
    expect((await next).value).to.have.nested.property('0.position', 170n);
    const inside = await store.readLog(59n, 9).catch(String);
    expect(inside).to.equal('RangeError: there is no event at position 59');
  });

  it('stores the writes of an append one after the other if it is not atomic', async () => {
    const store = new MemoryEventStore({ atomic: false });
    await store.append([first('b')]);
    expect(
      await store.append([first('a'), { ...first('b'), events: [event('other')] }, first('c')]),
    ).to.deep.equal([{ kind: 'appended', position: 2n }, { kind: 'conflict' }, { kind: 'skipped' }]);
    expect(await types(store)).to.deep.equal([
      ['card-b', 0, 1],
      ['card-a', 0, 2],
    ]);
    expect((await store.readLast(streamName('card', 'a')))?.position).to.equal(null);
  });

  for (const atomic of [true, false]) {
    it(`returns the same outcome for a repeated append and stores nothing (atomic: ${atomic})`, async () => {
      const store = new MemoryEventStore({ atomic });
      await store.append([first('a'), first('b')]);
      await store.append([{ stream: streamName('card', 'a'), expected: 0, events: [event('a', 1)] }]);
      expect(await store.append([first('a'), first('b')])).to.deep.equal([
        { kind: 'appended', position: 1n },
        { kind: 'appended', position: 2n },
      ]);
      expect((await store.head()).position).to.equal(3n);
    });
  }

  it('keeps events as they were appended, even if the caller changes them later', async () => {
    const store = new MemoryEventStore({ atomic: true });
    const data = { text: 'before' };
    await store.append([{ ...first('a'), events: [{ ...event('a', 0), data }] }]);
    data.text = 'after';
    expect((await store.readStream(streamName('card', 'a'), 0))[0]?.data).to.deep.equal({ text: 'before' });
  });

  it('loses writes and outcomes when told to', async () => {
    const store = new MemoryEventStore({
      atomic: false,
      onWrite: fated('lose', 'store', 'store-lose-answer', 'away'),
    });
    expect(await store.append([first('a'), first('b')])).to.deep.equal([
      { kind: 'unknown' },
      { kind: 'skipped' },
    ]);
    expect(await store.append([first('a'), first('b')])).to.deep.equal([
      { kind: 'appended', position: 1n },
      { kind: 'unknown' },
    ]);
    expect(
      (await store.append([first('c')]).catch((error: unknown) => error)) instanceof EventStoreUnavailable,
    ).to.equal(true);
    expect(await types(store)).to.deep.equal([
      ['card-a', 0, 1],
      ['card-b', 0, 2],
    ]);
  });

  it('lets an append arrive late, when the stream may have grown', async () => {
    let arrive = () => {};
    const late = new Promise<void>((resolve) => (arrive = resolve));
    const store = new MemoryEventStore({ atomic: true, onWrite: fated({ late }, { late }) });
    expect(await store.append([first('a')])).to.deep.equal([{ kind: 'unknown' }]);
    expect(await store.append([first('b')])).to.deep.equal([{ kind: 'unknown' }]);
    await store.append([{ ...first('b'), events: [event('other')] }]);
    arrive();
    await late;
    expect(await types(store)).to.deep.equal([
      ['card-b', 0, 1],
      ['card-a', 0, 2],
    ]);
  });

  it('yields the log in batches, then new events, until the signal aborts', async () => {
    const store = new MemoryEventStore({ atomic: true });
    await store.append([first('a'), first('b'), first('c')]);
    const stop = new AbortController();
    const seen: number[][] = [];
    for await (const events of store.follow(0n, { signal: stop.signal, batch: 2 })) {
      seen.push(events.map(({ position }) => Number(position)));
      if (seen.length === 2) void store.append([first('d')]);
      if (seen.length === 3) stop.abort();
    }
    expect(seen).to.deep.equal([[1, 2], [3], [4]]);
  });

  it('throws EventStoreUnavailable while it is away', async () => {
    const store = new MemoryEventStore({ atomic: true });
    store.away = true;
    const calls = [
      store.append([first('a')]),
      store.readStream(streamName('card', 'a'), 0),
      store.readLast(streamName('card', 'a')),
      store.readLog(0n, 1),
      store.head(),
    ];
    const refusals = await Promise.all(
      calls.map((call) =>
        call.then(
          () => null,
          (error: unknown) => error,
        ),
      ),
    );
    expect(refusals.map((error) => error instanceof EventStoreUnavailable)).to.deep.equal([
      true,
      true,
      true,
      true,
      true,
    ]);
  });
});
