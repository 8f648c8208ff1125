import { expect } from 'chai';
import { mongoCheckpoints } from '../../../../adapters/mongodb/records/checkpoints.js';
import { MongoDatabase } from '../../../../adapters/mongodb/client/database.js';
import { mongoDeliveries } from '../../../../adapters/mongodb/deliveries/deliveries.js';
import { mongoHookCalls } from '../../../../adapters/mongodb/records/hook-calls.js';
import { mongoIdempotencyStore } from '../../../../adapters/mongodb/records/idempotency-store.js';
import { mongoProjectionStore } from '../../../../adapters/mongodb/read/projection-store.js';
import { mongoRateLimiter } from '../../../../adapters/mongodb/records/rate-limiter.js';
import { SystemClock } from '../../../../adapters/system/clock.js';
import { SystemEntropy } from '../../../../adapters/system/entropy.js';
import { LocalRateLimiter } from '../../../../adapters/system/rate-limiter.js';
import type { Deliveries } from '../../../../application/ports/deliveries.js';
import type { Stored } from '../../../../application/ports/read-models.js';
import type { DeliveryId, NewDelivery } from '../../../../application/ports/delivery-log.js';
import { CommandId, Instant, OrganizationId, Uuid } from '../../../../domain/ids.js';
import type { WebhookUrl } from '../../../../domain/webhook-url.js';
import { notes, storedNote } from '../../../support/fixtures/notes.js';
import { describeWithEngines } from '../../../support/runner/engines.js';
import { RefusingMongo, type Refusal } from '../../../support/servers/refusing-mongo.js';
import { eventually } from '../../../support/time/eventually.js';
import { freshUrl } from '../support.js';

const clock = new SystemClock();
const org = OrganizationId.parse('o');
const endpoints = ['e1', 'e2'].map((id) => Uuid.parse(id));
const events = ['evt_1', 'evt_2', 'evt_3'];

interface Case {
  readonly what: string;
  readonly refusal: Refusal;
}

const codes = [
  { code: 8_000, codeName: 'AtlasError' },
  { code: 14_031, codeName: 'OutOfDiskSpace' },
  { code: 13, codeName: 'Unauthorized' },
  { code: 24, codeName: 'LockTimeout' },
  { code: 112, codeName: 'WriteConflict' },
];
const refused: readonly Case[] = [
  ...codes.map((refuses) => ({ what: `refused with ${refuses.codeName}`, refusal: { refuses } })),
  ...codes.map(({ code, codeName }) => ({
    what: `refused document by document with ${codeName}`,
    refusal: { refusesEach: { code } },
  })),
  ...[64, 100].map((code) => ({
    what: `executed with the write concern error ${code}`,
    refusal: { executesWith: { writeConcernError: { code } } },
  })),
];
const cutOff: Case = { what: 'cut off after it was executed', refusal: { cuts: 'after' } };
/** After these the driver looks for a server again, which takes a moment. */
const disconnecting: readonly Case[] = [
  {
    what: 'refused with NotWritablePrimary',
    refusal: { refuses: { code: 10_107, codeName: 'NotWritablePrimary' } },
  },
  {
    what: 'executed with the write concern error 91',
    refusal: { executesWith: { writeConcernError: { code: 91 } } },
  },
  { what: 'cut off before it is executed', refusal: { cuts: 'before' } },
  cutOff,
];
const fullDisk: Refusal = { refuses: { code: 14_031, codeName: 'OutOfDiskSpace' } };
/**
 * Every case once, those twice that take no moment or lose what was executed, and one that lasts.
 * `documents`: those too that refuse each document.
 */
const everyRefusal = ({ documents }: { readonly documents: boolean }) => [
  ...[...refused, ...disconnecting]
    .filter(({ refusal }) => documents || !('refusesEach' in refusal))
    .map(({ what, refusal }) => ({ what: `${what}, once`, times: 1, refusal })),
  ...[...refused, cutOff]
    .filter(({ refusal }) => documents || !('refusesEach' in refusal))
    .map(({ what, refusal }) => ({ what: `${what}, twice`, times: 2, refusal })),
  { what: 'refused for a while', times: 10, refusal: fullDisk },
];

/** Does the work again until it succeeds, and tells whether it failed before. */
const insistently = async (work: () => Promise<unknown>): Promise<boolean> => {
  let failed = false;
  await eventually(() =>
    work().then(
      () => true,
      () => {
        failed = true;
        return false;
      },
    ),
  );
  return failed;
};

