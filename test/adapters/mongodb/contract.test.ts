import { expect } from 'chai';
import { Binary } from 'mongodb';
import { VirtualClock } from '../../support/memory/clock.js';
import { mongoArtwork } from '../../../adapters/mongodb/records/artwork.js';
import { batchSize } from '../../../adapters/mongodb/client/documents.js';
import { mongoDeliveries } from '../../../adapters/mongodb/deliveries/deliveries.js';
import { mongoLogTiles } from '../../../adapters/mongodb/records/log-tiles.js';
import { logTilesContract } from '../../contract/log-tiles.js';
import { mongoHookCalls } from '../../../adapters/mongodb/records/hook-calls.js';
import { mongoIdempotencyStore } from '../../../adapters/mongodb/records/idempotency-store.js';
import { mongoPersonalKeys } from '../../../adapters/mongodb/records/personal-keys.js';
import { mongoProjectionStore } from '../../../adapters/mongodb/read/projection-store.js';
import type { MongoDatabase } from '../../../adapters/mongodb/client/database.js';
import { mongoImportRecords, mongoSignInRecords } from '../../../adapters/mongodb/records/records.js';
import { mongoReadModels } from '../../../adapters/mongodb/read/read-models.js';
import { mongoCheckpoints } from '../../../adapters/mongodb/records/checkpoints.js';
import { mongoKeyUses } from '../../../adapters/mongodb/records/key-uses.js';
import { MongoLeases } from '../../../adapters/mongodb/client/leases.js';
import { Releases } from '../../../adapters/mongodb/read/releases.js';
import { mongoRateLimiter } from '../../../adapters/mongodb/records/rate-limiter.js';
import { readingsOf } from '../../../adapters/mongodb/read/builds.js';
import { requestRebuild } from '../../../adapters/mongodb/read/rebuild-requests.js';
import { mongoRequests } from '../../../adapters/mongodb/records/requests.js';
import { SystemClock } from '../../../adapters/system/clock.js';
import { LocalRateLimiter } from '../../../adapters/system/rate-limiter.js';
import { SystemEntropy } from '../../../adapters/system/entropy.js';
import type { ArtworkDigest } from '../../../domain/artwork.js';
import { artworkContract } from '../../contract/artwork.js';
import { deliveriesContract } from '../../contract/deliveries.js';
import { hookCallsContract } from '../../contract/hook-calls.js';
import { idempotencyStoreContract, startOfContract } from '../../contract/idempotency-store.js';
import { personalKeysContract } from '../../contract/personal-keys.js';
import { projectionStoreContract } from '../../contract/projection-store.js';
import { requestsContract } from '../../contract/requests.js';
import { readModelsContract } from '../../contract/read-models.js';
import { recordsContract } from '../../contract/records.js';
import { Uuid } from '../../../domain/ids.js';
import { leftoversInMongo } from '../../support/artwork/leftovers.js';
import { describeWithEngines } from '../../support/runner/engines.js';
import { eventually } from '../../support/time/eventually.js';
import { standingClock } from '../../support/time/standing-clock.js';
import { RefusingMongo, type Refusal } from '../../support/servers/refusing-mongo.js';
import { endsByIndex, nameOf, queriesOf, type Index, type QueryShape } from './query-shapes.js';
import { freshDatabase, hearingWrites } from './support.js';

/** Collections of a few documents: what reads all of them reads little. */
const small = new Set([
  'builds',
  'checkpoints',
  'leases',
  'redrives',
  'releases',
  'rebuild_requests',
  'log_damage',
]);

