import { expect } from 'chai';
import { EventStoreDbEventStore } from '../../../adapters/eventstoredb/event-store.js';
import { joinTexts } from '../../../adapters/eventstoredb/events.js';
import { mongoLogTiles } from '../../../adapters/mongodb/records/log-tiles.js';
import { SystemEntropy } from '../../../adapters/system/entropy.js';
import { assertUndamaged } from '../../../application/log/damaged-log.js';
import { notarizeNow, runNotary, type Notarizing } from '../../../application/log/notarize.js';
import { scrubNow } from '../../support/fixtures/scrub-now.js';
import type { LogTiles } from '../../../application/ports/log-tiles.js';
import type { StoredEvent } from '../../../application/ports/raw-log.js';
import { FinalError } from '../../../domain/errors.js';
import { EventStoreDbStandIn } from '../../engines/eventstoredb-stand-in.js';
import { logFile } from '../../support/fixtures/log-file.js';
import { manipulations, sealedManipulations } from '../../support/fixtures/manipulations.js';
import { addLeaves, minted } from '../../support/fixtures/minted.js';
import { recordOf } from '../../support/fixtures/records.js';
import { sealed, seventyHappenings, storedLog } from '../../support/fixtures/stored-log.js';
import { MemoryLogTiles } from '../../support/memory/log-tiles.js';
import { describeWithEngines } from '../../support/runner/engines.js';
import { freshDatabase } from '../mongodb/support.js';
import { inNewDirectory } from '../sqlite/setup.js';
import { standingClock } from '../../support/time/standing-clock.js';
import { clock, shortTimes, withRig } from './support.js';
import { macs } from '../../support/fixtures/seal-events.js';

const position = (index: number): bigint => BigInt(index * 1_000 + 5_000);
const events = storedLog(seventyHappenings(), position);

const notarizing = (log: Notarizing['log'], tiles: LogTiles): Notarizing => ({
  log,
  tiles,
  macs,
  clock,
  sign: ({ size, root }) => `${size} ${root.toString('base64')}`,
  scrubEvery: 86_400_000,
  restoreHint: 'the event store',
});

const errorOf = (work: Promise<unknown>): Promise<unknown> =>
  work.then(
    () => null,
    (error: unknown) => error,
  );

const underSeal = storedLog(seventyHappenings(), position, sealed);
const changes = [
  ...manipulations.map((each) => ({ ...each, events })),
  ...sealedManipulations.map((each) => ({ ...each, events: underSeal })),
];

interface Rig {
  readonly store: EventStoreDbEventStore;
  /** Puts these events in place of all. */
  readonly put: (all: readonly StoredEvent[]) => void;
}

/** One server for all tests of a suite. */
const withStandIn = (): Rig => {
  let server: EventStoreDbStandIn;
  let store: EventStoreDbEventStore;
  before(async () => {
    server = await EventStoreDbStandIn.start(clock);
    store = new EventStoreDbEventStore({
      url: server.url,
      clock,
      entropy: new SystemEntropy(),
      times: shortTimes,
    });
  });
  after(async () => {
    await store.close();
    server.down();
  });
  return {
    get store() {
      return store;
    },
    put: (all) => {
      const own = server.kept.filter(({ stream }) => stream.startsWith('$'));
      server.replace([...own.filter(({ commit }) => commit < 5_000n), ...all.map(recordOf)]);
    },
  };
};

/** Finds out with tiles of each kind. `fresh` makes empty ones. */
const isSeen = (fresh: () => LogTiles): void => {
  const rig = withStandIn();

  it('is not seen if there is none', async () => {
    for (const all of [events, underSeal]) {
      rig.put(all);
      const tiles = fresh();
      expect(await notarizeNow(notarizing(rig.store, tiles))).to.equal(70);
      expect(await scrubNow(notarizing(rig.store, tiles))).to.equal(70);
      expect((await tiles.kept()).map(({ size }) => size)).to.deep.equal([70]);
    }
  });

  it('is seen: an event that the service did not write, with a leaf in the tree', async () => {
    rig.put(events);
    const tiles = fresh();
    await notarizeNow(notarizing(rig.store, tiles));
    const all = [...events, minted(events, () => undefined).stored];
    rig.put(all);
    await addLeaves({ tiles }, all);
    const error = await errorOf(notarizeNow(notarizing(rig.store, tiles)));
    expect(error).to.include({ name: 'DamagedLog', position: all.at(-1)?.position });
    expect((await tiles.kept()).map(({ size }) => size)).to.deep.equal([70]);
  });

  for (const { number, what, seenAt, to, tree, copy, events: all } of changes)
    it(`is seen: ${number}, ${what}`, async () => {
      const changed = to(all);
      const signed = fresh();
      rig.put(all);
      await notarizeNow(notarizing(rig.store, signed));
      rig.put(changed);
      let tiles = signed;
      if (tree === 'set back' || copy === 'older') {
        tiles = fresh();
        await notarizeNow(notarizing(rig.store, tiles));
        if (copy !== 'older') for (const checkpoint of await signed.kept()) await tiles.keep(checkpoint);
      }
      const before = await tiles.kept();
      const deps = { ...notarizing(rig.store, tiles), knownElsewhere: () => signed.kept() };
      const error = await errorOf(notarizeNow(deps).then(() => scrubNow(deps)));
      expect(error).to.include({ name: 'DamagedLog' });
      expect(error).to.have.property('message').that.includes('Restore the event store');
      // A place that is empty now can't be told from one that always was: the next event is named.
      const next = changed.find((each) => each.position >= position(seenAt - 1))?.position;
      expect(error).to.have.property('position', next ?? changed.at(-1)?.position ?? 0n);
      expect(await tiles.kept()).to.deep.equal(before);
      expect(await errorOf(assertUndamaged(tiles))).to.have.property('code', 'log_damaged');
    });

  for (const { number, what, seenAt, to } of manipulations.filter(({ live }) => live))
    it(`is seen within one scrub while the notary runs, and at the next start: ${number}, ${what}`, async () => {
      const changed = to(underSeal);
      rig.put(underSeal);
      const tiles = fresh();
      const signed: number[] = [];
      let scrubs = 0;
      const stop = new AbortController();
      const deps = {
        ...notarizing(rig.store, tiles),
        clock: standingClock(0),
        scrubEvery: 5_000,
        onCheckpoint: ({ size }: { readonly size: number }) => void signed.push(size),
        onScrubbed: () => {
          scrubs += 1;
          if (scrubs === 1) rig.put(changed);
          else stop.abort();
        },
      };
      const running = await errorOf(runNotary(deps, stop.signal));
      const next = changed.find((each) => each.position >= position(seenAt - 1))?.position;
      const wanted = {
        name: 'DamagedLog',
        position: next ?? changed.at(-1)?.position ?? 0n,
      };
      expect(running).to.include(wanted);
      expect([scrubs, signed]).to.deep.equal([1, [70]]);
      expect(await errorOf(notarizeNow(deps).then(() => scrubNow(deps)))).to.include(wanted);
      expect((await tiles.kept()).map(({ size }) => size)).to.deep.equal([70]);
      expect(await errorOf(assertUndamaged(tiles))).to.have.property('code', 'log_damaged');
    });
};

