import { expect } from 'chai';
import type { MongoDatabase } from '../../../../adapters/mongodb/client/database.js';
import { watchProjector } from '../../../../adapters/mongodb/read/projector-watch.js';
import { Releases, releaseOf } from '../../../../adapters/mongodb/read/releases.js';
import { SeenBuilds } from '../../../../adapters/mongodb/read/seen-builds.js';
import { ProjectionBoard } from '../../../../application/projecting/projection-board.js';
import type { Projection } from '../../../../projections/projection.js';
import { notes } from '../../../support/fixtures/notes.js';
import { VirtualClock } from '../../../support/memory/clock.js';
import { describeWithEngines } from '../../../support/runner/engines.js';
import { freshDatabase, paced, refusing } from '../support.js';

describeWithEngines(['MONGODB_URL'], 'two releases over one MongoDB', (url) => {
  const second: Projection<unknown> = { ...notes, version: 2 };

  const using =
    (
      run: (world: {
        readonly database: MongoDatabase;
        readonly clock: VirtualClock;
        readonly pass: (ms: number) => Promise<void>;
        /** A process of the release that has this projection. */
        readonly start: (
          projection: Projection<unknown>,
          on?: MongoDatabase,
        ) => { readonly board: ProjectionBoard; readonly stop: () => Promise<void> };
      }) => Promise<void>,
    ) =>
    async () => {
      const fresh = freshDatabase(url);
      const clock = new VirtualClock();
      const { database, pass } = paced(fresh.database, clock, 20);
      const running: (() => Promise<void>)[] = [];
      const start = (projection: Projection<unknown>, on = database) => {
        const projections = [projection];
        const board = new ProjectionBoard(clock, { isShared: true });
        const ended = new AbortController();
        const releases = new Releases({ database: on, clock, release: releaseOf(projections), by: 'a' });
        const seen = new SeenBuilds(on, clock);
        const watching = watchProjector(
          { database: on, seen, releases, clock, projections, board },
          ended.signal,
        );
        const stop = async () => {
          ended.abort();
          await pass(0);
          await watching;
          board.close();
        };
        running.push(stop);
        return { board, stop };
      };
      try {
        await run({ database, clock, pass, start });
      } finally {
        for (const stop of running) await stop();
        await fresh.end();
      }
    };

  const began = 'The projector has not started yet.';
  const gone = 'No projector is at work.';
  const downOf = ({ board }: { readonly board: ProjectionBoard }) => board.current().down;

  it(
    'are known to each other before the one that comes acknowledges anything',
    using(async ({ pass, start }) => {
      const old = start(notes);
      await pass(20);
      expect(downOf(old)).to.equal(gone);
      const waited: string[] = [];
      const wait = (which: string, { board }: { readonly board: ProjectionBoard }) =>
        void board.waitUntilProjected(9n).then(() => waited.push(which));
      await pass(500);
      wait('old', old);
      const next = start(second);
      wait('next', next);
      await pass(600);
      expect(old.board.isLate()).to.equal(true);
      await pass(1_300);
      expect([waited, downOf(next)]).to.deep.equal([[], began]);
      await pass(700);
      expect([waited.toSorted(), downOf(next)]).to.deep.equal([['next', 'old'], gone]);
    }),
  );

  it(
    'are one again when the other has shown no sign of life for three seconds',
    using(async ({ database, clock, pass, start }) => {
      const next = start(second);
      await pass(20);
      const releases = new Releases({ database, clock, release: releaseOf([notes]), by: 'a' });
      const look = async () => {
        await Promise.all([releases.look(), pass(0)]);
        return releases.areSeveral();
      };
      expect(await look()).to.equal(true);
      await pass(10_000);
      expect(await look()).to.equal(true);
      await next.stop();
      expect(await look()).to.equal(true);
      await pass(2_900);
      expect(await look()).to.equal(true);
      await pass(200);
      expect(await look()).to.equal(false);
    }),
  );

  it(
    'tell each other what their processes have given up waiting for, of which none forgets the largest',
    using(async ({ database, clock, pass }) => {
      const [a, b, other] = ['this', 'this', 'another'].map(
        (release) => new Releases({ database, clock, release, by: 'a' }),
      );
      const look = async (releases: Releases | undefined, missing: bigint) => {
        await Promise.all([releases?.look(missing), pass(0)]);
        return releases?.missed;
      };
      expect(await look(a, 0n)).to.equal(0n);
      expect(await look(a, 7n)).to.equal(7n);
      expect(await look(b, 5n)).to.equal(7n);
      expect(await look(other, 9n)).to.equal(9n);
      expect(await look(a, 0n)).to.equal(9n);
    }),
  );

  it(
    'need nobody to wait for where there is one alone, also with several processes',
    using(async ({ pass, start }) => {
      const [a, b] = [start(notes), start(notes)];
      await pass(20);
      expect([downOf(a), downOf(b)]).to.deep.equal([gone, gone]);
      const waited: string[] = [];
      void a.board.waitUntilProjected(9n).then(() => waited.push('a'));
      await pass(4_000);
      expect(waited).to.deep.equal([]);
    }),
  );

  it(
    'come to know of each other after MongoDB was away at the start',
    using(async ({ database, pass, start }) => {
      let isAway = true;
      const next = start(
        second,
        refusing(database, () => isAway),
      );
      await pass(1_000);
      expect(downOf(next)).to.match(/^MongoDB: /);
      isAway = false;
      await pass(600);
      expect(downOf(next)).to.equal(gone);
    }),
  );
});
