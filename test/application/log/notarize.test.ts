import { expect } from 'chai';
import fc from 'fast-check';
import { notarizeNow, rebuildTree, runNotary, type Notarizing } from '../../../application/log/notarize.js';
import { scrubNow } from '../../support/fixtures/scrub-now.js';
import type { Checkpoint, Leaf, LogTiles } from '../../../application/ports/log-tiles.js';
import type { StoredEvent } from '../../../application/ports/raw-log.js';
import { DamagedLog } from '../../../application/log/damaged-log.js';
import { leafOf } from '../../../application/log/checked-leaves.js';
import { RefusedByWitnesses } from '../../../application/log/witnesses.js';
import { UnusableHead } from '../../../application/ports/signed-heads.js';
import { emptyFrontier, grow, rootOf, tileWidth } from '../../../domain/merkle.js';
import { entryHash } from '../../../domain/log-entry.js';
import { messageOf } from '../../../domain/errors.js';
import type { OrganizationId, StreamName } from '../../../domain/ids.js';
import {
  rechained,
  seventyHappenings,
  storedLog,
  type Happening,
} from '../../support/fixtures/stored-log.js';
import { MemoryLogTiles } from '../../support/memory/log-tiles.js';
import { MemoryRawLog } from '../../support/memory/raw-log.js';
import { MemorySignedHeads } from '../../support/memory/signed-heads.js';
import { standingClock } from '../../support/time/standing-clock.js';
import { macs } from '../../support/fixtures/seal-events.js';

const clock = standingClock(Date.parse('2026-03-02T12:00:00.000Z'));
const events = storedLog(seventyHappenings(), (index) => BigInt(index * 100 + 700));

const notarizing = (log: MemoryRawLog, tiles: LogTiles, more: Partial<Notarizing> = {}): Notarizing => ({
  log,
  tiles,
  macs,
  clock,
  sign: ({ size, root }) => `${size} ${root.toString('base64')}`,
  scrubEvery: 86_400_000,
  restoreHint: 'the log',
  ...more,
});

/** The root over the first events of a log, by the definition of the entry. */
const rootAt = (size: number): string => {
  const known = roots.get(size) ?? computedRoot(size);
  roots.set(size, known);
  return known;
};
const roots = new Map<number, string>();

const computedRoot = (size: number, of: readonly StoredEvent[] = events): string => {
  const counts = new Map<OrganizationId | null, number>();
  const leaves = of.slice(0, size).map(({ stream, revision, metadata }) => {
    const { org, hash }: { readonly org: OrganizationId | null; readonly hash: string } =
      JSON.parse(metadata);
    const orgSeq = counts.get(org) ?? 0;
    counts.set(org, orgSeq + 1);
    return entryHash({ stream, revision, hash, org, orgSeq });
  });
  return rootOf(grow(emptyFrontier, leaves).frontier).toString('hex');
};

const repeated = (times: number): Happening[] => Array.from({ length: times }, seventyHappenings).flat();
/** Of an organization that has nothing in other tests. */
const ofSmall = repeated(19).map((happening) => ({
  ...happening,
  org: happening.org && ('small' as OrganizationId),
}));

describe('a scrub whose tiles go in the middle', () => {
  it('says nothing about damage: the tiles are made again from the events, and compared', async () => {
    const all = storedLog(repeated(20));
    const log = new MemoryRawLog(all);
    const tiles = new MemoryLogTiles();
    await notarizeNow(notarizing(log, tiles));
    const restored = new MemoryLogTiles();
    const gone: LogTiles = new Proxy(tiles, {
      get: (_, name) => {
        const place = read > 0 ? restored : tiles;
        const found: unknown = Reflect.get(place, name, place);
        return typeof found === 'function' ? found.bind(place) : found;
      },
    });
    let read = 0;
    const readStored = log.readStored.bind(log);
    log.readStored = (after, limit) => {
      if (after > 0n) read += 1;
      return readStored(after, limit);
    };
    const error = await scrubNow(notarizing(log, gone)).catch((failure: unknown) => failure);
    expect(error)
      .to.be.instanceOf(Error)
      .with.property('message', 'the tree has become smaller: it will be compared with the log again');
    expect(await restored.damage()).to.equal(null);
    expect(await notarizeNow(notarizing(log, gone))).to.equal(all.length);
    expect(await scrubNow(notarizing(log, gone))).to.equal(all.length);
  });
});