describe('a change behind the back of the service, in EventStoreDB,', () => {
  isSeen(() => new MemoryLogTiles());
});

describeWithEngines(
  ['MONGODB_URL'],
  'a change behind the back of the service, in EventStoreDB with tiles in MongoDB,',
  (url) => {
    const made: (() => Promise<void>)[] = [];
    afterEach(() => Promise.all(made.splice(0).map((end) => end())));
    isSeen(() => {
      const { database, end } = freshDatabase(url);
      made.push(end);
      return mongoLogTiles(database);
    });
  },
);

describe('the root of a log', () => {
  const rig = withStandIn();

  it('is the same in EventStoreDB as in events.db, for the same events', () =>
    inNewDirectory(async (directory) => {
      const file = logFile(directory);
      try {
        rig.put(underSeal);
        file.replace(underSeal.map((event, index) => ({ ...event, position: BigInt(index + 1) })));
        const tiles = new MemoryLogTiles();
        await notarizeNow(notarizing(rig.store, tiles));
        await notarizeNow(notarizing(file.log, file.tiles));
        const [inServer, inFile] = [await tiles.newest(), await file.tiles.newest()];
        expect(inServer).to.have.property('size', 70);
        expect(inFile?.note).to.equal(inServer?.note);
      } finally {
        file.close();
      }
    }));
});

describe('the notary of a log in EventStoreDB', () => {
  it('passes over events of the server, of other programs and of other deployments', () =>
    withRig(async ({ server, store }) => {
      const own = storedLog(seventyHappenings().slice(0, 3));
      for (const { stream, id, type, metadata, ...texts } of own) {
        const stored = { id, type, data: Buffer.from(joinTexts(texts)), metadata: Buffer.from(metadata) };
        server.plant(stream, stored);
        server.plant(`staging.${stream}`, { ...stored, id: id.replace(/^./u, 'f') });
        server.plant('invoice-1', { type: 'Paid', data: Buffer.from('{}') });
        server.noise(2);
      }
      const tiles = new MemoryLogTiles();
      expect(await notarizeNow(notarizing(store, tiles))).to.equal(3);
      expect(await notarizeNow(notarizing(store, tiles))).to.equal(3);
      expect(await scrubNow(notarizing(store, tiles))).to.equal(3);
    }));

  it('stops at an event that a newer version wrote in a category that it does not know, if all streams of ours have a prefix', () =>
    withRig(
      async ({ server, store }) => {
        const [first] = storedLog(seventyHappenings().slice(0, 1));
        if (first === undefined) throw new Error('there is an event');
        const { stream, id, type, metadata, ...texts } = first;
        server.plant(`cards.${stream}`, {
          id,
          type,
          data: Buffer.from(joinTexts(texts)),
          metadata: Buffer.from(metadata),
        });
        server.plant('cards.galaxy-1', {
          type: 'Born',
          data: Buffer.from('{}'),
          metadata: Buffer.from(metadata),
        });
        const tiles = new MemoryLogTiles();
        const error = await errorOf(notarizeNow(notarizing(store, tiles)));
        expect(error).to.be.instanceOf(FinalError);
        expect(error).to.have.property('message').that.includes('galaxy-1@0');
        expect(await tiles.tree()).to.have.property('size', 1);
        expect(await tiles.damage()).to.equal(null);
      },
      {},
      true,
      'cards.',
    ));

  it('takes a stream whose beginning or middle is gone for damage', () =>
    withRig(async ({ server, store }) => {
      for (const gone of [0, 2]) {
        const stream = events[5]?.stream;
        const left = events.filter((each) => each.stream !== stream || each.revision !== gone);
        server.replace(left.map(recordOf));
        const error = await errorOf(notarizeNow(notarizing(store, new MemoryLogTiles())));
        expect(error).to.include({ name: 'DamagedLog' });
        const next = left.find((each) => each.stream === stream && each.revision > gone);
        expect(error).to.have.property('position', next?.position);
      }
    }));
});
