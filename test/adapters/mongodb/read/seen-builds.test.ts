import { expect } from 'chai';
import type { MongoDatabase } from '../../../../adapters/mongodb/client/database.js';
import { mongoProjectionStore } from '../../../../adapters/mongodb/read/projection-store.js';
import { mongoReadModels } from '../../../../adapters/mongodb/read/read-models.js';
import { SeenBuilds } from '../../../../adapters/mongodb/read/seen-builds.js';
import { notes, storedNote } from '../../../support/fixtures/notes.js';
import { VirtualClock } from '../../../support/memory/clock.js';
import { describeWithEngines } from '../../../support/runner/engines.js';
import { freshDatabase, noting, paced } from '../support.js';

describeWithEngines(['MONGODB_URL'], 'the builds that a process of MongoDB reads', (url) => {
  const using =
    (
      run: (world: {
        readonly database: MongoDatabase;
        readonly clock: VirtualClock;
        readonly pass: (ms: number) => Promise<void>;
      }) => Promise<void>,
    ) =>
    async () => {
      const { database, end } = freshDatabase(url);
      const clock = new VirtualClock();
      try {
        await run({ ...paced(database, clock, 5), clock });
      } finally {
        await end();
      }
    };

  it(
    'are looked at once for many reads, and again after a quarter of a second',
    using(async ({ database, clock, pass }) => {
      const asked: string[] = [];
      const seen = new SeenBuilds(noting(database, asked), clock);
      const read = () => Promise.all(Array.from({ length: 9 }, () => seen.toRead(notes)));
      await Promise.all([read(), pass(0)]);
      await pass(250);
      await read();
      expect(asked).to.deep.equal(['find builds']);
      await pass(5);
      await Promise.all([read(), pass(0)]);
      expect(asked).to.deep.equal(['find builds', 'find builds']);
    }),
  );

  it(
    'change while nothing is saved: a rebuilt one has all that was acknowledged because of the one before',
    using(async ({ database, clock, pass }) => {
      const store = mongoProjectionStore({ database, clock });
      const readModels = mongoReadModels({ database, clock });
      const batch = (generation: number, ...ids: readonly string[]) => ({
        projection: notes,
        generation,
        documents: ids.map((id, index) => storedNote(id, index + 1, { org: 'o' })),
        checkpoint: BigInt(ids.length),
      });
      const list = async () => {
        const page = readModels.page(notes, { org: 'o', limit: 10 });
        await pass(0);
        return (await page).map(({ key }) => key);
      };
      const old = await store.active(notes);
      await store.save([batch(old.generation, 'a')]);
      expect(await list()).to.deep.equal(['a']);
      const next = await store.startBuild(notes);
      await store.save([batch(next.generation, 'a')]);
      let isSaved = false;
      const saving = store
        .activate(notes, next.generation)
        .then(() => store.save([batch(next.generation, 'a', 'b')]))
        .then(() => (isSaved = true));
      // A process that looked just before reads the old one for this long.
      await pass(250);
      expect([await list(), isSaved]).to.deep.equal([['a'], false]);
      await pass(250);
      await saving;
      expect(await list()).to.deep.equal(['b', 'a']);
    }),
  );

  it(
    'are of a release alone: another shape of the same version neither shows nor retires them',
    using(async ({ database, clock, pass }) => {
      const store = mongoProjectionStore({ database, clock });
      const other = { ...notes, indexes: {} };
      const seen = new SeenBuilds(database, clock);
      const read = async (projection: typeof notes) => {
        const row = seen.toRead(projection);
        await pass(300);
        return (await row)?.generation;
      };
      const first = await store.active(notes);
      expect([await read(notes), await read(other)]).to.deep.equal([first.generation, undefined]);
      await store.save([{ projection: notes, generation: first.generation, documents: [], checkpoint: 1n }]);
      const second = await store.active(other);
      expect(second.hidden).to.equal(true);
      await Promise.all([store.activate(other, second.generation), pass(600)]);
      expect([await read(notes), await read(other)]).to.deep.equal([first.generation, second.generation]);
    }),
  );
});
