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
    // A rebuild is seen once while it runs.
    let looks = 0;
    const rebuilding = { name: 'notes', checkpoint: 0n, live: true, rebuilding: 0n };
    const following = followRebuildRequests(
      {
        database: delaying(database, (call) => {
          if (call !== 'deleteOne rebuild_requests' || isAskedAgain) return null;
          isAskedAgain = true;
          return requestRebuild(database, 'notes');
        }),
        clock: new SystemClock(),
        rebuild: (name) => {
          looks = 0;
          rebuilt.push(name);
          return true;
        },
        status: () => ({ down: null, projections: (looks += 1) === 1 ? [rebuilding] : [] }),
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

  it('is taken off the list after a rebuild as short as its activation', async () => {
    const { database, end } = freshDatabase(url);
    const stop = new AbortController();
    const clock = new SystemClock();
    const rebuilding = { name: 'notes', checkpoint: 0n, live: true, rebuilding: 0n };
    let ends = 0;
    const following = followRebuildRequests(
      {
        database,
        clock,
        rebuild: () => (ends = clock.monotonic() + 500) > 0,
        status: () => ({ down: null, projections: clock.monotonic() < ends ? [rebuilding] : [] }),
        onError: (error) => {
          throw error;
        },
      },
      stop.signal,
    );
    try {
      await requestRebuild(database, 'notes');
      await eventually(
        async () => ends > 0 && (await database.collection('rebuild_requests').countDocuments({})) === 0,
      );
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
        rebuild: () => (rebuilds += 1) > 0,
        status: () => ({ down: null, projections: [] }),
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
