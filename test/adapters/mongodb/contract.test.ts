import { VirtualClock } from '../../support/memory/clock.js';
import { batchSize } from '../../../adapters/mongodb/chunks.js';
import { MongoDeliveries } from '../../../adapters/mongodb/deliveries.js';
import { MongoLogTiles } from '../../../adapters/mongodb/log-tiles.js';
import { logTilesContract } from '../../contract/log-tiles.js';
import { MongoHookCalls } from '../../../adapters/mongodb/hook-calls.js';
import { MongoIdempotencyStore } from '../../../adapters/mongodb/idempotency-store.js';
import { MongoPersonalKeys } from '../../../adapters/mongodb/personal-keys.js';
import { MongoProjectionStore } from '../../../adapters/mongodb/projection-store.js';
import { MongoSignInRecords } from '../../../adapters/mongodb/sign-in-records.js';
import { MongoReadModels } from '../../../adapters/mongodb/read-models.js';
import { mongoRequests } from '../../../adapters/mongodb/requests.js';
import { SystemClock } from '../../../adapters/system/clock.js';
import { SystemEntropy } from '../../../adapters/system/entropy.js';
import { deliveriesContract } from '../../contract/deliveries.js';
import { hookCallsContract } from '../../contract/hook-calls.js';
import { idempotencyStoreContract, startOfContract } from '../../contract/idempotency-store.js';
import { personalKeysContract } from '../../contract/personal-keys.js';
import { projectionStoreContract } from '../../contract/projection-store.js';
import { requestsContract } from '../../contract/requests.js';
import { readModelsContract } from '../../contract/read-models.js';
import { signInRecordsContract } from '../../contract/sign-in-records.js';
import { describeWithEngines } from '../../support/runner/engines.js';
import { standingClock } from '../../support/time/standing-clock.js';
import { freshDatabase, hearingWrites } from './support.js';

describeWithEngines(['MONGODB_URL'], 'the ports on MongoDB', (url) => {
  const openReadModels = async () => {
    const { database, end } = freshDatabase(url);
    const clock = standingClock(0);
    const readModels = new MongoReadModels({ database, clock });
    const store = new MongoProjectionStore({ database, clock });
    return { readModels, store, later: () => clock.sleep(5_000), close: end };
  };
  readModelsContract('MongoDB', openReadModels);
  projectionStoreContract('MongoDB', openReadModels);

  requestsContract('MongoDB', async () => {
    const { database, end } = freshDatabase(url);
    return { rows: mongoRequests(database), close: end };
  });

  idempotencyStoreContract('MongoDB', async () => {
    const { database, end } = freshDatabase(url);
    let now = startOfContract;
    const clock = {
      now: () => now,
      monotonic: () => now,
      instant: () => new VirtualClock().instant(),
      sleep: () => Promise.resolve(),
    };
    return {
      store: new MongoIdempotencyStore({ database, clock }),
      setClock: (at) => void (now = at),
      close: end,
    };
  });

  personalKeysContract('MongoDB', async () => {
    const { database, end } = freshDatabase(url);
    return { keys: new MongoPersonalKeys(database), close: end };
  });
  describe('the tiles of the log in MongoDB', () =>
    logTilesContract(async () => {
      const { database, end } = freshDatabase(url);
      return { tiles: new MongoLogTiles(database), close: end };
    }));

  hookCallsContract('MongoDB', async () => {
    const { database, end } = freshDatabase(url);
    return {
      calls: new MongoHookCalls({ database, keep: 86_400_000 }),
      reopen: () => Promise.resolve(new MongoHookCalls({ database, keep: 86_400_000 })),
      close: end,
    };
  });

  signInRecordsContract('MongoDB', async () => {
    const { database, end } = freshDatabase(url);
    const clock = new VirtualClock();
    return {
      records: new MongoSignInRecords({ database, clock }),
      clock,
      reopen: () => Promise.resolve(new MongoSignInRecords({ database, clock })),
      close: end,
    };
  });

  deliveriesContract('MongoDB', async () => {
    const { database, end } = freshDatabase(url);
    const system = new SystemClock();
    const clock = {
      now: () => 0,
      monotonic: () => system.monotonic(),
      instant: () => system.instant(),
      sleep: (time: number, signal?: AbortSignal) => system.sleep(time, signal),
    };
    const pending: number[] = [];
    const heard = hearingWrites(
      database,
      ['updateMany deliveries', 'replaceOne redrives', 'deleteOne redrives'],
      async () => {
        pending.push(await database.collection('deliveries').countDocuments({ status: 'pending' }));
      },
    );
    const make = () => new MongoDeliveries({ database: heard, clock, entropy: new SystemEntropy() });
    // The claims of a process that died are over when their time is.
    const restarted = async () => {
      await database.collection('deliveries').updateMany({}, { $set: { claimedUntil: 0 } });
      return make();
    };
    return { deliveries: make(), restarted, steps: { rows: batchSize, pending }, close: end };
  });
});
