import {
  BACKWARDS,
  END,
  EventStoreDBClient,
  FORWARDS,
  jsonEvent,
  NO_STREAM,
  START,
} from '@eventstore/db-client';
import { expect } from 'chai';
import { messageOf } from '../../domain/errors.js';
import { derivedUuid } from '../../domain/ids.js';
import { readOurs } from '../../adapters/eventstoredb/filtered-reads.js';
import { eventually } from '../support/time/eventually.js';
import { RealClock } from '../support/time/real-clock.js';
import { EventStoreDbStandIn } from './eventstoredb-stand-in.js';

const credentials = { username: 'nobody', password: 'nobody' };

const withServer = async (
  run: (rig: {
    readonly server: EventStoreDbStandIn;
    readonly client: EventStoreDBClient;
    /** Appends events of these names; returns the position of the last one. */
    readonly append: (stream: string, expected: number, ...names: string[]) => Promise<bigint | null>;
    /** The names of the events of a stream, or the error. */
    readonly read: (stream: string) => Promise<readonly string[] | string>;
  }) => Promise<void>,
): Promise<void> => {
  const server = await EventStoreDbStandIn.start(new RealClock());
  const client = EventStoreDBClient.connectionString(server.url);
  const append = async (stream: string, expected: number, ...names: string[]): Promise<bigint | null> => {
    const events = names.map((name) => jsonEvent({ id: derivedUuid(name), type: name, data: {} }));
    const expectedRevision = expected < 0 ? NO_STREAM : BigInt(expected);
    const { position } = await client.appendToStream(stream, events, { expectedRevision, credentials });
    return position?.commit ?? null;
  };
  const read = async (stream: string): Promise<readonly string[] | string> => {
    const names: string[] = [];
    try {
      for await (const { event } of client.readStream(stream))
        names.push(`${event?.revision}:${event?.type}`);
      return names;
    } catch (error) {
      return error instanceof Error ? error.constructor.name : String(error);
    }
  };
  try {
    await run({ server, client, append, read });
  } finally {
    await client.dispose();
    server.down();
  }
};

const errorOf = (call: Promise<unknown>): Promise<string> =>
  call.then(
    () => 'nothing',
    (error: unknown) => (error instanceof Error ? error.constructor.name : String(error)),
  );

