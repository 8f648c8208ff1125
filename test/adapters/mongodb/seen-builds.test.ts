import { expect } from 'chai';
import type { BuildRow } from '../../../adapters/mongodb/builds.js';
import { MongoProjectionStore } from '../../../adapters/mongodb/projection-store.js';
import { ProjectorPulses } from '../../../adapters/mongodb/projector-pulses.js';
import { watchProjector } from '../../../adapters/mongodb/projector-watch.js';
import { MongoReadModels } from '../../../adapters/mongodb/read-models.js';
import { acknowledgedTo, SeenBuilds } from '../../../adapters/mongodb/seen-builds.js';
import { ProjectionBoard } from '../../../application/projecting/projection-board.js';
import { larger } from '../../../application/positions.js';
import { notes, storedNote } from '../../support/fixtures/notes.js';
import { VirtualClock } from '../../support/memory/clock.js';
import { SeededEntropy } from '../../support/memory/entropy.js';
import { describeWithEngines } from '../../support/runner/engines.js';
import { freshDatabase, paced } from './support.js';

const projection = { name: 'cards', version: 2 };

const row = (version: number, checkpoint: bigint, state: BuildRow['state']): BuildRow => ({
  _id: `cards/${version}`,
  name: 'cards',
  version,
  generation: version,
  checkpoint,
  epoch: 1,
  state,
  shape: '',
  retiredAt: null,
});

const later = 1_000;

