import { UnavailableError } from '@eventstore/db-client';
import { expect } from 'chai';
import { pausesOf, type Context } from '../../../adapters/eventstoredb/context.js';
import { EventStoreDbEventStore } from '../../../adapters/eventstoredb/event-store.js';
import { SystemEntropy } from '../../../adapters/system/entropy.js';
import { EventStoreUnavailable } from '../../../application/ports/event-store.js';
import { VirtualClock } from '../../support/memory/clock.js';
import { Proxy } from '../../support/servers/proxy.js';
import { eventually } from '../../support/time/eventually.js';
import { EventStoreDbStandIn } from '../../engines/eventstoredb-stand-in.js';
import { card, clock, first, kinds, names, shortTimes, withRig } from './support.js';

const entropy = new SystemEntropy();
/** No test waits for so long: whoever does would be seen. */
const patient = { ...shortTimes, patience: 600_000 };

const isRefused = async (call: Promise<unknown>): Promise<void> => {
  const outcome: unknown = await call.catch((error: unknown) => error);
  expect(outcome).to.be.instanceOf(EventStoreUnavailable);
};

/**
 * What `pausesOf` says to failures one after the other, until it gives up, and how long it waited in all.
 */
const waits = async (
  error: unknown,
  isCluster: boolean,
  wasStarting = false,
): Promise<{ pauses: number[]; waited: number }> => {
  const virtual = new VirtualClock();
  const context = {
    connection: { isCluster },
    clock: virtual,
    times: { patience: 3_000 },
    backoff: (failures: number) => 50 * 2 ** failures,
  } as unknown as Context;
  const pauses: number[] = [];
  const pauseAfter = pausesOf(context);
  if (wasStarting) pauseAfter(notReady);
  for (;;) {
    const pause = pauseAfter(error);
    if (pause === null) return { pauses, waited: virtual.monotonic() };
    pauses.push(pause);
    await virtual.advance(pause);
  }
};

const notReady = new Error('Server Is Not Ready');
const gone = new UnavailableError(undefined, 'No connection established. Last error: connect ECONNREFUSED');

describe('what certainly had no effect on EventStoreDB', () => {
  it('is tried again for 3 s, at least four times a second, if a server says that it is not ready', async () => {
    for (const isCluster of [true, false]) {
      const { pauses, waited } = await waits(notReady, isCluster);
      expect(waited).to.be.within(2_700, 3_000);
      expect(Math.max(...pauses)).to.equal(250);
    }
  });

  it('is tried again for 3 s if no node of a cluster can be reached, because another one may answer', async () => {
    const { waited } = await waits(gone, true);
    expect(waited).to.be.within(2_700, 3_000);
  });

  it('is tried again for 3 s if a single server was starting, and then can’t be reached', async () => {
    const closed = new UnavailableError(undefined, 'Channel closed before call started');
    for (const error of [closed, gone])
      expect((await waits(error, false, true)).waited).to.be.within(2_700, 3_000);
  });

  it('is tried once more at once if there is one server, and it is gone', async () => {
    expect(await waits(gone, false)).to.deep.equal({ pauses: [0], waited: 0 });
  });

  it('is not tried again if the server was silent or refused it', async () => {
    for (const error of [new Error('no response within 3000 ms'), new Error('no')])
      expect(await waits(error, true)).to.deep.equal({ pauses: [], waited: 0 });
  });
});

describe('an EventStoreDB that is away', () => {
  it('refuses at once what is asked of it, if it is one server', () =>
    withRig(async ({ server, store }) => {
      await store.append([first('A', 'a')]);
      server.down();
      for (const ask of [
        () => store.head(),
        () => store.readStream(card('A'), 0),
        () => store.append([first('B', 'b')]),
      ])
        await isRefused(ask());
      await server.up();
      await eventually(async () => kinds(await store.append([first('C', 'c')]))[0] === 'appended');
      expect(names(await store.readLog(0n, 10))).to.deep.equal(['a', 'c']);
    }, patient));

  it('costs nobody an error, if it is a cluster that has a leader again soon', async () => {
    const server = await EventStoreDbStandIn.start(clock);
    const url = `esdb://127.0.0.1:1,127.0.0.1:${server.port}?tls=false&maxDiscoverAttempts=2&discoveryInterval=1`;
    const errors: unknown[] = [];
    const onError = (error: unknown): void => void errors.push(error);
    const store = new EventStoreDbEventStore({ url, clock, entropy, times: patient, onError });
    try {
      await store.append([first('A', 'a')]);
      server.down();
      const asked = [
        store.append([first('B', 'b')]).then(kinds),
        store.append([first('C', 'c')]).then(kinds),
        store.readStream(card('A'), 0).then(names),
      ];
      await eventually(() => errors.length >= 6);
      await server.up();
      expect(await Promise.all(asked)).to.deep.equal([['appended'], ['appended'], ['a']]);
      expect(names(await store.readLog(0n, 10))).to.have.members(['a', 'b', 'c']);
    } finally {
      await store.close();
      server.down();
    }
  });

  it('costs nobody an error while it starts', () =>
    withRig(async ({ server, store, errors }) => {
      server.isStarting = true;
      const codes = Array.from({ length: 16 }, (_, number) => `A${number}`);
      const asked = Promise.allSettled(
        codes.flatMap((code) => [store.append([first(code, code)]).then(kinds), store.head()]),
      );
      await eventually(() => errors.length >= 4 * codes.length);
      server.isStarting = false;
      const failed = (await asked).flatMap((one) => (one.status === 'rejected' ? [String(one.reason)] : []));
      expect(failed).to.deep.equal([]);
      expect(names(await store.readLog(0n, 100))).to.have.members(codes);
    }, patient));

  it('gets no append while it hangs: what was not sent is refused, and what was is unknown', async () => {
    const server = await EventStoreDbStandIn.start(clock);
    const proxy = await Proxy.before(`tcp://127.0.0.1:${server.port}`, 0);
    const times = { ...patient, append: 500, read: 500, settle: 1_000 };
    const store = new EventStoreDbEventStore({
      url: `esdb://127.0.0.1:${proxy.port}?tls=false`,
      clock,
      entropy,
      times,
    });
    try {
      await eventually(async () => kinds(await store.append([first('A', 'a')]))[0] === 'appended');
      await proxy.set('stalled');
      expect(kinds(await store.append([first('B', 'b')]))).to.deep.equal(['unknown']);
      for (const code of ['C', 'D']) await isRefused(store.append([first(code, code)]));
      await proxy.set('up');
      await eventually(async () => kinds(await store.append([first('E', 'e')]))[0] === 'appended');
      const found = names(await store.readLog(0n, 10));
      expect(found.filter((name) => name !== 'b')).to.deep.equal(['a', 'e']);
    } finally {
      await store.close();
      await proxy.close();
      server.down();
    }
  });
});