const damageOf = async (work: Promise<unknown>): Promise<unknown> =>
  work.then(
    () => null,
    (error: unknown) => error,
  );

/** Tiles of which one is lost, until they are made again. */
class LossyTiles extends MemoryLogTiles {
  lost: number | null = null;

  override async hashes(level: number, from: number, count: number): Promise<Buffer> {
    const [first, last] = [from, from + count - 1].map((index) => Math.floor(index / tileWidth));
    const isLost = level === 0 && this.lost !== null && this.lost >= (first ?? 0) && this.lost <= (last ?? 0);
    return isLost ? Buffer.alloc(0) : super.hashes(level, from, count);
  }

  override async leaves(tile: number) {
    return tile === this.lost ? null : super.leaves(tile);
  }

  override async reset(): Promise<void> {
    this.lost = null;
    await super.reset();
  }
}

describe('the notary', () => {
  it('makes each event a leaf, in order, and signs the root of what it has made', async () => {
    const log = new MemoryRawLog(events.slice(0, 31));
    const tiles = new MemoryLogTiles();
    const signed: Checkpoint[] = [];
    const deps = notarizing(log, tiles, { onCheckpoint: (checkpoint) => signed.push(checkpoint) });
    expect(await notarizeNow(deps)).to.equal(31);
    log.events = events;
    expect(await notarizeNow(deps)).to.equal(70);
    expect(await notarizeNow(deps)).to.equal(70);
    expect(signed.map(({ size, root, note }) => ({ size, root: root.toString('hex'), note }))).to.deep.equal(
      [31, 70].map((size) => ({
        size,
        root: rootAt(size),
        note: `${size} ${Buffer.from(rootAt(size), 'hex').toString('base64')}`,
      })),
    );
    expect(await tiles.newest()).to.have.property('size', 70);
  });

  it('reads everything back after the start and then at its interval, signs what comes meanwhile, and stops', async () => {
    const log = new MemoryRawLog(events.slice(0, 60));
    const tiles = new MemoryLogTiles();
    const stop = new AbortController();
    const seen: string[] = [];
    await runNotary(
      notarizing(log, tiles, {
        scrubEvery: 5_000,
        onCheckpoint: ({ size }) => seen.push(`signed ${size}`),
        onScrubbed: (count) => {
          seen.push(`read back ${count}`);
          if (log.events.length === 60) log.events = events;
          else if (seen.filter((line) => line.startsWith('read')).length === 3) stop.abort();
        },
      }),
      stop.signal,
    );
    expect(seen).to.deep.equal(['signed 60', 'read back 60', 'signed 70', 'read back 70', 'read back 70']);
  });

  it('reads everything back although the log grows with every look at it', async () => {
    class GrowingLog extends MemoryRawLog {
      override async readStored(after: bigint, limit: number): Promise<readonly StoredEvent[]> {
        this.events = events.slice(0, this.events.length + 1);
        return super.readStored(after, limit);
      }
    }
    const stop = new AbortController();
    let readBack = 0;
    const onScrubbed = (count: number): void => {
      readBack = count;
      stop.abort();
    };
    const log = new GrowingLog(events.slice(0, 20));
    await runNotary(notarizing(log, new MemoryLogTiles(), { onScrubbed }), stop.signal);
    expect(readBack).to.be.within(20, events.length - 1);
  });

  it('gathers events for a while as long as they come, and looks less often when none do', async () => {
    const log = new MemoryRawLog(events.slice(0, 20));
    const stop = new AbortController();
    const rests: number[] = [];
    const sleep = async (time: number): Promise<void> => {
      rests.push(time);
      await clock.sleep(time);
      if (rests.length < 4) log.events = events.slice(0, 20 + rests.length);
      else if (rests.length === 6) stop.abort();
    };
    await runNotary(notarizing(log, new MemoryLogTiles(), { clock: { ...clock, sleep } }), stop.signal);
    expect(rests).to.deep.equal([250, 250, 250, 250, 500, 500]);
  });

  it('does not sign while the log is known to be damaged, until everything was read back', async () => {
    const log = new MemoryRawLog(events);
    const tiles = new MemoryLogTiles();
    await tiles.reportDamage({ position: 7n, reason: 'changed' });
    await notarizeNow(notarizing(log, tiles));
    expect(await tiles.newest()).to.equal(null);
    const stop = new AbortController();
    await runNotary(notarizing(log, tiles, { onCheckpoint: () => stop.abort() }), stop.signal);
    expect(await tiles.damage()).to.equal(null);
    expect(await tiles.newest()).to.have.property('size', 70);
  });

  it('numbers events on from the last signed leaf of their organization, and looks no further back', async () => {
    const ofNew = repeated(2).map((happening) => ({
      ...happening,
      stream: `${happening.stream}-new` as StreamName,
      org: happening.org && (`${happening.org}-new` as OrganizationId),
    }));
    const [old, created] = [repeated(2), ofNew].map((more) => storedLog([...ofSmall, ...more]));
    for (const [all = [], size, tilesRead] of [
      [old, 1_380, [5]],
      [old, 1_330, [5, 4, 3, 2, 1, 0]],
      [created, 1_330, [5, 4]],
    ] as const) {
      const log = new MemoryRawLog(all.slice(0, size));
      const tiles = new MemoryLogTiles();
      await notarizeNow(notarizing(log, tiles));
      log.events = all;
      const leaves = tiles.leaves.bind(tiles);
      const read = new Set<number>();
      tiles.leaves = (n) => {
        read.add(n);
        return leaves(n);
      };
      await notarizeNow(notarizing(log, tiles));
      expect([...read]).to.deep.equal(tilesRead);
      expect((await tiles.newest())?.root.toString('hex')).to.equal(computedRoot(all.length, all));
    }
  });

  it('goes on where it was when it failed while it looked back', async () => {
    const all = storedLog([...ofSmall, ...repeated(1)]);
    const log = new MemoryRawLog(all.slice(0, ofSmall.length));
    const tiles = new MemoryLogTiles();
    await notarizeNow(notarizing(log, tiles));
    log.events = all;
    const leaves = tiles.leaves.bind(tiles);
    const runs: Set<unknown>[] = [];
    tiles.leaves = (n) => {
      runs.at(-1)?.add(n);
      return leaves(n);
    };
    const lookedBack = { last: null };
    let rests = 0;
    const rest = async (): Promise<void> => {
      rests += 1;
      if (rests % 2 === 0) throw new Error('away');
    };
    let ended: unknown = 'not yet';
    while (typeof ended === 'string') {
      runs.push(new Set());
      ended = await notarizeNow(notarizing(log, tiles, { lookedBack, rest })).catch(messageOf);
      runs.at(-1)?.add(ended);
    }
    expect(runs.map((read) => [...read])).to.deep.equal([
      [5, 4, 'away'],
      [5, 3, 2, 'away'],
      [5, 1, 0, 'away'],
      [5, all.length],
    ]);
    expect((await tiles.newest())?.root.toString('hex')).to.equal(computedRoot(all.length, all));
  });

  it('stops while it looks back, and signs none of what is new', async () => {
    const all = storedLog([...ofSmall, ...seventyHappenings()]);
    const tiles = new MemoryLogTiles();
    await notarizeNow(notarizing(new MemoryRawLog(all.slice(0, ofSmall.length)), tiles));
    const stop = new AbortController();
    const rest = async (): Promise<void> => stop.abort();
    await runNotary(notarizing(new MemoryRawLog(all), tiles, { rest }), stop.signal);
    expect([(await tiles.tree()).size, (await tiles.newest())?.size]).to.deep.equal([
      ofSmall.length,
      ofSmall.length,
    ]);
  });

  it('takes the counts of a scrub for organizations that have nothing new since it began', async () => {
    const all = storedLog(repeated(20));
    const log = new MemoryRawLog(all.slice(0, 1_300));
    const tiles = new MemoryLogTiles();
    await notarizeNow(notarizing(log, tiles));
    const stop = new AbortController();
    const readStored = log.readStored.bind(log);
    log.readStored = async (after, limit) => {
      const found = await readStored(after, limit);
      // The scrub has begun, so that it does not count those that come now.
      if (after === 0n && log.events.length < 1_310) log.events = all.slice(0, 1_310);
      return found;
    };
    const onScrubbed = (): void => void (log.events = all);
    const onCheckpoint = ({ size }: Checkpoint): void => {
      if (size === all.length) stop.abort();
    };
    await runNotary(notarizing(log, tiles, { onScrubbed, onCheckpoint }), stop.signal);
    expect((await tiles.newest())?.root.toString('hex')).to.equal(computedRoot(all.length, all));
  });

  it('signs nothing where the number of an earlier leaf was changed, its hash, or both', async () => {
    const all = storedLog([...ofSmall, ...seventyHappenings()]);
    const changed = 700;
    const renumber = (tiles: MemoryLogTiles): void =>
      void (tiles.leafList = tiles.leafList.map((leaf, at) =>
        at === changed ? { ...leaf, orgSeq: 7 } : leaf,
      ));
    const rehash = (tiles: MemoryLogTiles): void => {
      const event = all[changed];
      tiles.levels[0]?.splice(changed, 1, (event && leafOf(event, 7)) ?? Buffer.alloc(32));
    };
    for (const changes of [[renumber], [rehash], [renumber, rehash]]) {
      const tiles = new MemoryLogTiles();
      await notarizeNow(notarizing(new MemoryRawLog(all.slice(0, ofSmall.length)), tiles));
      for (const change of changes) change(tiles);
      const error = await damageOf(notarizeNow(notarizing(new MemoryRawLog(all), tiles)));
      expect(error).to.have.property('name', 'DamagedLog');
      expect(tiles.checkpoints.map(({ size }) => size)).to.deep.equal([ofSmall.length]);
    }
  });

  it('finds a change of an old event while it runs, and signs nothing more', async () => {
    const log = new MemoryRawLog([...events]);
    const tiles = new MemoryLogTiles();
    let passes = 0;
    const error = await damageOf(
      runNotary(
        notarizing(log, tiles, {
          scrubEvery: 5_000,
          onScrubbed: () => {
            passes += 1;
            log.events = log.events.map((event, index) =>
              index === 12 ? { ...event, data: event.data.replace('Scheduled', 'Queued') + ' ' } : event,
            );
          },
        }),
        new AbortController().signal,
      ),
    );
    expect(passes).to.equal(1);
    expect(error).to.include({ name: 'DamagedLog', position: events[12]?.position });
    expect(await tiles.damage()).to.have.property('position', events[12]?.position);
    expect(tiles.checkpoints.map(({ size }) => size)).to.deep.equal([70]);
  });

  it('makes lost tiles again, and signs only once it has every root that was signed before', async () => {
    const log = new MemoryRawLog(events.slice(0, 50));
    const tiles = new MemoryLogTiles();
    await notarizeNow(notarizing(log, tiles));
    log.events = events;
    await tiles.reset();
    const sizes: number[] = [];
    await notarizeNow(notarizing(log, tiles, { onCheckpoint: ({ size }) => sizes.push(size) }));
    expect(sizes).to.deep.equal([70]);
    expect(rootOf(await tiles.tree()).toString('hex')).to.equal(rootAt(70));
  });

  it('makes tiles again of which any is lost, and takes none for damage', async () => {
    const all = storedLog(repeated(12));
    for (const lost of [0, 1, 2, 3]) {
      const log = new MemoryRawLog(all.slice(0, 300));
      const tiles = new LossyTiles();
      await notarizeNow(notarizing(log, tiles));
      clock.set(clock.now() + 7_200_000);
      log.events = all;
      await notarizeNow(notarizing(log, tiles));
      tiles.lost = lost;
      const stop = new AbortController();
      const deps = notarizing(log, tiles, { onScrubbed: () => stop.abort() });
      let tries = 0;
      for (; !stop.signal.aborted; tries += 1)
        expect(await damageOf(runNotary(deps, stop.signal))).to.not.be.instanceOf(DamagedLog);
      expect([tiles.lost, await tiles.damage()]).to.deep.equal([null, null]);
      expect(tries, `${lost}`).to.be.below(3);
      expect(rootOf(await tiles.tree()).toString('hex')).to.equal(computedRoot(all.length, all));
    }
  });

  it('signs nothing that contradicts a checkpoint, whatever was lost or removed with the change', async () => {
    const changes: readonly ((all: readonly StoredEvent[]) => StoredEvent[])[] = [
      (all) => rechained(all.map((event) => ({ ...event, data: event.data.replace('50', '5000') }))),
      (all) => all.slice(0, 69),
    ];
    for (const change of changes)
      for (const lost of ['nothing', 'tiles', 'a rebuild'] as const) {
        const log = new MemoryRawLog([...events]);
        const tiles = new MemoryLogTiles();
        await notarizeNow(notarizing(log, tiles));
        log.events = change(events);
        if (lost !== 'nothing') await tiles.reset();
        const signed: number[] = [];
        const deps = notarizing(log, tiles, { onCheckpoint: ({ size }) => signed.push(size) });
        const stop = new AbortController();
        const error = await damageOf(
          lost === 'a rebuild' ? rebuildTree(deps, () => undefined) : runNotary(deps, stop.signal),
        );
        expect(error, lost).to.include({ name: 'DamagedLog' });
        expect(signed).to.deep.equal([]);
        expect(await tiles.damage()).not.to.equal(null);
        expect(tiles.checkpoints.map(({ size, root }) => [size, root.toString('hex')])).to.deep.equal([
          [70, rootAt(70)],
        ]);
      }
  });

  it('names the first event after the last checkpoint that is still right, if only its root can tell', async () => {
    const log = new MemoryRawLog(events.slice(0, 20));
    const tiles = new MemoryLogTiles();
    await notarizeNow(notarizing(log, tiles));
    clock.set(clock.now() + 7_200_000);
    log.events = events;
    await notarizeNow(notarizing(log, tiles));
    log.events = rechained(
      events.map((event, index) => (index === 30 ? { ...event, data: '{"other":1}' } : event)),
    );
    const error = await damageOf(rebuildTree(notarizing(log, tiles), () => undefined));
    expect(error).to.include({ name: 'DamagedLog', position: events[20]?.position });
    expect(error).to.have.property('message').that.includes('those up to 20 do');
  });
});