describe('the builds that a process reads', () => {
  /** A process that looks at these rows. */
  const looking = () => {
    const clock = new VirtualClock();
    let rows: readonly BuildRow[] = [];
    const seen = new SeenBuilds({ read: () => Promise.resolve(rows), clock });
    return {
      clock,
      seen,
      look: async (...now: readonly BuildRow[]) => {
        rows = now;
        await seen.look();
        const reading = seen.reading(projection);
        return reading && { read: reading.row._id, acknowledged: acknowledgedTo(reading) };
      },
      set: (...now: readonly BuildRow[]) => void (rows = now),
      toRead: async () => (await seen.toRead(projection))?._id,
    };
  };

  it('are not left for a build that lacks what was acknowledged because of them', async () => {
    const { clock, look, toRead } = looking();
    await look(row(1, 100n, 'active'), row(2, 90n, 'building'));
    const switched = [row(1, 100n, 'active'), row(2, 99n, 'active')];
    expect(await look(...switched)).to.deep.equal({ read: 'cards/1', acknowledged: 99n });
    expect(await toRead()).to.equal('cards/1');
    await clock.advance(later);
    expect(await look(...switched)).to.deep.equal({ read: 'cards/1', acknowledged: 99n });
    expect(await toRead()).to.equal('cards/1');
    const passed = [row(1, 100n, 'active'), row(2, 100n, 'active')];
    expect(await look(...passed)).to.deep.equal({ read: 'cards/2', acknowledged: 100n });
    expect(await toRead()).to.equal('cards/2');
  });

  it('are not left for a build that lacks what a projector of the process has told', async () => {
    const { clock, seen, look } = looking();
    await look(row(1, 100n, 'active'));
    expect(seen.areRead([projection], new Map([['cards', 'cards/1']]))).to.equal(true);
    seen.told(105n);
    await look(row(1, 100n, 'active'), row(2, 104n, 'active'));
    expect(seen.areRead([projection], new Map([['cards', 'cards/1']]))).to.equal(false);
    await clock.advance(later);
    expect((await look(row(1, 100n, 'active'), row(2, 104n, 'active')))?.read).to.equal('cards/1');
    expect((await look(row(1, 100n, 'active'), row(2, 105n, 'active')))?.read).to.equal('cards/2');
    expect(seen.areRead([projection], new Map([['cards', 'cards/1']]))).to.equal(false);
    expect(seen.areRead([projection], new Map([['cards', 'cards/2']]))).to.equal(true);
  });

  it('are waited for, both of them, while other processes may still read the one before', async () => {
    const { clock, look } = looking();
    await look(row(1, 100n, 'active'), row(2, 90n, 'building'));
    const switched = [row(1, 100n, 'active'), row(2, 110n, 'active')];
    expect((await look(...switched))?.acknowledged).to.equal(100n);
    await clock.advance(later - 1);
    expect((await look(...switched))?.acknowledged).to.equal(100n);
    await clock.advance(1);
    expect(await look(...switched)).to.deep.equal({ read: 'cards/2', acknowledged: 110n });
  });

  it('are looked at anew by each read while one takes the place of the other', async () => {
    const { look, set, toRead } = looking();
    await look(row(1, 100n, 'active'), row(2, 90n, 'active'));
    await look(row(1, 100n, 'active'), row(2, 99n, 'active'), row(3, 0n, 'building'));
    const old = looking();
    await old.look(row(1, 100n, 'active'));
    await old.look(row(1, 100n, 'active'), row(2, 99n, 'active'));
    old.set(row(1, 100n, 'active'), row(2, 101n, 'active'));
    expect(await old.toRead()).to.equal('cards/2');
    old.set(row(1, 103n, 'active'), row(2, 102n, 'active'));
    expect(await old.toRead()).to.equal('cards/1');
    // Nothing takes its place: a look is good for a moment.
    set(row(1, 100n, 'active'), row(2, 99n, 'retired'));
    expect(await toRead()).to.equal('cards/2');
  });

  it('are left at once for the rebuilt one that has all of them, and never while it lacks something', async () => {
    const { look } = looking();
    const one = { ...row(2, 100n, 'active'), _id: 'cards/1', generation: 1 };
    await look(one);
    const retired = { ...one, state: 'retired' as const };
    expect(await look(retired, row(2, 99n, 'active'))).to.deep.equal({ read: 'cards/1', acknowledged: 99n });
    expect(await look(retired, row(2, 100n, 'active'))).to.deep.equal({
      read: 'cards/2',
      acknowledged: 100n,
    });
  });

  it('are those that there are, once the ones before were removed', async () => {
    const { look, seen, toRead } = looking();
    await look(row(1, 100n, 'active'));
    expect(await look(row(2, 3n, 'active'))).to.deep.equal({ read: 'cards/2', acknowledged: 3n });
    expect(await look()).to.equal(null);
    expect(await toRead()).to.equal(undefined);
    expect(seen.rows()).to.deep.equal([]);
  });

  /**
   * Two processes of the later version while the projectors of both versions go on, each at its own speed;
   * looks, saves and the switch take as long as they like. Counts reads of a build that lacked something that
   * was acknowledged before they began: by their own process, by any.
   */
  const upgrade = async (seed: number, slowestLook: number, slowestAnswer = slowestLook) => {
    const clock = new VirtualClock();
    const entropy = new SeededEntropy(seed);
    const upTo = (limit: number): number => entropy.below(limit);
    const rows = new Map([row(1, 0n, 'active'), row(2, 0n, 'building')].map((each) => [each._id, each]));
    const change = (id: string, to: Partial<BuildRow>): void => {
      const known = rows.get(id);
      if (known !== undefined) rows.set(id, { ...known, ...to });
    };
    let head = 0n;
    let isOver = false;
    const ownMissing: string[] = [];
    const otherMissing: string[] = [];
    const everybody = { acknowledged: 0n };

    const project = async (id: string, pause: number): Promise<void> => {
      while (!isOver) {
        const checkpoint = head;
        await clock.sleep(1 + upTo(pause));
        change(id, { checkpoint });
        if (id === 'cards/2' && rows.get(id)?.state === 'building' && clock.monotonic() > 1_000) {
          change(id, { state: 'active' });
          await clock.sleep(500);
        }
      }
    };
    const work = async (): Promise<void> => {
      const seen = new SeenBuilds({
        read: async () => {
          await clock.sleep(upTo(slowestLook));
          const shown = [...rows.values()];
          await clock.sleep(upTo(slowestAnswer));
          return shown;
        },
        clock,
      });
      const own = { acknowledged: 0n };
      let isLost = false;
      const watch = async (): Promise<void> => {
        while (!isOver) {
          await seen.look();
          const reading = seen.reading(projection);
          if (reading !== null) {
            own.acknowledged = larger(own.acknowledged, acknowledgedTo(reading));
            everybody.acknowledged = larger(everybody.acknowledged, own.acknowledged);
          }
          await clock.sleep(25);
        }
      };
      const read = async (): Promise<void> => {
        while (!isOver) {
          const before = { own: own.acknowledged, any: everybody.acknowledged };
          const build = await seen.toRead(projection);
          const checkpoint = rows.get(build?._id ?? '')?.checkpoint ?? 0n;
          const what = `seed ${seed}, ${build?._id} at ${checkpoint} after ${clock.monotonic()} ms`;
          if (checkpoint < before.own) ownMissing.push(`${what}: ${before.own}`);
          if (checkpoint < before.any) otherMissing.push(`${what}: ${before.any}`);
          isLost = build === null;
          await clock.sleep(1 + upTo(60));
        }
      };
      await Promise.all([watch(), read(), read()]);
      expect(isLost).to.equal(false);
      expect(seen.reading(projection)?.row._id).to.equal('cards/2');
    };
    const write = async (): Promise<void> => {
      while (clock.monotonic() < 6_000) {
        await clock.sleep(upTo(30));
        head += 1n;
      }
      // Everybody comes to rest.
      await clock.sleep(later + 8 * slowestLook + 2_000);
      isOver = true;
    };
    const running = Promise.all([project('cards/1', 150), project('cards/2', 600), work(), work(), write()]);
    await clock.advance(20_000 + 16 * slowestLook);
    await running;
    return { ownMissing, otherMissing };
  };

  it('have all that the process has acknowledged, however long its looks take', async () => {
    for (let seed = 1; seed <= 5; seed += 1) {
      const { ownMissing } = await upgrade(seed, 1_500, 20);
      expect(ownMissing).to.deep.equal([]);
    }
  });

  it('have all that any process of the version has acknowledged, if looks take less than half a second', async () => {
    for (let seed = 1; seed <= 5; seed += 1) {
      const { otherMissing } = await upgrade(seed, 100);
      expect(otherMissing).to.deep.equal([]);
    }
  });
});

