import { expect } from 'chai';
import { followRebuildRequests, requestRebuild } from '../../../../adapters/mongodb/read/rebuild-requests.js';
import { SystemClock } from '../../../../adapters/system/clock.js';
import { describeWithEngines } from '../../../support/runner/engines.js';
import { eventually } from '../../../support/time/eventually.js';
import { delaying, freshDatabase } from '../support.js';

describeWithEngines(['MONGODB_URL'], 'a request for a rebuild in MongoDB', (url) => {
  it('that comes while the one before is taken off the list has a rebuild of its own', async () => {
    const { database, end } = freshDatabase(url);
    const stop = new AbortController();
    const rebuilt: string[] = [];
    let isAskedAgain = false;
    const following = followRebuildRequests(
      {
        database: delaying(database, (call) => {
          if (call !== 'deleteOne rebuild_requests' || isAskedAgain) return null;
          isAskedAgain = true;
          return requestRebuild(database, 'notes');
        }),
        clock: new SystemClock(),
        rebuild: (name) => {
          rebuilt.push(name);
          return Promise.resolve();
        },
        onError: (error) => {
          throw error;
        },
      },
      stop.signal,
    );
    try {
      await requestRebuild(database, 'notes');
      const left = () => database.collection('rebuild_requests').countDocuments({});
      await eventually(async () => isAskedAgain && rebuilt.length === 2 && (await left()) === 0);
      expect(rebuilt).to.deep.equal(['notes', 'notes']);
    } finally {
      stop.abort();
      await following;
      await end();
    }
  });

  it('is taken off the list once its rebuild is active, and not before', async () => {
    const { database, end } = freshDatabase(url);
    const stop = new AbortController();
    const waiting: (() => void)[] = [];
    let looks = 0;
    const following = followRebuildRequests(
      {
        database: delaying(database, (call) => {
          if (call === 'find rebuild_requests') looks += 1;
          return null;
        }),
        clock: new SystemClock(),
        rebuild: () => new Promise((resolve) => void waiting.push(resolve)),
        onError: (error) => {
          throw error;
        },
      },
      stop.signal,
    );
    try {
      await requestRebuild(database, 'notes');
      const left = () => database.collection('rebuild_requests').countDocuments({});
      await eventually(() => waiting.length > 0);
      const before = looks;
      await eventually(() => looks > before);
      expect(await left()).to.equal(1);
      for (const activate of waiting) activate();
      await eventually(async () => (await left()) === 0);
    } finally {
      stop.abort();
      await following;
      await end();
    }
  });

  it('has a rebuild of its own after the projector of another release has taken the one before off the list', async () => {
    const { database, end } = freshDatabase(url);
    const stop = new AbortController();
    let rebuilds = 0;
    const following = followRebuildRequests(
      {
        database,
        clock: new SystemClock(),
        rebuild: () => {
          rebuilds += 1;
          return new Promise(() => undefined);
        },
        onError: (error) => {
          throw error;
        },
      },
      stop.signal,
    );
    const ask = async (times: number): Promise<void> => {
      await requestRebuild(database, 'notes');
      await eventually(() => rebuilds === times);
      await database.collection('rebuild_requests').deleteMany({});
    };
    try {
      await ask(1);
      await ask(2);
    } finally {
      stop.abort();
      await following;
      await end();
    }
  });
});