describeWithEngines(
  ['MONGODB_URL'],
  'a connection string that asks for less than the service needs',
  (url) => {
    it('does not get it: reads go to the primary, reads and writes to a majority', async () => {
      const server = await RefusingMongo.before(url, { repeats: true });
      const less =
        'readPreference=secondary&readPreferenceTags=dc:ny&maxStalenessSeconds=120&readConcernLevel=local&w=1&journal=false';
      const database = new MongoDatabase(`${server.urlFor(freshUrl(url))}?${less}`, clock);
      try {
        const checkpoints = mongoCheckpoints(database);
        const heard: unknown[] = [];
        server.heard = ({ find, insert, readConcern, writeConcern, $readPreference }) => {
          if (find ?? insert) heard.push([readConcern ?? writeConcern, $readPreference ?? 'primary']);
        };
        await checkpoints.save('of', { position: 5n, state: 1 });
        await checkpoints.load('of');
        expect(heard).to.deep.equal([
          [{ w: 'majority' }, 'primary'],
          [{ level: 'majority' }, 'primary'],
        ]);
      } finally {
        await database.dropAll();
        await database.close();
        await server.close();
      }
    });
  },
);

describeWithEngines(['MONGODB_URL'], 'a MongoDB that refuses', (url) => {
  let server: RefusingMongo;
  let database: MongoDatabase;
  let round = 0;

  const open = async (repeats: boolean): Promise<void> => {
    server = await RefusingMongo.before(url, { repeats });
    database = new MongoDatabase(server.urlFor(freshUrl(url)), clock, { find: 2_000, respond: 2_000 });
    await database.ping();
  };
  const close = async (): Promise<void> => {
    server.refuse();
    await eventually(() => database.ping().then(() => true));
    await database.dropAll();
    await database.close();
    await server.close();
  };
  beforeEach(() => (round += 1));
  afterEach(() => server.refuse());

  const deliveriesOf = (): Deliveries => mongoDeliveries({ database, clock, entropy: new SystemEntropy() });
  /** One row per event and endpoint, other ones in every test. */
  const rowsOf = (): readonly NewDelivery[] =>
    events.flatMap((event) =>
      endpoints.map((endpoint): NewDelivery => ({
        id: `dlv_${round}_${event}_${endpoint}` as DeliveryId,
        org,
        endpoint,
        event,
        type: 'card.created',
        card: `HC-${round}`,
        position: 1n,
        occurredAt: 1,
        body: '{}',
        due: 1,
        allowed: 3,
        expires: 9e15,
        dropReason: null,
      })),
    );
  const storedRows = async (deliveries: Deliveries) => {
    const filter = { endpoint: null, status: null, type: null, card: `HC-${round}` };
    const page = await deliveries.log.page(org, filter, { startingAfter: null, limit: 100 });
    return (page ?? []).map(({ id }) => id).toSorted();
  };
  const idsOf = (rows: readonly NewDelivery[]) => rows.map(({ id }) => id).toSorted();

  describe('while it recognizes no repeated write', () => {
    before(() => open(false));
    after(() => close());

    for (const { what, times, refusal } of everyRefusal({ documents: true }))
      it(`stores each delivery once whose insert is ${what}`, async () => {
        const deliveries = deliveriesOf();
        const rows = rowsOf();
        server.refuse({ commands: ['insert'], collection: 'deliveries', times, refusal });
        const failed = await insistently(() => deliveries.log.insert(rows));
        expect([failed, server.caught.length]).to.deep.equal([true, times]);
        expect(await storedRows(deliveries)).to.deep.equal(idsOf(rows));
      });

    it('stores each delivery once whose insert is refused for a while, with a part of the rows there already', async () => {
      const deliveries = deliveriesOf();
      const rows = rowsOf();
      await deliveries.log.insert(rows.slice(0, 2));
      server.refuse({
        commands: ['insert'],
        collection: 'deliveries',
        times: 10,
        refusal: fullDisk,
      });
      expect(await insistently(() => deliveries.log.insert(rows))).to.equal(true);
      expect(await storedRows(deliveries)).to.deep.equal(idsOf(rows));
    });

    it('counts a replayed delivery only when it is stored', async () => {
      const deliveries = deliveriesOf();
      const rows = rowsOf();
      const refusal = { refuses: { code: 8_000, codeName: 'AtlasError' } };
      server.refuse({ commands: ['insert'], collection: 'deliveries', times: 1, refusal });
      const outcome = await deliveries.log.replay(rows).catch(() => 'refused');
      expect([outcome, await deliveries.log.replay(rows)]).to.deep.equal(['refused', rows.length]);
      expect(await storedRows(deliveries)).to.deep.equal(idsOf(rows));
    });

    for (const { what, times, refusal } of everyRefusal({ documents: false }))
      it(`gives every delivery a number although the counter's change is ${what}`, async () => {
        const deliveries = deliveriesOf();
        const rows = rowsOf();
        server.refuse({ commands: ['findAndModify'], collection: 'sequences', times, refusal });
        await insistently(() => deliveries.log.insert(rows));
        expect([server.caught.length, await storedRows(deliveries)]).to.deep.equal([times, idsOf(rows)]);
      });

    for (const { what, times, refusal } of everyRefusal({ documents: true }))
      it(`records and counts an attempt once whose writes are ${what}`, async () => {
        const deliveries = deliveriesOf();
        const endpoint = Uuid.parse(`e_${round}`);
        await deliveries.gates.upsertEndpoint(
          {
            endpoint,
            org,
            url: 'https://example.com/' as WebhookUrl,
            secrets: [],
            active: true,
            version: 0,
            enabledAt: 0,
          },
          1,
        );
        const [first, ...others] = rowsOf();
        if (first === undefined) throw new Error('there are rows');
        await deliveries.log.insert([{ ...first, endpoint }, ...others]);
        const claims = (await deliveries.claims.claim(new Map([[endpoint, 1]]), clock.now())).get(endpoint);
        const [claim] = claims?.claimed ?? [];
        if (claim === undefined) throw new Error('the delivery was claimed');
        const attempt = { at: 5, httpStatus: 500, error: null, duration: 1, body: null };
        const outcome = { status: 'pending', due: 9e15 } as const;
        server.refuse({ commands: ['update'], times, refusal });
        await insistently(() => deliveries.claims.record(claim, attempt, outcome, 20));
        const caught = server.caught.length;
        server.refuse();
        await deliveries.claims.dueTimes();
        const [row] =
          (await deliveries.log.page(
            org,
            { endpoint, status: null, type: null, card: null },
            { startingAfter: null, limit: 5 },
          )) ?? [];
        const health = (await deliveries.gates.health(org)).get(endpoint);
        expect([caught, row?.attempts, health?.failureCount, health?.consecutiveFailures]).to.deep.equal([
          times,
          [attempt],
          1,
          1,
        ]);
        expect(await storedRows(deliveries)).to.deep.equal(idsOf(rowsOf()));
      });

    const kinds = [
      { kind: 'new', command: 'insert', created: undefined },
      { kind: 'changed', command: 'update', created: 0n },
    ];
    for (const { kind, command, created } of kinds)
      for (const { what, times, refusal } of everyRefusal({ documents: true }))
        it(`moves no checkpoint past ${kind} documents whose writes are ${what}`, async () => {
          const projection = { ...notes, name: `notes_${round}` };
          const store = mongoProjectionStore({ database, clock });
          const { generation } = await store.active(projection);
          const documents = ['a', 'b'].map((key, index) => {
            const stored = storedNote(key, index + 1, { org: 'o', text: key });
            return { ...stored, created: created ?? stored.created };
          });
          const collection = `documents_${projection.name}_v${projection.version}_g${generation}`;
          server.refuse({ commands: [command], collection, times, refusal });
          await insistently(async () => {
            try {
              await store.save([{ projection, generation, documents, checkpoint: 2n }]);
            } catch (error) {
              const { checkpoint } = await eventually(() => store.active(projection).catch(() => null));
              expect(checkpoint).to.equal(0n);
              throw error;
            }
          });
          expect([server.caught.length, (await store.active(projection)).checkpoint]).to.deep.equal([
            times,
            2n,
          ]);
          const saved = await store.load(projection, generation, ['a', 'b']);
          expect([...saved.values()]).to.deep.equal(documents);
        });

    it('saves a document later than one that was inserted at the same moment, and no earlier one', async () => {
      const projection = { ...notes, name: `notes_${round}` };
      const store = mongoProjectionStore({ database, clock });
      const { generation } = await store.active(projection);
      const [earlier, later] = [2, 3].map((position) => ({
        ...storedNote('a', position, { org: 'o', text: `at ${position}` }),
        created: 1n,
      }));
      if (earlier === undefined || later === undefined) throw new Error('there are two');
      const save = (stored: Stored<unknown>) =>
        store.save([{ projection, generation, documents: [stored], checkpoint: stored.position }]);
      await save(earlier);
      server.refuse({ commands: ['update'], times: 1, refusal: { refusesEach: { code: 11_000 } } });
      await save(later);
      await save(earlier);
      expect((await store.load(projection, generation, ['a'])).get('a')).to.deep.equal(later);
    });

    for (const { what, times, refusal } of everyRefusal({ documents: true }))
      it(`keeps a hook's call and a checkpoint once whose inserts are ${what}`, async () => {
        const calls = mongoHookCalls({ database, keep: 86_400_000 });
        const checkpoints = mongoCheckpoints(database);
        const hook = Uuid.parse(`h_${round}`);
        const call = {
          id: Uuid.parse(`c_${round}`),
          hook,
          org,
          at: Instant.parse('2026-03-01T12:00:00.000Z'),
          status: 201,
          code: null,
          card: null,
          requestId: 'r',
        };
        server.refuse({ commands: ['insert'], times, refusal });
        const failed = [
          await insistently(() => calls.record(call)),
          await insistently(() => checkpoints.save(`of ${round}`, { position: 5n, state: 1 })),
        ];
        expect(failed).to.include(true);
        expect(await calls.page(hook, { startingAfter: null, limit: 5 })).to.deep.equal([call]);
        expect(await checkpoints.load(`of ${round}`)).to.deep.equal({ position: 5n, state: 1 });
      });
  });

  describe('and whose repeated writes are not recognized, while the driver repeats them', () => {
    before(() => open(true));
    after(() => close());

    const claimOf = (owner: string) => ({
      org,
      key: `key ${round}`,
      body: 'b',
      code: 'HC-1',
      owner: CommandId.parse(owner),
      ledgerRevision: 0,
      claimedAt: clock.instant(),
    });
    const lostAnswer = (command: string, collection: string) =>
      server.refuse({ commands: [command], collection, times: 1, refusal: { cuts: 'after' } });

    it('gives a claim to the request that made it, although the answer was lost', async () => {
      const keys = mongoIdempotencyStore({ database, clock });
      lostAnswer('insert', 'idempotency_keys');
      const claim = claimOf('one');
      expect([await keys.claim(claim), server.caught.length]).to.deep.equal([{ kind: 'claimed' }, 1]);
      const other = await keys.claim(claimOf('two'));
      expect(other).to.deep.equal({ kind: 'running', claim });
    });

    it('gives a claim to the request that takes it over, although the answer was lost', async () => {
      const keys = mongoIdempotencyStore({ database, clock });
      const [old, next] = [claimOf('one'), { ...claimOf('two'), code: 'HC-2' }];
      await keys.claim(old);
      lostAnswer('update', 'idempotency_keys');
      expect([await keys.replace(old, next), server.caught.length]).to.deep.equal([true, 1]);
      expect([await keys.complete(old), await keys.complete(next)]).to.deep.equal([false, true]);
    });

    it('completes a claim for the request that holds it, although the answer was lost', async () => {
      const keys = mongoIdempotencyStore({ database, clock });
      const claim = claimOf('one');
      await keys.claim(claim);
      lostAnswer('update', 'idempotency_keys');
      expect([await keys.complete(claim), server.caught.length]).to.deep.equal([true, 1]);
    });

    it('stores each delivery once', async () => {
      const deliveries = deliveriesOf();
      const rows = rowsOf();
      lostAnswer('insert', 'deliveries');
      await insistently(() => deliveries.log.insert(rows));
      expect([server.caught.length, await storedRows(deliveries)]).to.deep.equal([1, idsOf(rows)]);
    });

    it('counts each of many first requests of a minute that arrive at once', async () => {
      const limiter = mongoRateLimiter({
        database,
        clock,
        fallback: new LocalRateLimiter(),
        timeout: 5_000,
      });
      const refusal = { executesAndRefuses: { code: 11_000, codeName: 'DuplicateKey' } };
      server.refuse({ commands: ['findAndModify'], upserts: true, times: 1, refusal });
      const hits = await Promise.all(Array.from({ length: 60 }, () => limiter.hit('key', 60_000)));
      expect(hits.toSorted((a, b) => a - b)).to.deep.equal(Array.from({ length: 60 }, (_, n) => n + 1));
    });
  });
});