/** Queries that pass over documents of what they look at, and why these are few. */
const passedOver: Readonly<Record<string, string>> = {
  'deliveries: card, endpoint, org, status, type; by seq': 'a card has few deliveries',
  'deliveries: card, endpoint, org, status, type; within seq; by seq': 'a card has few deliveries',
  'deliveries: card, org, status, type; by seq': 'a card has few deliveries',
  'deliveries: card, org, status, type; within seq; by seq': 'a card has few deliveries',
  'deliveries: card, erased': 'a card has few deliveries',
  'deliveries: card, status': 'a card has few deliveries',
  'deliveries: card; within claimedUntil': 'a card has few deliveries',
  'deliveries: endpoint, org, status, type; by seq': 'an endpoint belongs to one organization',
  'deliveries: endpoint, org, status, type; within seq; by seq': 'an endpoint belongs to one organization',
  'deliveries: endpoint, status; within claimedUntil; by due, seq': 'claimed deliveries are few',
  'deliveries: ; within claimedUntil, endpoint': 'the index holds claimed deliveries alone',
  'deliveries: endpoint; within claimedUntil': 'the index holds claimed deliveries alone',
  'deliveries: status; within due': 'the index has the due times of each endpoint in order',
  'deliveries: status; by seq': 'the index holds dead letters alone',
  'deliveries: status; within seq; by seq': 'the index holds dead letters alone',
  'deliveries: org; within changedAt; by changedAt, seq': 'little has changed since the last look',
  'deliveries: occurredAt, org, status; within seq; by occurredAt, seq': 'the index holds this order',
  'deliveries: org, status; within occurredAt, position, removeAt; by occurredAt, seq':
    'the index holds the dead letters of an organization in this order',
  'deliveries: occurredAt, org, status; within position, removeAt, seq; by occurredAt, seq':
    'the index holds the dead letters of an organization in this order',
  'deliveries: endpoint, org, status; within occurredAt, position, removeAt; by occurredAt, seq':
    'the index holds the dead letters of an organization in this order',
  'deliveries: endpoint, occurredAt, org, status; within position, removeAt, seq; by occurredAt, seq':
    'the index holds the dead letters of an organization in this order',
  'delivery_targets: isClean, state; within changedAt': 'endpoints are few, and those that closed fewer',
  'delivery_targets: state; within isClean': 'endpoints are few, and those that closed fewer',
  'delivery_targets: ; within state; by _id': 'endpoints are few, and those that closed fewer',
  'delivery_targets: state; by _id': 'endpoints are few, and only an operator asks',
  'delivery_targets: state; within _id; by _id': 'endpoints are few, and only an operator asks',
  'erased_cards: ; within at': 'the cards that were erased of late are few',
  'documents_notes: by.status, by.tag, org': 'a count by two fields, which the service does not make',
  'documents_notes: by.status, by.tag, org; by created': 'a list by two fields reads that of one of them',
  'documents_notes: by.status, by.tag, org; within created; by created': 'as above, on a later page',
  'hook_calls: hook; within card; by number': 'a hook has 1,000 calls and a few',
  'artwork.files: ': 'the sweep looks at all of them, once an hour',
  'artwork.files: filename; within metadata.putAt': 'a front has one file, or a few',
  'deliveries: ': 'this test itself lets all claims end',
  'log_tiles: ': 'emptied when the log of the log is made anew',
  'relayed_endpoints: ': 'one document an organization, read when a relay begins',
};

