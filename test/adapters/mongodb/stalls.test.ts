import { expect } from 'chai';
import { MongoDatabase } from '../../../adapters/mongodb/client/database.js';
import { mongoDeliveries } from '../../../adapters/mongodb/deliveries/deliveries.js';
import { mongoProjectionStore } from '../../../adapters/mongodb/read/projection-store.js';
import { SystemClock } from '../../../adapters/system/clock.js';
import { SystemEntropy } from '../../../adapters/system/entropy.js';
import { DeliveriesUnavailable } from '../../../application/ports/deliveries.js';
import type { DeliveryId, NewDelivery } from '../../../application/ports/delivery-log.js';
import { ReadModelsUnavailable } from '../../../application/ports/read-models.js';
import { OrganizationId, Uuid } from '../../../domain/ids.js';
import { describeWithEngines } from '../../support/runner/engines.js';
import { eventually } from '../../support/time/eventually.js';
import { notes, storedNote } from '../../support/fixtures/notes.js';
import { Proxy } from '../../support/servers/proxy.js';
import { freshUrl } from './support.js';

const clock = new SystemClock();
/** One connection: where it is lost, nothing can be asked any more. */
const limits = { find: 400, respond: 1_000, connections: 1 };
/** More than the buffers of a connection take. */
const large = 'x'.repeat(500_000);
const count = 40;

const documents = Array.from({ length: count }, (_, index) =>
  storedNote(`n${index}`, index + 1, { org: 'o', text: large }),
);

const rows = Array.from({ length: count }, (_, number): NewDelivery => ({
  id: `dlv_${number}` as DeliveryId,
  org: OrganizationId.parse('o'),
  endpoint: Uuid.parse('e'),
  event: `evt_${number}`,
  type: 'card.created',
  card: 'HC-1',
  position: BigInt(number),
  occurredAt: 1,
  body: large,
  due: 1,
  allowed: 3,
  expires: 9e15,
  dropReason: null,
}));

const outcomeOf = (attempt: Promise<unknown>): Promise<unknown> =>
  attempt.then(
    () => 'resolved',
    (error: unknown) => error,
  );

describeWithEngines(['MONGODB_URL'], 'MongoDB that stalls while much is written to it', (url) => {
  const using =
    (run: (database: MongoDatabase, proxy: Proxy) => Promise<void>) => async (): Promise<void> => {
      const proxy = await Proxy.before(url, 27_017);
      const database = new MongoDatabase(proxy.urlFor(freshUrl(url)), clock, limits);
      try {
        await database.ping();
        await run(database, proxy);
      } finally {
        await proxy.set('up');
        await eventually(() => database.ping().then(() => true));
        await database.dropAll();
        await database.close();
        await proxy.close();
      }
    };

  /** Begins a write and stalls the server when its bytes come. */
  const stalledAt = async (bytes: string, proxy: Proxy, write: () => Promise<unknown>): Promise<unknown> => {
    const stalled = proxy.trap(bytes, 'stalled', { arrives: false });
    const outcome = outcomeOf(write());
    await stalled;
    return outcome;
  };

  it(
    'is away for the read models in time, and takes the same again when it is back',
    using(async (database, proxy) => {
      const store = mongoProjectionStore({ database, clock });
      const { generation } = await store.active(notes);
      const save = () =>
        store.save([{ projection: notes, generation, documents, checkpoint: BigInt(count) }]);
      expect(await stalledAt(large.slice(0, 100), proxy, save)).to.be.instanceOf(ReadModelsUnavailable);
      await proxy.set('up');
      await eventually(() => save().then(() => true));
      expect((await store.load(notes, generation, ['n0', 'n39'])).size).to.equal(2);
      expect((await store.active(notes)).checkpoint).to.equal(BigInt(count));
    }),
  );

  it(
    'is away for the deliveries in time, and takes the same again when it is back',
    using(async (database, proxy) => {
      const deliveries = mongoDeliveries({ database, clock, entropy: new SystemEntropy() });
      await deliveries.log.insert([]);
      expect(await stalledAt(large.slice(0, 100), proxy, () => deliveries.log.insert(rows))).to.be.instanceOf(
        DeliveriesUnavailable,
      );
      await proxy.set('up');
      await eventually(() => deliveries.log.insert(rows).then(() => true));
      expect((await deliveries.log.depth(0)).pending).to.equal(count);
    }),
  );

  it('can be let go of', async () => {
    const proxy = await Proxy.before(url, 27_017);
    const database = new MongoDatabase(proxy.urlFor(freshUrl(url)), clock, { find: 400, respond: 3_600_000 });
    try {
      const store = mongoProjectionStore({ database, clock });
      const { generation } = await store.active(notes);
      const stalled = proxy.trap(large.slice(0, 100), 'stalled', { arrives: false });
      const outcome = outcomeOf(store.save([{ projection: notes, generation, documents, checkpoint: 1n }]));
      await stalled;
      await database.close();
      expect(await outcome).to.be.instanceOf(ReadModelsUnavailable);
    } finally {
      await proxy.close();
    }
  });

  it('is not looked for any more once it is let go of', async () => {
    const database = new MongoDatabase(freshUrl(url), clock);
    await database.ping();
    await database.close();
    expect(await outcomeOf(database.ping())).to.be.instanceOf(Error);
    expect(await outcomeOf(mongoProjectionStore({ database, clock }).active(notes))).to.be.instanceOf(
      ReadModelsUnavailable,
    );
  });
});
