import { expect } from 'chai';
import type { MongoDatabase } from '../../../../adapters/mongodb/client/database.js';
import {
  followRebuildRequests,
  requestRebuild,
  type RebuildRequestsOptions,
} from '../../../../adapters/mongodb/read/rebuild-requests.js';
import { SystemClock } from '../../../../adapters/system/clock.js';
import { describeWithEngines } from '../../../support/runner/engines.js';
import { eventually } from '../../../support/time/eventually.js';
import { delaying, freshDatabase } from '../support.js';

describeWithEngines(['MONGODB_URL'], 'a request for a rebuild in MongoDB', (url) => {
  /** Follows the requests with what `of` gives for a database, while `run` runs. */
  const following = async (
    of: (
      database: MongoDatabase,
    ) => Pick<RebuildRequestsOptions, 'rebuild'> &
      Partial<Pick<RebuildRequestsOptions, 'database' | 'areSeveral'>>,
    run: (database: MongoDatabase, left: () => Promise<number>) => Promise<void>,
  ): Promise<void> => {
    const { database, end } = freshDatabase(url);
    const stop = new AbortController();
    const onError = (error: unknown): never => {
      throw error;
    };
    const areSeveral = () => false;
    const options = { database, clock: new SystemClock(), areSeveral, onError, ...of(database) };
    const ended = followRebuildRequests(options, stop.signal);
    try {
      await run(database, () => database.collection('rebuild_requests').countDocuments({}));
    } finally {
      stop.abort();
      await ended;
      await end();
    }
  };

  it('that comes while the one before is taken off the list has a rebuild of its own', async () => {
    const rebuilt: string[] = [];
    let isAskedAgain = false;
    const of = (database: MongoDatabase) => ({
      database: delaying(database, (call) => {
        if (call !== 'deleteOne rebuild_requests' || isAskedAgain) return null;
        isAskedAgain = true;
        return requestRebuild(database, 'notes');
      }),
      rebuild: (name: string) => {
        rebuilt.push(name);
        return Promise.resolve();
      },
    });
    await following(of, async (database, left) => {
      await requestRebuild(database, 'notes');
      await eventually(async () => isAskedAgain && rebuilt.length === 2 && (await left()) === 0);
      expect(rebuilt).to.deep.equal(['notes', 'notes']);
    });
  });

  it('is taken off the list once its rebuild is active, and not before', async () => {
    const waiting: (() => void)[] = [];
    let looks = 0;
    const of = (database: MongoDatabase) => ({
      database: delaying(database, (call) => {
        if (call === 'find rebuild_requests') looks += 1;
        return null;
      }),
      rebuild: () => new Promise<void>((resolve) => void waiting.push(resolve)),
    });
    await following(of, async (database, left) => {
      await requestRebuild(database, 'notes');
      await eventually(() => waiting.length > 0);
      const before = looks;
      await eventually(() => looks > before);
      expect(await left()).to.equal(1);
      for (const activate of waiting) activate();
      await eventually(async () => (await left()) === 0);
    });
  });

  it('has a rebuild of its own after the projector of another release has taken the one before off the list', async () => {
    let rebuilds = 0;
    const of = () => ({
      rebuild: () => {
        rebuilds += 1;
        return new Promise<void>(() => undefined);
      },
    });
    await following(of, async (database) => {
      const ask = async (times: number): Promise<void> => {
        await requestRebuild(database, 'notes');
        await eventually(() => rebuilds === times);
        await database.collection('rebuild_requests').deleteMany({});
      };
      await ask(1);
      await ask(2);
    });
  });

  it('for a projection that this release lacks is taken off the list only while there is no other release', async () => {
    let isAlone = false;
    let asked = 0;
    const of = () => ({
      rebuild: () => {
        asked += 1;
        return null;
      },
      areSeveral: () => !isAlone,
    });
    await following(of, async (database, left) => {
      await requestRebuild(database, 'notes');
      await eventually(() => asked > 1);
      expect(await left()).to.equal(1);
      isAlone = true;
      await eventually(async () => (await left()) === 0);
    });
  });
});