describeWithEngines(['MONGODB_URL'], 'the ports on MongoDB', (url) => {
  let server: RefusingMongo;
  const queries = new Map<string, QueryShape>();
  const indexes = new Map<string, Index[]>();
  /** Builds of one projection have the same indexes. */
  const kindOf = (collection: string): string => collection.replace(/_v\d+_g\d+$/, '');
  before(async () => {
    server = await RefusingMongo.before(url);
    server.heard = (body, batch) => {
      for (const query of queriesOf(body, batch)) {
        const known = { ...query, collection: kindOf(query.collection) };
        queries.set(nameOf(known), known);
      }
      const { createIndexes, indexes: made = [] } = body;
      if (createIndexes === undefined) return;
      const kind = kindOf(String(createIndexes));
      const known: readonly { readonly key: object }[] = [...made, ...batch];
      indexes.set(kind, [...(indexes.get(kind) ?? []), ...known.map(({ key }) => Object.keys(key))]);
    };
  });
  after(() => server.close());
  const fresh = () => freshDatabase(server.urlFor(url));

  const openReadModels = async () => {
    const { database, end } = fresh();
    const clock = standingClock(0);
    const readModels = mongoReadModels({ database, clock });
    const store = mongoProjectionStore({ database, clock });
    return { readModels, store, later: () => clock.sleep(5_000), close: end };
  };
  readModelsContract('MongoDB', openReadModels);
  projectionStoreContract('MongoDB', openReadModels);

  requestsContract('MongoDB', async () => {
    const { database, end } = fresh();
    return { rows: mongoRequests(database), close: end };
  });

  idempotencyStoreContract('MongoDB', async () => {
    const { database, end } = fresh();
    let now = startOfContract;
    const clock = {
      now: () => now,
      steady: () => now,
      monotonic: () => now,
      instant: () => new VirtualClock().instant(),
      sleep: () => Promise.resolve(),
    };
    return {
      store: mongoIdempotencyStore({ database, clock }),
      setClock: (at) => void (now = at),
      close: end,
    };
  });

  personalKeysContract('MongoDB', async () => {
    const { database, end } = fresh();
    return { keys: mongoPersonalKeys(database), close: end };
  });
  describe('the tiles of the log in MongoDB', () =>
    logTilesContract(async () => {
      const { database, end } = fresh();
      return { tiles: mongoLogTiles(database), close: end };
    }));

  hookCallsContract('MongoDB', async () => {
    const { database, end } = fresh();
    return {
      calls: mongoHookCalls({ database, keep: 86_400_000 }),
      reopen: () => Promise.resolve(mongoHookCalls({ database, keep: 86_400_000 })),
      close: end,
    };
  });

  const records =
    <Port>(make: (options: { database: MongoDatabase; clock: VirtualClock }) => Port) =>
    async () => {
      const { database, end } = fresh();
      const clock = new VirtualClock();
      const open = () => make({ database, clock });
      return { records: open(), clock, reopen: () => Promise.resolve(open()), close: end };
    };
  recordsContract('signing in, in MongoDB', ['session', 'link', 'form'], records(mongoSignInRecords));
  recordsContract(
    'imports, in MongoDB',
    ['import', 'import-part', 'import-bad'],
    records(mongoImportRecords),
  );

  artworkContract('MongoDB', async () => {
    const { database, end } = fresh();
    const clock = new VirtualClock();
    const artwork = mongoArtwork(database, clock);
    const atSecondChunk = (refusal: Refusal): void => {
      const chunk = { commands: ['insert'], collection: 'artwork.chunks', times: 1 };
      server.refuse({ ...chunk, refusal: { executesAfter: Promise.resolve() } }, { ...chunk, refusal });
    };
    return {
      artwork,
      clock,
      reopen: () => mongoArtwork(database, clock),
      breakOff: (digest, pictures) => {
        atSecondChunk({ refuses: { code: 2, codeName: 'BadValue' } });
        return artwork.put(digest, pictures).catch(() => undefined);
      },
      halt: async (digest, pictures) => {
        let resume = (): void => undefined;
        const executesAfter = new Promise<void>((resolve) => (resume = resolve));
        atSecondChunk({ executesAfter });
        const put = artwork.put(digest, pictures).then(
          () => null,
          (error: unknown) => error,
        );
        await eventually(() => server.caught.length === 2, { what: 'the second chunk' });
        return () => {
          resume();
          return put;
        };
      },
      damages: [null, { $set: { data: new Binary(Buffer.from('others')) } }].map(
        (change) => async (digest: ArtworkDigest) => {
          const file = await database.collection('artwork.files').findOne({ filename: digest });
          const [chunks, which] = [database.collection('artwork.chunks'), { files_id: file?._id, n: 2 }];
          await (change === null ? chunks.deleteOne(which) : chunks.updateOne(which, change));
        },
      ),
      leftovers: () => leftoversInMongo(database),
      close: end,
    };
  });

  deliveriesContract('MongoDB', async () => {
    const { database, end } = fresh();
    const system = new SystemClock();
    let time = 0;
    const clock = {
      now: () => time,
      steady: () => 0,
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
    const make = () => mongoDeliveries({ database: heard, clock, entropy: new SystemEntropy() });
    // The claims of a process that died are over when their time is.
    const restarted = async () => {
      await database.collection('deliveries').updateMany({}, { $set: { claimedUntil: 0 } });
      return make();
    };
    const restartedLater = async (by: number) => {
      time += by;
      return make();
    };
    const steps = { rows: batchSize, pending };
    return { deliveries: make(), restarted, restartedLater, steps, close: end };
  });

  describe('their queries', () => {
    it('end by `_id` or all of an index, in all that was asked above', async () => {
      const { database, end } = fresh();
      const clock = new VirtualClock();
      await mongoRateLimiter({ database, clock, fallback: new LocalRateLimiter() }).hit('a key', 0);
      await mongoKeyUses(database).read([Uuid.parse('6c0f6a3e-0000-4000-8000-000000000001')]);
      const checkpoints = mongoCheckpoints(database);
      await checkpoints.save('relay', { position: 1n, state: null });
      await checkpoints.load('relay');
      await readingsOf(database);
      await MongoLeases.owner(database, 'projector');
      await new Releases({ database, clock, release: 'this', by: 'a' }).look();
      await requestRebuild(database, 'notes');
      await database.prepareAll(() => undefined);
      await end();
      const scanning = [...queries.values()]
        .filter(({ collection }) => !small.has(collection))
        .filter((query) => !endsByIndex(query, indexes.get(query.collection) ?? []))
        .map(nameOf);
      expect(queries.size).to.be.greaterThan(60);
      expect([...new Set(scanning)].filter((name) => passedOver[name] === undefined)).to.deep.equal([]);
    });
  });
});