// What is asserted here was measured on EventStoreDB 24.2.
describe('the stand-in of EventStoreDB', () => {
  it('gives every event of an append a position of its own, and answers that of the last', () =>
    withServer(async ({ client, append }) => {
      const last = await append('card-A', -1, 'a', 'b', 'c');
      const positions: bigint[] = [];
      for await (const { event } of client.readAll({ fromPosition: START, direction: FORWARDS }))
        if (event?.streamId === 'card-A') {
          expect(event.position.commit).to.equal(event.position.prepare);
          positions.push(event.position.commit);
        }
      expect(new Set(positions).size).to.equal(3);
      expect(positions.at(-1)).to.equal(last);
    }));

  it('takes a repeat of a part of the ids, also when the stream has grown, and answers its first position', () =>
    withServer(async ({ append, read }) => {
      const [first, second] = [await append('card-A', -1, 'a'), await append('card-A', 0, 'b', 'c')];
      await append('card-A', 2, 'd');
      expect(await append('card-A', -1, 'a')).to.equal(first);
      expect(await append('card-A', 0, 'b', 'c')).to.equal(second);
      expect(await append('card-A', 1, 'c')).to.equal(second);
      expect(await errorOf(append('card-A', -1, 'other'))).to.equal('WrongExpectedVersionError');
      expect(await read('card-A')).to.deep.equal(['0:a', '1:b', '2:c', '3:d']);
    }));

  it('stores an id again that another stream holds, or that stands twice in an append', () =>
    withServer(async ({ append, read }) => {
      await append('card-A', -1, 'a');
      await append('card-B', -1, 'a', 'a');
      expect(await read('card-B')).to.deep.equal(['0:a', '1:a']);
    }));

  it('hides what $tb and $maxCount cut off, and answers a repeat of it without a position', () =>
    withServer(async ({ server, client, append, read }) => {
      await append('card-A', -1, 'a', 'b', 'c');
      server.truncate('card-A', { truncateBefore: 1 });
      expect(await read('card-A')).to.deep.equal(['1:b', '2:c']);
      expect(await append('card-A', -1, 'a')).to.equal(null);
      server.truncate('card-A', { maxCount: 1 });
      expect(await read('card-A')).to.deep.equal(['2:c']);
      await client.setStreamMetadata('card-A', { maxCount: 2 }, { credentials });
      expect(await read('card-A')).to.deep.equal(['1:b', '2:c']);
    }));

  it('lets a deleted stream begin again above its last revision', () =>
    withServer(async ({ server, append, read }) => {
      await append('card-A', -1, 'a', 'b');
      server.softDelete('card-A');
      expect(await read('card-A')).to.equal('StreamNotFoundError');
      await append('card-A', -1, 'c');
      expect(await read('card-A')).to.deep.equal(['2:c']);
    }));

  it('refuses every read of a tombstoned stream, and every append to it', () =>
    withServer(async ({ server, append, read }) => {
      await append('card-A', -1, 'a');
      server.tombstone('card-A');
      expect(await read('card-A')).to.equal('StreamDeletedError');
      expect(await errorOf(append('card-A', 0, 'b'))).to.equal('StreamDeletedError');
    }));

  it('refuses positions inside a record, in the words of the server, and waits past the end', () =>
    withServer(async ({ client, append }) => {
      const position = (await append('card-A', -1, 'a')) ?? 0n;
      const [inside, past] = [position - 1n, position + 100_000n];
      const readFrom = async (commit: bigint): Promise<number> => {
        let count = 0;
        for await (const _ of client.readAll({ fromPosition: { commit, prepare: commit } })) count += 1;
        return count;
      };
      expect(await readFrom(inside).catch(messageOf)).to.equal(
        '2 UNKNOWN: Unexpected ReadAllResult: InvalidPosition',
      );
      expect(await readFrom(past)).to.equal(0);
      const subscribe = (commit: bigint) =>
        client.subscribeToAll({ fromPosition: { commit, prepare: commit } });
      const refused = await new Promise<string>((resolve) =>
        subscribe(inside).on('error', (error) => resolve(messageOf(error))),
      );
      expect(refused).to.equal('3 INVALID_ARGUMENT: Trying to read from an invalid position.');
      const waiting = subscribe(past);
      await new Promise<void>((resolve) => waiting.on('caughtUp', () => resolve()));
      await waiting.unsubscribe();
    }));

  it('answers filtered reads of $all in both directions, and looks on for one event more than it was asked for', () =>
    withServer(async ({ server, client, append }) => {
      const kinds = [
        { stream: 'other-1', type: 'Other' },
        { stream: '$ce-other', type: '$>' },
      ];
      const own = await append('card-A', -1, 'a', 'b');
      server.others({ count: 100_000, kinds });
      await append('card-B', -1, 'c');
      server.others({ count: 100_000, kinds });
      const typesOf = async (...options: Parameters<typeof client.readAll>) => {
        const types: unknown[] = [];
        for await (const { event } of readOurs(client, 'card-', ...options)) types.push(event?.type);
        return types;
      };
      expect(await typesOf({ fromPosition: START, direction: FORWARDS })).to.deep.equal(['a', 'b', 'c']);
      expect(await typesOf({ fromPosition: END, direction: BACKWARDS, maxCount: 2 })).to.deep.equal([
        'c',
        'b',
      ]);
      const place = { commit: own ?? 0n, prepare: own ?? 0n };
      expect(await typesOf({ fromPosition: place, direction: FORWARDS })).to.deep.equal(['b', 'c']);
      expect(await typesOf({ fromPosition: place, direction: BACKWARDS })).to.deep.equal(['a']);
      const inside = { commit: place.commit - 1n, prepare: place.commit - 1n };
      expect(await typesOf({ fromPosition: inside }).catch(messageOf)).to.equal(
        '2 UNKNOWN: Unexpected FilteredReadAllResult: InvalidPosition',
      );
      server.passesOver = 1;
      const endless = readOurs(client, 'card-', { fromPosition: END, direction: BACKWARDS, maxCount: 0 });
      endless.on('error', () => undefined).resume();
      await eventually(() => server.openReads === 1);
      await endless.cancel();
      server.hasFilteredReads = false;
      expect(await typesOf({ fromPosition: START }).catch(messageOf)).to.match(
        /^3 INVALID_ARGUMENT: The comb/,
      );
    }));

  it('gives checkpoints with half a position while a subscription catches up, which skip an event as a whole one', () =>
    withServer(async ({ server, client, append }) => {
      server.others({ count: 1_000, kinds: [{ stream: 'other-1', type: 'Other' }] });
      const filter = {
        filterOn: 'streamName' as const,
        prefixes: ['card-'],
        maxSearchWindow: 500,
        checkpointInterval: 1,
      };
      await append('card-A', -1, 'a');
      const last = (await append('card-A', 0, 'b')) ?? 0n;
      const seen: { commit: bigint; prepare: bigint }[] = [];
      const subscribe = (fromPosition: (typeof seen)[number] | typeof START) => {
        const types: unknown[] = [];
        const checkpointReached = (_: unknown, place: (typeof seen)[number]) => void seen.push(place);
        const subscription = client.subscribeToAll({
          fromPosition,
          filter: { ...filter, checkpointReached },
        });
        subscription.on('data', ({ event }) => types.push(event?.type)).on('error', () => undefined);
        return { types, subscription };
      };
      const { types, subscription } = subscribe(START);
      await eventually(() => types.length === 2);
      expect(seen.slice(0, -1).map(({ prepare }) => prepare)).to.deep.equal(seen.slice(1).map(() => 0n));
      const half = { commit: last, prepare: 0n };
      const [right, wrong] = [subscribe(half), subscribe({ commit: last, prepare: last })];
      await eventually(() => right.types.length === 1);
      await append('card-A', 1, 'c');
      await eventually(() => right.types.length === 2 && wrong.types.length === 1);
      expect([right.types, wrong.types]).to.deep.equal([['b', 'c'], ['c']]);
      for (const each of [subscription, right.subscription, wrong.subscription]) await each.unsubscribe();
    }));

  it("takes the appends of the client's own batches, too", () =>
    withServer(async ({ server, client }) => {
      const appended = await client.appendToStream('card-A', jsonEvent({ type: 'a', data: {} }), {
        expectedRevision: NO_STREAM,
      });
      for await (const { event } of client.readAll({ fromPosition: END, direction: BACKWARDS, maxCount: 1 }))
        expect(appended.position?.commit).to.equal(event?.position.commit);
      const again = client.appendToStream('card-A', jsonEvent({ type: 'b', data: {} }), {
        expectedRevision: NO_STREAM,
      });
      expect(await errorOf(again)).to.equal('WrongExpectedVersionError');
      expect(server.calls.get('batchAppend')).to.equal(2);
    }));
});