/** What is done outside the tiles, in order. */
const watched = (tiles: MemoryLogTiles) => {
  const seen: string[] = [];
  const heads = new MemorySignedHeads();
  const keepHead = heads.keep.bind(heads);
  heads.keep = async (note) => {
    await keepHead(note);
    seen.push(`head ${note.split(' ')[0]}`);
  };
  const keep = tiles.keep.bind(tiles);
  tiles.keep = async (checkpoint) => {
    await keep(checkpoint);
    seen.push(`published ${checkpoint.note.replace(/ [^ ]+/, '')}`);
  };
  const more: Partial<Notarizing> = {
    heads,
    witnesses: {
      areDue: () => false,
      bring: async ({ size, note }) => {
        seen.push(`witnesses ${size}`);
        return `${note} and theirs`;
      },
    },
    anchor: async ({ size }, hour) => void seen.push(`anchor ${size} ${hour}`),
  };
  return { seen, heads, more };
};

describe('a head that the notary has signed', () => {
  it('is kept where the store is not before witnesses see it, and they sign before anybody is shown it', async () => {
    const tiles = new MemoryLogTiles();
    const log = new MemoryRawLog([]);
    const { seen, more } = watched(tiles);
    const stop = new AbortController();
    const onCheckpoint = ({ size }: Checkpoint): void => {
      if (size === 70) stop.abort();
      else log.events = events;
    };
    await notarizeNow(notarizing(log, tiles, more));
    log.events = events.slice(0, 20);
    await runNotary(notarizing(log, tiles, { ...more, onCheckpoint }), stop.signal);
    const hour = clock.instant().slice(0, 13);
    expect(seen).to.deep.equal([
      'head 0', 'head 20', 'witnesses 20', 'published 20 and theirs', `anchor 20 ${hour}`,
      'head 70', 'witnesses 70', 'published 70 and theirs',
    ]); // prettier-ignore
  });

  it('is brought to anchors once an hour, and to the witnesses that could not be asked, while nothing happens', async () => {
    const tiles = new MemoryLogTiles();
    const { seen, more } = watched(tiles);
    await notarizeNow(notarizing(new MemoryRawLog([]), tiles, more));
    const later = standingClock(clock.now());
    const stop = new AbortController();
    let isDue = true;
    const witnesses: Notarizing['witnesses'] = {
      areDue: () => isDue,
      bring: async ({ note }) => {
        if (seen.filter((line) => line.startsWith('published')).length > 0) isDue = false;
        return seen.includes('witnesses again') ? `${note} and theirs` : (seen.push('witnesses again'), note);
      },
    };
    let looks = 0;
    const sleep = async (): Promise<void> => {
      looks += 1;
      if (looks === 4) later.set(later.now() + 3_600_000);
      if (looks === 6) stop.abort();
    };
    await runNotary(
      notarizing(new MemoryRawLog(events), tiles, {
        ...more,
        witnesses,
        clock: { ...later, sleep },
      }),
      stop.signal,
    );
    const [first, second] = [clock.now(), clock.now() + 3_600_000].map((time) =>
      new Date(time).toISOString().slice(0, 13),
    );
    expect(seen).to.deep.equal([
      'head 0', 'head 70', 'witnesses again', 'published 70', 'published 70 and theirs',
      `anchor 70 ${first}`, `anchor 70 ${second}`,
    ]); // prettier-ignore
  });

  it('is brought to an anchor that could not be written once a minute', async () => {
    const stop = new AbortController();
    const timed = standingClock(0);
    const tries: number[] = [];
    const sleep = async (time: number): Promise<void> => {
      await timed.sleep(time);
      if (timed.monotonic() > 150_000) stop.abort();
    };
    const deps = notarizing(new MemoryRawLog(events), new MemoryLogTiles(), {
      clock: { ...timed, sleep },
      anchor: () => Promise.reject(new Error('the disk is full')),
      onError: () => tries.push(Math.floor(timed.monotonic() / 60_000)),
    });
    await runNotary(deps, stop.signal);
    expect(tries).to.deep.equal([0, 1, 2]);
  });

  it('is published by nobody if so many witnesses refuse it that the quorum is impossible: the log counts as damaged', async () => {
    const tiles = new MemoryLogTiles();
    const { heads, more } = watched(tiles);
    await notarizeNow(notarizing(new MemoryRawLog([]), tiles, more));
    const anchors: number[] = [];
    const deps = notarizing(new MemoryRawLog(events), tiles, {
      ...more,
      witnesses: {
        areDue: () => true,
        bring: () => Promise.reject(new RefusedByWitnesses('w1 has signed another tree of 20 events')),
      },
      anchor: async ({ size }) => void anchors.push(size),
    });
    for (let start = 0; start < 2; start += 1) {
      const error = await damageOf(runNotary(deps, new AbortController().signal));
      expect(error).to.include({ name: 'DamagedLog' });
      expect(error).to.have.property('message').that.includes('w1 has signed another tree of 20 events');
      expect((await tiles.damage())?.reason).to.include('w1 has signed another tree');
      expect([tiles.checkpoints, anchors]).to.deep.equal([[], []]);
      expect((await heads.last())?.size).to.equal(70);
    }
  });

  it('must be the beginning of what is signed next, and of what is read back, although tree and checkpoints say otherwise', async () => {
    const changed = rechained(events.map((event) => ({ ...event, data: event.data.replace('50', '5000') })));
    for (const [what, all] of [
      ['changed', changed],
      ['shorter', events.slice(0, 60)],
    ] as const) {
      const heads = new MemorySignedHeads();
      await notarizeNow(notarizing(new MemoryRawLog([]), new MemoryLogTiles(), { heads }));
      await notarizeNow(notarizing(new MemoryRawLog(events.slice(0, 65)), new MemoryLogTiles(), { heads }));
      const signed = heads.note;
      const tiles = new MemoryLogTiles();
      await notarizeNow(notarizing(new MemoryRawLog([...all]), tiles));
      const before = tiles.checkpoints;
      const deps = notarizing(new MemoryRawLog([...all]), tiles, { heads });
      for (const work of [notarizeNow, scrubNow])
        expect(await damageOf(work(deps)), what).to.include({ name: 'DamagedLog' });
      expect([tiles.checkpoints, heads.note]).to.deep.equal([before, signed]);
    }
  });

  it('is missed where it has gone: nothing is signed, whether there is a tree or none', async () => {
    const tiles = new MemoryLogTiles();
    const lost = new MemorySignedHeads();
    for (const [expected, log] of [
      ['the log holds events', events.slice(0, 20)],
      ['a checkpoint of 20 events is kept', events],
    ] as const) {
      const error = await damageOf(
        notarizeNow(notarizing(new MemoryRawLog([...log]), tiles, { heads: lost })),
      );
      expect(error).to.be.instanceOf(UnusableHead).with.property('message').that.includes(expected);
      expect(lost.note).to.equal(null);
      if (tiles.checkpoints.length === 0) await notarizeNow(notarizing(new MemoryRawLog([...log]), tiles));
    }
    expect(tiles.checkpoints.map(({ size }) => size)).to.deep.equal([20]);
  });

  it('is found out to be missing from stores that were swapped for older ones while the notary ran, before anything else happens', async () => {
    const [tiles, heads, log] = [new MemoryLogTiles(), new MemorySignedHeads(), new MemoryRawLog([])];
    await notarizeNow(notarizing(log, tiles, { heads }));
    log.events = events.slice(0, 20);
    await notarizeNow(notarizing(log, tiles, { heads }));
    const yesterday = { checkpoints: tiles.checkpoints, leaves: [...tiles.leafList] };
    const swap = async (): Promise<void> => {
      log.events = events.slice(0, 20);
      await tiles.reset();
      await tiles.extend(0, yesterday.leaves, events[19]?.position ?? 0n, 9);
      tiles.checkpoints = yesterday.checkpoints;
    };
    log.events = events;
    const deps = notarizing(log, tiles, { heads, onScrubbed: () => void swap() });
    const first = await damageOf(runNotary(deps, new AbortController().signal));
    expect(String(first)).to.include('the tree has become smaller');
    expect(await damageOf(runNotary(deps, new AbortController().signal))).to.include({ name: 'DamagedLog' });
    expect(tiles.checkpoints).to.deep.equal(yesterday.checkpoints);
  });

  it('is missed while the notary runs, too', async () => {
    const [tiles, heads] = [new MemoryLogTiles(), new MemorySignedHeads()];
    const log = new MemoryRawLog([]);
    await notarizeNow(notarizing(log, tiles, { heads }));
    log.events = events.slice(0, 20);
    const onCheckpoint = (): void => {
      heads.note = null;
      log.events = events;
    };
    const deps = notarizing(log, tiles, { heads, onCheckpoint });
    expect(await damageOf(runNotary(deps, new AbortController().signal))).to.be.instanceOf(UnusableHead);
    expect(tiles.checkpoints.map(({ size }) => size)).to.deep.equal([20]);
  });
});

