import { expect } from 'chai';
import type { MongoDatabase } from '../../../../adapters/mongodb/client/database.js';
import { MongoLeases, type MongoLeasesOptions } from '../../../../adapters/mongodb/client/leases.js';
import { mongoProjectionStore } from '../../../../adapters/mongodb/read/projection-store.js';
import {
  watchProjector,
  type ProjectorWatchOptions,
} from '../../../../adapters/mongodb/read/projector-watch.js';
import { SeenBuilds } from '../../../../adapters/mongodb/read/seen-builds.js';
import { projectorLease, Releases, releaseOf } from '../../../../adapters/mongodb/read/releases.js';
import { ProjectionBoard } from '../../../../application/projecting/projection-board.js';
import { VirtualClock } from '../../../support/memory/clock.js';
import { describeWithEngines } from '../../../support/runner/engines.js';
import { counts, notes } from '../../../support/fixtures/notes.js';
import { freshDatabase, noting, paced, refusing, type Paced } from '../support.js';

const patience = 600;
/** Divides every time that a lease waits for. */
const step = 20;

describeWithEngines(['MONGODB_URL'], 'a lease in MongoDB', (url) => {
  const using = (run: (world: Paced & { readonly clock: VirtualClock }) => Promise<void>) => async () => {
    const { database, end } = freshDatabase(url);
    const clock = new VirtualClock();
    try {
      await run({ ...paced(database, clock, step), clock });
    } finally {
      await end();
    }
  };

  /** Watches the projector as a process of its release does. */
  const watch = (
    options: Omit<ProjectorWatchOptions, 'seen' | 'releases'>,
    signal: AbortSignal,
  ): Promise<void> => {
    const { database, clock, projections } = options;
    const releases = new Releases({ database, clock, release: releaseOf(projections), by: 'a' });
    return watchProjector({ ...options, seen: new SeenBuilds(database, clock), releases }, signal);
  };

  /** A process that wants the lease; notes what it did under which epoch, and after how much time. */
  const worker = (
    clock: VirtualClock,
    database: MongoDatabase,
    owner: string,
    log: string[],
    { name = 'work', ...more }: Partial<MongoLeasesOptions> & { readonly name?: string } = {
      timeout: patience,
    },
  ) => {
    const stop = new AbortController();
    const leases = new MongoLeases({ database, clock, owner, ...more });
    const note = (text: string) => log.push(`${owner} ${text} at ${clock.monotonic()}`);
    const ended = leases.hold(name, stop.signal, async ({ epoch, signal }) => {
      note(`begins ${epoch}`);
      await clock.sleep(Infinity, signal);
      note(`ends ${epoch}`);
    });
    return {
      stop: async () => {
        stop.abort();
        await ended;
      },
    };
  };

  it(
    'lets one work and the other take over when it stops',
    using(async ({ clock, database, pass }) => {
      const log: string[] = [];
      const a = worker(clock, database, 'a', log);
      // What both do never falls into the same moment.
      await pass(step);
      const b = worker(clock, database, 'b', log);
      await pass(3 * patience); // longer than a dead owner would be waited for
      expect(log).to.deep.equal(['a begins 1 at 0']);
      await a.stop();
      await pass(patience / 5);
      await b.stop();
      expect(log).to.deep.equal([
        'a begins 1 at 0',
        'a ends 1 at 1820',
        'b begins 2 at 1940',
        'b ends 2 at 1940',
      ]);
    }),
  );

  it(
    'goes to the other when its owner gives no sign of life, which has stopped by itself before',
    using(async ({ clock, database, pass }) => {
      const log: string[] = [];
      let isCutOff = false;
      const a = worker(
        clock,
        refusing(database, () => isCutOff),
        'a',
        log,
      );
      // What both do never falls into the same moment.
      await pass(step);
      const b = worker(clock, database, 'b', log);
      await pass(2 * patience);
      isCutOff = true;
      // The last sign of life was given at 1200 and seen at 1220.
      await pass(2 * patience);
      expect(log).to.deep.equal(['a begins 1 at 0', 'a ends 1 at 1680', 'b begins 2 at 1820']);
      isCutOff = false;
      await pass(2 * patience);
      await Promise.all([a.stop(), b.stop()]);
      expect(log.slice(3)).to.deep.equal(['b ends 2 at 3620']);
    }),
  );

  it(
    'changes hands within 3 s of the last sign of life',
    using(async ({ clock, database, pass }) => {
      const log: string[] = [];
      let isCutOff = false;
      const cutOff = refusing(database, () => isCutOff);
      const a = worker(clock, cutOff, 'a', log, {});
      // What both do never falls into the same moment.
      await pass(step);
      const b = worker(clock, database, 'b', log, {});
      await pass(4_000);
      isCutOff = true;
      await pass(3_000);
      await Promise.all([a.stop(), b.stop()]);
      expect(log.slice(0, 3)).to.deep.equal(['a begins 1 at 0', 'a ends 1 at 5600', 'b begins 2 at 6020']);
    }),
  );

  it(
    'is taken at once from an owner on the same machine whose process is gone, and from no other',
    using(async ({ clock, database, pass }) => {
      const log: string[] = [];
      let isGone = false;
      const machine = (self: string) => ({
        self,
        isGone: (name: string) => isGone && name === 'process of a',
      });
      const cutOff = refusing(database, () => isGone);
      const a = worker(clock, cutOff, 'a', log, { timeout: patience, machine: machine('process of a') });
      await pass(step);
      const b = worker(clock, database, 'b', log, { timeout: patience, machine: machine('process of b') });
      await pass(2 * patience);
      isGone = true;
      await pass(patience / 5);
      expect(log[1]).to.equal('b begins 2 at 1340');
      await Promise.all([a.stop(), b.stop()]);
    }),
  );

  it(
    'is waited for as long where the clock of the machine is set back meanwhile',
    using(async ({ clock, database, pass }) => {
      const log: string[] = [];
      let isCutOff = false;
      const a = worker(
        clock,
        refusing(database, () => isCutOff),
        'a',
        log,
      );
      // What both do never falls into the same moment.
      await pass(step);
      const b = worker(clock, database, 'b', log);
      await pass(patience);
      isCutOff = true;
      clock.set(clock.now() - 3_600_000);
      await pass(patience);
      await Promise.all([a.stop(), b.stop()]);
      expect(log).to.deep.equal([
        'a begins 1 at 0',
        'a ends 1 at 1080',
        'b begins 2 at 1220',
        'b ends 2 at 1220',
      ]);
    }),
  );

  it(
    'ends the work of an owner that finds another in its place',
    using(async ({ clock, database, pass }) => {
      const log: string[] = [];
      const a = worker(clock, database, 'a', log);
      await pass(step);
      await database.collection('leases').updateOne({}, { $set: { owner: 'c', epoch: 7 } });
      const b = worker(clock, database, 'b', log);
      // The other shows no sign of life either.
      await pass(patience);
      await Promise.all([a.stop(), b.stop()]);
      expect(log).to.deep.equal([
        'a begins 1 at 0',
        'a ends 1 at 120',
        'b begins 8 at 620',
        'b ends 8 at 620',
      ]);
    }),
  );

  it(
    'shows life together with the others of its process, and is lost alone',
    using(async ({ clock, database, pass }) => {
      const asked: string[] = [];
      const leases = new MongoLeases({
        database: noting(database, asked),
        clock,
        owner: 'a',
        timeout: patience,
      });
      const stop = new AbortController();
      const log: string[] = [];
      const holding = ['first', 'second', 'third'].map((name) =>
        leases.hold(name, stop.signal, async ({ epoch, signal }) => {
          log.push(`${name} begins ${epoch}`);
          await clock.sleep(Infinity, signal);
          log.push(`${name} ends ${epoch}`);
        }),
      );
      await pass(step);
      asked.length = 0;
      await pass(2 * patience);
      expect(asked).to.deep.equal(Array.from({ length: 10 }, () => 'bulkWrite leases'));
      const rows = database.collection<{ readonly _id: string; readonly beats: number }>('leases');
      expect((await rows.find().toArray()).map(({ beats }) => beats)).to.deep.equal([10, 10, 10]);
      await rows.updateOne({ _id: 'second' }, { $set: { owner: 'c', epoch: 7 } });
      await pass(patience / 5);
      const begun = log.splice(0, 3);
      expect([begun.toSorted(), log.splice(0)]).to.deep.equal([
        ['first begins 1', 'second begins 1', 'third begins 1'],
        ['second ends 1'],
      ]);
      stop.abort();
      await Promise.all(holding);
      expect(log).to.have.members(['first ends 1', 'third ends 1']);
    }),
  );

  it(
    'is taken again at once by the owner who could not give it back',
    using(async ({ clock, database, pass }) => {
      const epochs: number[] = [];
      const troubles: unknown[] = [];
      const stop = new AbortController();
      const silent = refusing(
        database,
        (call) => call === 'updateOne leases' && epochs.length === 1 && troubles.length === 0,
      );
      const leases = new MongoLeases({
        database: silent,
        clock,
        owner: 'a',
        timeout: patience,
        onError: (error) => troubles.push(error),
      });
      const ended = leases.hold('projector', stop.signal, async ({ epoch, signal }) => {
        epochs.push(epoch);
        if (epoch > 1) await clock.sleep(Infinity, signal);
      });
      await pass(patience / 10);
      stop.abort();
      await ended;
      expect([epochs, troubles.length]).to.deep.equal([[1, 2], 1]);
    }),
  );

  it(
    'of a dead process tells nobody that a projector is at work',
    using(async ({ clock, database, pass }) => {
      const name = projectorLease(releaseOf([notes]));
      await database
        .collection<{
          readonly _id: string;
          readonly owner: string;
          readonly epoch: number;
          readonly beats: number;
        }>('leases')
        .insertOne({ _id: name, owner: 'dead', epoch: 3, beats: 9 });
      const board = new ProjectionBoard(clock);
      const stop = new AbortController();
      const watching = watch({ database, clock, projections: [notes], board }, stop.signal);
      const log: string[] = [];
      const successor = worker(clock, database, 'b', log, { name, timeout: patience });
      await pass(patience - step);
      expect([board.current().down, log]).to.deep.equal(['No projector is at work.', []]);
      await pass(patience);
      expect([board.current().down, log]).to.deep.equal([null, ['b begins 4 at 600']]);
      await successor.stop();
      stop.abort();
      await watching;
      board.close();
    }),
  );

  it(
    'tells another process how far the projector is, and when none is at work',
    using(async ({ clock, database, pass }) => {
      const board = new ProjectionBoard(clock);
      const stop = new AbortController();
      const name = projectorLease(releaseOf([notes, counts]));
      const watching = watch(
        { database, clock, projections: [notes, counts], board, downAfter: 2 * patience },
        stop.signal,
      );
      const down = () => board.current().down;
      await pass(step);
      expect(down()).to.equal('No projector is at work.');
      let isCutOff = false;
      const projector = worker(
        clock,
        refusing(database, () => isCutOff),
        'a',
        [],
        { name, timeout: patience },
      );
      await pass(500);
      expect(down()).to.equal(null);
      const store = mongoProjectionStore({ database, clock, epoch: () => 1 });
      const builds = { notes: await store.active(notes), counts: await store.active(counts) };
      const passed: string[] = [];
      void board.waitUntilProjected(7n).then(() => passed.push('7'));
      const save = (checkpoint: bigint) =>
        store.save([
          { projection: notes, generation: builds.notes.generation, documents: [], checkpoint },
          { projection: counts, generation: builds.counts.generation, documents: [], checkpoint: 7n },
        ]);
      await save(6n);
      await pass(500);
      const known = board.current().projections.map(({ checkpoint }) => checkpoint);
      expect([known, passed]).to.deep.equal([[6n, 7n], []]);
      await save(7n);
      // Somebody waits: it looks often.
      await pass(40);
      expect(passed).to.deep.equal(['7']);
      await pass(3 * patience);
      expect(down()).to.equal(null);
      isCutOff = true;
      await pass(4 * patience);
      expect(down()).to.equal('No projector is at work.');
      isCutOff = false;
      await pass(2 * patience);
      expect(down()).to.equal(null);
      await projector.stop();
      await pass(500);
      expect(down()).to.equal('No projector is at work.');
      stop.abort();
      await watching;
      board.close();
    }),
  );

  it(
    'says why a projector gets nowhere, until it does again or another one works',
    using(async ({ clock, database, pass }) => {
      const board = new ProjectionBoard(clock);
      const stop = new AbortController();
      const name = projectorLease(releaseOf([notes]));
      const watching = watch(
        { database, clock, projections: [notes], board, downAfter: 2 * patience },
        stop.signal,
      );
      const said: (string | null)[] = [];
      const projector = async (owner: string, troubles: readonly (string | null)[]) => {
        const ended = new AbortController();
        const leases = new MongoLeases({ database, clock, owner, timeout: patience });
        const holding = leases.hold(name, ended.signal, async ({ signal, say }) => {
          for (const trouble of troubles) {
            await say(trouble);
            await clock.sleep(600, signal);
            said.push(board.current().down);
          }
          await clock.sleep(Infinity, signal);
        });
        await pass(600 * (troubles.length + 1));
        said.push(board.current().down);
        ended.abort();
        await holding;
      };
      const [broken, worse] = ['card-A@0 can’t be read', 'card-B@0 can’t be read'];
      await projector('a', [broken, null, worse]);
      expect(said.splice(0)).to.deep.equal([broken, null, worse, worse]);
      await projector('b', []);
      expect(said).to.deep.equal([null]);
      stop.abort();
      await watching;
      board.close();
    }),
  );

  it(
    'says again that a projector works, when it could not say so',
    using(async ({ clock, database, pass }) => {
      const stop = new AbortController();
      let isRefused = false;
      const flaky = refusing(database, (call) => isRefused && call === 'updateOne leases');
      const leases = new MongoLeases({ database: flaky, clock, owner: 'a', timeout: patience });
      const holding = leases.hold('projector', stop.signal, async ({ signal, say }) => {
        await say('EventStoreDB is away');
        isRefused = true;
        await say(null).catch(() => undefined);
        isRefused = false;
        await clock.sleep(Infinity, signal);
      });
      await pass(patience);
      const owner = await MongoLeases.owner(database, 'projector');
      expect(owner?.trouble).to.equal(null);
      stop.abort();
      await holding;
    }),
  );

  it(
    'keeps readers at the later projector’s build when an earlier one activates or begins one late',
    using(async ({ clock, database, pass }) => {
      const [earlier, later] = [1, 2].map((epoch) =>
        mongoProjectionStore({ database, clock, epoch: () => epoch }),
      );
      if (earlier === undefined || later === undefined) throw new Error('two projectors');
      const first = await earlier.active(notes);
      const rebuilt = await earlier.startBuild(notes);
      expect(await later.active(notes)).to.deep.equal(first);
      const late: unknown = await earlier
        .activate(notes, rebuilt.generation)
        .catch((error: unknown) => error);
      expect(late).to.be.an('error');
      const again = await later.startBuild(notes);
      await earlier.startBuild(notes);
      const activated = later.activate(notes, again.generation);
      await pass(patience);
      await activated;
      expect((await later.active(notes)).generation).to.equal(again.generation);
    }),
  );

  for (const { title, isFedHere, looks } of [
    { title: 'for checkpoints alone while somebody waits for them', isFedHere: false, looks: [41, 6] },
    {
      title: 'not at all where a projector of this process tells how far it is',
      isFedHere: true,
      looks: [0, 0],
    },
  ])
    it(
      `is looked for seldom, and ${title}`,
      using(async ({ clock, database, pass }) => {
        const asked: string[] = [];
        const board = new ProjectionBoard(clock);
        const stop = new AbortController();
        const watching = watch(
          {
            database: noting(database, asked),
            clock,
            projections: [notes],
            board,
            isFedHere: () => isFedHere,
          },
          stop.signal,
        );
        await pass(step);
        asked.length = 0;
        const waiting = board.waitUntilProjected(7n);
        await pass(1_000);
        const count = (call: string): number => asked.filter((other) => other === call).length;
        const [builds = 0, leases = 0] = looks;
        expect(count('find builds')).to.be.within(Math.min(builds, 2), builds);
        expect(count('findOne leases')).to.be.within(Math.min(leases, 2), leases);
        expect(count('find releases')).to.be.within(1, 2);
        stop.abort();
        board.close();
        await Promise.all([waiting, watching]);
      }),
    );
});
