import { expect } from 'chai';
import { MongoClient, type Document } from 'mongodb';
import { MongoDatabase, type IndexReport } from '../../../../adapters/mongodb/client/database.js';
import { mongoDeliveries } from '../../../../adapters/mongodb/deliveries/deliveries.js';
import { mongoHookCalls } from '../../../../adapters/mongodb/records/hook-calls.js';
import { mongoIdempotencyStore } from '../../../../adapters/mongodb/records/idempotency-store.js';
import { mongoProjectionStore } from '../../../../adapters/mongodb/read/projection-store.js';
import { mongoRateLimiter } from '../../../../adapters/mongodb/records/rate-limiter.js';
import { LocalRateLimiter } from '../../../../adapters/system/rate-limiter.js';
import { SystemEntropy } from '../../../../adapters/system/entropy.js';
import type { KeyClaim } from '../../../../application/ports/idempotency-store.js';
import { CommandId, Instant, OrganizationId, Uuid } from '../../../../domain/ids.js';
import { notes } from '../../../support/fixtures/notes.js';
import { VirtualClock } from '../../../support/memory/clock.js';
import { describeWithEngines } from '../../../support/runner/engines.js';
import { RefusingMongo } from '../../../support/servers/refusing-mongo.js';
import { eventually } from '../../../support/time/eventually.js';
import { freshUrl } from '../support.js';

const claim: KeyClaim = {
  org: OrganizationId.parse('o'),
  key: 'a key',
  body: '',
  code: '',
  owner: CommandId.parse('a command'),
  ledgerRevision: -1,
  claimedAt: Instant.parse('2026-03-02T15:00:00.000Z'),
};
const silent: IndexReport = () => undefined;

describeWithEngines(['MONGODB_URL'], 'the indexes of a database in MongoDB', (url) => {
  let server: RefusingMongo;
  let target: string;
  let clock: VirtualClock;
  let opened: MongoDatabase[];
  let made: string[];
  beforeEach(async () => {
    server = await RefusingMongo.before(url);
    target = server.urlFor(freshUrl(url));
    clock = new VirtualClock();
    opened = [];
    made = [];
    server.heard = (body: Document) => {
      if (body['createIndexes'] !== undefined) made.push(String(body['createIndexes']));
    };
  });
  afterEach(async () => {
    await opened[0]?.dropAll();
    for (const database of opened) await database.close();
    await server.close();
  });
  const open = (large: number): MongoDatabase => {
    const database = new MongoDatabase(target, clock, { large });
    opened.push(database);
    return database;
  };

  it('are all made ahead: no store makes one afterwards, but for a new build of a read model', async () => {
    await open(1_000).prepareAll(silent);
    expect(made.length).to.be.above(4);
    made.length = 0;
    const database = open(1_000);
    await mongoIdempotencyStore({ database, clock }).release(claim);
    await mongoHookCalls({ database, keep: 1 }).use([Uuid.parse('a hook')]);
    const options = { database, clock, entropy: new SystemEntropy(), attemptTime: 1, keep: 1 };
    await mongoDeliveries(options).log.depth(0);
    await mongoRateLimiter({ database, clock, fallback: new LocalRateLimiter() }).hit('a key', 0);
    await mongoProjectionStore({ database, clock }).active(notes);
    expect(made).to.deep.equal(['documents_notes_v1_g1']);
  });

  it('are made of a large collection one by one, with a word about each, and no request ends that', async () => {
    const collection = await open(1_000).indexed('letters', [{ key: { a: 1 }, name: 'old' }]);
    await collection.insertMany([{ a: 1 }, { a: 2 }]);
    made.length = 0;
    let release = (): void => undefined;
    const released = new Promise<void>((resolve) => (release = resolve));
    server.refuse({ commands: ['createIndexes'], times: 1, refusal: { executesAfter: released } });
    const database = open(2);
    const wanted = ['old', 'by_a', 'by_b'].map((name) => ({ key: { [name]: 1 }, name }));
    const reports: object[] = [];
    const preparing = database.prepare('letters', wanted, (index) => reports.push(index));
    await eventually(() => server.caught.length === 1);
    const request = database.indexed('letters', wanted).then(
      () => 'served',
      (error: unknown) => String(error),
    );
    await clock.advance(60_000);
    expect(await request).to.match(/did not respond in time/);
    expect(await database.collection('letters').countDocuments()).to.equal(2);
    release();
    await preparing;
    expect(reports).to.deep.equal(['by_a', 'by_b'].map((name) => ({ collection: 'letters', name, rows: 2 })));
    expect(made).to.deep.equal(['letters', 'letters']);
    await database.indexed('letters', wanted);
    const client = await MongoClient.connect(target);
    try {
      const names = (await client.db().collection('letters').indexes()).map(({ name }) => name);
      expect(names).to.have.members(['_id_', 'old', 'by_a', 'by_b']);
    } finally {
      await client.close();
    }
  });
});