/** Tiles that fail: before or after a write, as a process that dies or an answer that is lost. */
class Crash extends Error {}

const failing = (tiles: LogTiles, fails: () => 'before' | 'after' | null): LogTiles => {
  const broken =
    <Args extends readonly unknown[], Result>(write: (...args: Args) => Promise<Result>) =>
    async (...args: Args): Promise<Result> => {
      const when = fails();
      if (when === 'before') throw new Crash();
      const result = await write(...args);
      if (when === 'after') throw new Crash();
      return result;
    };
  return {
    tree: () => tiles.tree(),
    hashes: (level, from, count) => tiles.hashes(level, from, count),
    leaves: (tile) => tiles.leaves(tile),
    tileOf: (position) => tiles.tileOf(position),
    newest: () => tiles.newest(),
    kept: () => tiles.kept(),
    damage: () => tiles.damage(),
    reportDamage: (damage) => tiles.reportDamage(damage),
    reset: () => tiles.reset(),
    extend: broken((from: number, leaves: readonly Leaf[], to: bigint, epoch: number) =>
      tiles.extend(from, leaves, to, epoch),
    ),
    keep: broken((checkpoint: Checkpoint) => tiles.keep(checkpoint)),
  };
};

describe('several notaries that die, lose answers and overlap', () => {
  it('sign one root for each size, each the root of its prefix, and sizes that only grow for each of them', () =>
    fc.assert(
      fc.asyncProperty(
        fc.array(fc.constantFrom('before', 'after', null, null, null), { minLength: 40, maxLength: 40 }),
        fc.array(fc.integer({ min: 1, max: 20 }), { minLength: 8, maxLength: 8 }),
        async (failures, arrivals) => {
          const log = new MemoryRawLog([]);
          const tiles = new MemoryLogTiles();
          const heads = new MemorySignedHeads();
          const signed = new Map<number, string>();
          await notarizeNow(notarizing(log, tiles, { heads }));
          let writes = 0;
          const fails = () => failures[(writes += 1) % failures.length] ?? null;
          for (const count of arrivals) {
            log.events = events.slice(0, log.events.length + count);
            const runs = [0, 1].map(() => {
              const sizes: number[] = [];
              const deps = notarizing(log, failing(tiles, fails), {
                heads,
                sign: ({ size, root }) => {
                  if (size === 0) return `0 ${root.toString('base64')}`;
                  const text = root.toString('hex');
                  expect(text).to.equal(rootAt(size));
                  expect(signed.get(size) ?? text).to.equal(text);
                  signed.set(size, text);
                  expect(size).to.be.greaterThan(sizes.at(-1) ?? -1);
                  sizes.push(size);
                  return `${size} ${root.toString('base64')}`;
                },
              });
              return damageOf(notarizeNow(deps));
            });
            for (const error of await Promise.all(runs))
              if (error !== null && !(error instanceof Crash))
                expect(error).to.have.property('message', 'another notary has taken over');
          }
          await notarizeNow(notarizing(log, tiles, { heads }));
          expect((await heads.last())?.size).to.equal(log.events.length);
          expect(rootOf(await tiles.tree()).toString('hex')).to.equal(rootAt(log.events.length));
          expect(await tiles.newest()).to.have.property('size', log.events.length);
        },
      ),
      { numRuns: 10 },
    ));
});
