import { expect } from 'chai';
import type { MongoDatabase } from '../../../adapters/mongodb/database.js';
import { MongoLease } from '../../../adapters/mongodb/lease.js';
import { MongoProjectionStore } from '../../../adapters/mongodb/projection-store.js';
import { watchProjector } from '../../../adapters/mongodb/projector-watch.js';
import { SystemClock } from '../../../adapters/system/clock.js';
import { ProjectionBoard } from '../../../application/projection-board.js';
import { describeWithEngines } from '../../support/runner/engines.js';
import { eventually } from '../../support/time/eventually.js';
import { counts, notes } from '../../support/fixtures/notes.js';
import { freshDatabase, refusing } from './support.js';

const clock = new SystemClock();
const patience = 600;

describeWithEngines(['MONGODB_URL'], 'a lease in MongoDB', (url) => {
  const using = (run: (database: MongoDatabase) => Promise<void>) => async (): Promise<void> => {
    const { database, end } = freshDatabase(url);
    try {
      await run(database);
    } finally {
      await end();
    }
  };

  /** A process that wants the lease; notes what it did under which epoch. */
  const worker = (database: MongoDatabase, owner: string, log: string[]) => {
    const stop = new AbortController();
    const lease = new MongoLease({ database, clock, name: 'projector', owner, patience });
    const ended = lease.hold(stop.signal, async ({ epoch, signal }) => {
      log.push(`${owner} begins ${epoch}`);
      await clock.sleep(60_000, signal);
      log.push(`${owner} ends ${epoch}`);
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
    using(async (database) => {
      const log: string[] = [];
      const a = worker(database, 'a', log);
      await eventually(() => log.length === 1);
      const b = worker(database, 'b', log);
      await clock.sleep(2 * patience); // longer than a dead owner would be waited for
      expect(log).to.deep.equal(['a begins 1']);
      await a.stop();
      await eventually(() => log.length === 3);
      await b.stop();
      expect(log).to.deep.equal(['a begins 1', 'a ends 1', 'b begins 2', 'b ends 2']);
    }),
  );

  it(
    'goes to the other when its owner gives no sign of life, which then stops by itself',
    using(async (database) => {
      const log: string[] = [];
      const a = worker(database, 'a', log);
      await eventually(() => log.length === 1);
      // Another owner has taken it: the sign of life finds nothing.
      await database.collection('leases').updateOne({}, { $set: { owner: 'c', epoch: 7 } });
      const b = worker(database, 'b', log);
      await eventually(() => log.includes('a ends 1'));
      await eventually(() => log.some((line) => line.endsWith(' begins 8')));
      await Promise.all([a.stop(), b.stop()]);
      expect(log.filter((line) => line.includes('begins')).length).to.equal(2);
    }),
  );

  it(
    'is taken again at once by the owner who could not give it back',
    using(async (database) => {
      const epochs: number[] = [];
      const troubles: unknown[] = [];
      const stop = new AbortController();
      const silent = refusing(
        database,
        (call) => call === 'updateOne leases' && epochs.length === 1 && troubles.length === 0,
      );
      const lease = new MongoLease({
        database: silent,
        clock,
        name: 'projector',
        owner: 'a',
        patience: 5_000,
        onTrouble: (error) => troubles.push(error),
      });
      const ended = lease.hold(stop.signal, async ({ epoch, signal }) => {
        epochs.push(epoch);
        if (epoch > 1) await clock.sleep(60_000, signal);
      });
      await eventually(() => epochs.length === 2, { within: 3_000 });
      stop.abort();
      await ended;
      expect([epochs, troubles.length]).to.deep.equal([[1, 2], 1]);
    }),
  );

  it(
    'tells another process how far the projector is, and when none is at work',
    using(async (database) => {
      const board = new ProjectionBoard(clock);
      const stop = new AbortController();
      const watching = watchProjector(
        { database, clock, projections: [notes, counts], board, lease: 'projector', patience: 4 * patience },
        stop.signal,
      );
      const down = () => board.current().down;
      try {
        await eventually(() => down() === 'No projector is at work.');
        const log: string[] = [];
        const projector = worker(database, 'a', log);
        await eventually(() => down() === null);
        const store = new MongoProjectionStore({ database, clock, epoch: () => 1 });
        const builds = { notes: await store.active(notes), counts: await store.active(counts) };
        const passed = board.waitUntilProjected(7n).then(() => 'passed');
        const save = (checkpoint: bigint) =>
          store.save([
            { projection: notes, generation: builds.notes.generation, documents: [], checkpoint },
            { projection: counts, generation: builds.counts.generation, documents: [], checkpoint: 7n },
          ]);
        await save(6n);
        await eventually(() =>
          board.current().projections.some(({ name, checkpoint }) => name === 'notes' && checkpoint === 6n),
        );
        await save(7n);
        expect(await passed).to.equal('passed');
        await projector.stop();
        await eventually(() => down() === 'No projector is at work.');
      } finally {
        stop.abort();
        await watching;
        board.close();
      }
    }),
  );
});