describeWithEngines(['MONGODB_URL'], 'a list while a build takes the place of another', (url) => {
  const second = { ...notes, version: 2 };
  const listed = { org: 'o', limit: 10 };

  /** A process of the second version, and the stores of the projectors of both. */
  const using = async (
    run: (world: {
      readonly save: (version: 1 | 2, id: string, position: number) => Promise<void>;
      readonly activate: () => Promise<void>;
      readonly acknowledged: string[];
      readonly waitFor: (position: bigint) => void;
      readonly list: () => Promise<readonly string[]>;
      readonly pass: (time: number) => Promise<void>;
    }) => Promise<void>,
  ): Promise<void> => {
    const fresh = freshDatabase(url);
    const clock = new VirtualClock();
    const { database, pass } = paced(fresh.database, clock, 5);
    const board = new ProjectionBoard(clock);
    const stop = new AbortController();
    const seen = SeenBuilds.in(database, clock);
    const old = new MongoProjectionStore({ database, clock, release: 'old' });
    const next = new MongoProjectionStore({ database, clock, release: 'next', isFeeding: () => true });
    const builds = { 1: await old.active(notes), 2: await next.active(second) };
    const readModels = new MongoReadModels({ database, clock, seen });
    const pulses = new ProjectorPulses({ database, clock });
    const watching = watchProjector({ seen, clock, projections: [second], board, pulses }, stop.signal);
    const acknowledged: string[] = [];
    try {
      await run({
        save: (version, id, position) =>
          (version === 1 ? old : next).save([
            {
              projection: version === 1 ? notes : second,
              generation: builds[version].generation,
              documents: [storedNote(id, position, { org: 'o' })],
              checkpoint: BigInt(position),
            },
          ]),
        activate: () => next.activate(second, builds[2].generation),
        acknowledged,
        waitFor: (position) =>
          void board.waitUntilProjected(position).then(() => acknowledged.push(String(position))),
        list: async () => {
          const page = readModels.page(second, listed);
          await pass(0);
          return (await page).map(({ key }) => key);
        },
        pass,
      });
    } finally {
      stop.abort();
      board.close();
      await pass(5);
      await watching;
      await fresh.end();
    }
  };

  it('shows what was acknowledged because of the one before, though the next one lacks it', () =>
    using(async ({ save, activate, acknowledged, waitFor, list, pass }) => {
      await save(1, 'a', 1);
      await save(2, 'a', 1);
      expect(await list()).to.deep.equal(['a']);
      waitFor(2n);
      await save(1, 'b', 2);
      await pass(50);
      expect(acknowledged).to.deep.equal(['2']);
      const switching = activate();
      await pass(300);
      expect(await list()).to.deep.equal(['b', 'a']);
      await pass(300);
      await switching;
      expect(await list()).to.deep.equal(['b', 'a']);
    }));

  it('shows what was acknowledged because of the next one, though the one before lacks it', () =>
    using(async ({ save, activate, acknowledged, waitFor, list, pass }) => {
      await save(1, 'a', 1);
      await save(2, 'a', 1);
      await save(2, 'b', 2);
      waitFor(2n);
      await pass(50);
      expect([acknowledged, await list()]).to.deep.equal([[], ['a']]);
      const switching = activate();
      // The process has looked; what a reader trusts is not over.
      await pass(50);
      if (acknowledged.length > 0) expect(await list()).to.deep.equal(['b', 'a']);
      await pass(2_000);
      await switching;
      expect([acknowledged, await list()]).to.deep.equal([['2'], ['b', 'a']]);
    }));
});
