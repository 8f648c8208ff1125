import { expect } from 'chai';
import { createServer, type AddressInfo } from 'node:net';
import { VirtualClock } from '../../support/memory/clock.js';
import { mongoCheckpoints } from '../../../adapters/mongodb/records/checkpoints.js';
import { MongoDatabase } from '../../../adapters/mongodb/client/database.js';
import { mongoDeliveries } from '../../../adapters/mongodb/deliveries/deliveries.js';
import { mongoHookCalls } from '../../../adapters/mongodb/records/hook-calls.js';
import { mongoIdempotencyStore } from '../../../adapters/mongodb/records/idempotency-store.js';
import { mongoKeyUses } from '../../../adapters/mongodb/records/key-uses.js';
import { mongoProjectionStore } from '../../../adapters/mongodb/read/projection-store.js';
import { mongoRateLimiter } from '../../../adapters/mongodb/records/rate-limiter.js';
import { mongoReadModels } from '../../../adapters/mongodb/read/read-models.js';
import { SystemClock } from '../../../adapters/system/clock.js';
import { SystemEntropy } from '../../../adapters/system/entropy.js';
import { LocalRateLimiter } from '../../../adapters/system/rate-limiter.js';
import { BufferedKeyUses } from '../../../application/access/buffered-key-uses.js';
import { DeliveriesUnavailable } from '../../../application/ports/deliveries.js';
import type { DeliveryId } from '../../../application/ports/delivery-log.js';
import { HookCallsUnavailable } from '../../../application/ports/hook-calls.js';
import { IdempotencyUnavailable, type KeyClaim } from '../../../application/ports/idempotency-store.js';
import {
  ReadModelsUnavailable,
  type BuildState,
  type ProjectionStore,
} from '../../../application/ports/read-models.js';
import { CommandId, Instant, OrganizationId, Uuid } from '../../../domain/ids.js';
import type { WebhookUrl } from '../../../domain/webhook-url.js';
import { standingClock } from '../../support/time/standing-clock.js';
import { eventually } from '../../support/time/eventually.js';
import { describeWithEngines } from '../../support/runner/engines.js';
import { notes, storedNote } from '../../support/fixtures/notes.js';
import { delaying, freshDatabase, noting, refusing } from './support.js';

const clock = new SystemClock();
const minute = 60_000;
const hour = 60 * minute;

const fails = async (Expected: new (message: string) => Error, attempt: Promise<unknown>): Promise<void> => {
  const outcome = await attempt.then(
    () => 'resolved',
    (error: unknown) => error,
  );
  expect(outcome).to.be.instanceOf(Expected);
};

describeWithEngines(['MONGODB_URL'], 'operational state in MongoDB', (url) => {
  const using = (run: (database: MongoDatabase) => Promise<void>) => async (): Promise<void> => {
    const { database, end } = freshDatabase(url);
    try {
      await run(database);
    } finally {
      await end();
    }
  };

  it(
    'answers a ping and tells what it can do',
    using(async (database) => {
      await database.ping();
      const { version } = await database.capabilities();
      expect(version).to.match(/^\d+\.\d+/);
    }),
  );

  describe('checkpoints', () => {
    it(
      'are kept with their state, and never taken back',
      using(async (database) => {
        const checkpoints = mongoCheckpoints(database);
        expect(await checkpoints.load('relay')).to.equal(null);
        const event = {
          id: Uuid.parse('an-id'),
          hash: 'a hash',
          at: Instant.parse('2026-03-01T12:00:00.000Z'),
        };
        const far = { position: 2n ** 53n + 1n, event, state: { open: ['a', null], $odd: { 'a.b': 1 } } };
        await checkpoints.save('relay', { position: 5n, state: null });
        expect(await checkpoints.load('relay')).to.deep.equal({ position: 5n, state: null });
        await checkpoints.save('relay', far);
        await checkpoints.save('relay', { position: 6n, state: 'late' });
        await checkpoints.save('other', { position: 1n, state: 1 });
        expect(await mongoCheckpoints(database).load('relay')).to.deep.equal(far);
        await checkpoints.save('relay', { ...far, state: 'same position' });
        expect((await checkpoints.load('relay'))?.state).to.equal('same position');
      }),
    );

    it(
      'come out right when several are saved at once',
      using(async (database) => {
        const checkpoints = mongoCheckpoints(database);
        await Promise.all(
          Array.from({ length: 20 }, (_, index) =>
            checkpoints.save('relay', { position: BigInt(index + 1), state: index + 1 }),
          ),
        );
        expect((await checkpoints.load('relay'))?.position).to.equal(20n);
      }),
    );
  });

  describe('the rate limiter', () => {
    it(
      'counts for all processes together, each hit once, by subject and window',
      using(async (database) => {
        const limiter = () =>
          mongoRateLimiter({ database, clock, fallback: new LocalRateLimiter(), timeout: 5_000 });
        const [first, second] = [limiter(), limiter()];
        const hits = await Promise.all(
          Array.from({ length: 60 }, (_, index) =>
            (index % 2 === 0 ? first : second).hit('key-1', 10 * minute + index),
          ),
        );
        expect(hits.toSorted((a, b) => a - b)).to.deep.equal(
          Array.from({ length: 60 }, (_, index) => index + 1),
        );
        expect(await first.hit('key-2', 10 * minute)).to.equal(1);
        expect(await first.hit('key-1', 11 * minute)).to.equal(1);
        expect(await second.hit('key-1', 10 * minute + 59_999)).to.equal(61);
        expect(await second.hit('$where', 10 * minute)).to.equal(1);
      }),
    );

    it(
      'is exact for 64 clients of two processes, and asks much less often than they hit',
      using(async (database) => {
        const asked: string[] = [];
        const limiter = () =>
          mongoRateLimiter({
            database: noting(database, asked),
            clock,
            fallback: new LocalRateLimiter(),
            timeout: 30_000,
          });
        const processes = [limiter(), limiter()];
        const counts = new Map<string, number[]>();
        const client = async (number: number): Promise<void> => {
          const subject = `key-${number % 3}`;
          for (let hits = 0; hits < 10; hits += 1) {
            const count = await processes[number % 2]?.hit(subject, 10 * minute);
            counts.set(subject, [...(counts.get(subject) ?? []), count ?? 0]);
          }
        };
        await Promise.all(Array.from({ length: 64 }, (_, number) => client(number)));
        for (const [subject, got] of counts)
          expect(
            got.toSorted((a, b) => a - b),
            subject,
          ).to.deep.equal(got.map((_, index) => index + 1));
        expect([...counts.values()].flat()).to.have.length(640);
        expect(asked.length).to.be.below(320);
      }),
    );

    it(
      'gives no count twice where hits of a process are counted in another order than they came',
      using(async (database) => {
        let countSecond = (): void => undefined;
        const second = new Promise<void>((resolve) => (countSecond = resolve));
        let calls = 0;
        const virtual = new VirtualClock();
        const limiter = mongoRateLimiter({
          database: delaying(database, (call) =>
            call === 'findOneAndUpdate rate_counters' && (calls += 1) === 1 ? second : null,
          ),
          clock: virtual,
          fallback: new LocalRateLimiter(),
          timeout: 5_000,
        });
        const hits = [limiter.hit('key-1', 0)];
        await eventually(() => calls === 1);
        // The first call takes so long that the second hit has one of its own.
        await virtual.advance(1_000);
        hits.push(limiter.hit('key-1', 0));
        void hits[1]?.then(countSecond);
        expect(await Promise.all(hits)).to.deep.equal([2, 1]);
      }),
    );

    it(
      'counts what it could not count in MongoDB for the rest of the minute',
      using(async (database) => {
        let isAway = false;
        const virtual = new VirtualClock();
        const limiter = mongoRateLimiter({
          database: refusing(database, () => isAway),
          clock: virtual,
          fallback: new LocalRateLimiter(),
        });
        const hit = (window: number) => limiter.hit('key-1', window * minute);
        const counts = [await hit(1)];
        isAway = true;
        counts.push(await hit(1), await hit(1));
        isAway = false;
        await virtual.advance(1_000);
        counts.push(await hit(1), await hit(2));
        expect(counts).to.deep.equal([1, 2, 3, 4, 1]);
      }),
    );

    it('goes on limiting while MongoDB is silent, and without waiting for it every time', async () => {
      const silent = createServer(() => undefined);
      await new Promise<void>((resolve) => silent.listen(0, '127.0.0.1', resolve));
      const { port } = silent.address() as AddressInfo;
      const database = new MongoDatabase(`mongodb://127.0.0.1:${port}`, clock, { find: 300, respond: 300 });
      try {
        const virtual = new VirtualClock();
        const timeout = 50;
        const limiter = mongoRateLimiter({
          database,
          clock: virtual,
          fallback: new LocalRateLimiter(),
          timeout,
        });
        const counts: number[] = [];
        const hit = async () => void counts.push(await limiter.hit('key-1', 0));
        const first = hit();
        await virtual.advance(timeout);
        await first;
        // The clock stands still: nothing is waited for.
        for (let more = 0; more < 19; more += 1) await hit();
        expect(counts).to.deep.equal(Array.from({ length: 20 }, (_, index) => index + 1));
        await virtual.advance(1_000);
        const again = hit();
        await virtual.advance(timeout - 1);
        expect(counts.length).to.equal(20);
        await virtual.advance(1);
        await again;
        expect(counts.at(-1)).to.equal(21);
      } finally {
        await database.close();
        silent.close();
      }
    });
  });

  it(
    'keeps the last use of a key, also when uses come out of order from several processes',
    using(async (database) => {
      const key = Uuid.parse('k-1');
      const at = (second: number) => Instant.parse(`2026-03-01T12:00:0${second}.000Z`);
      const virtual = new VirtualClock();
      const [one, two, three] = [1, 2, 3].map(() => new BufferedKeyUses(mongoKeyUses(database), virtual));
      one?.used(key, at(5));
      two?.used(key, at(3));
      expect(await one?.lastUses([key, Uuid.parse('k-2')])).to.deep.equal(new Map([[key, at(5)]]));
      await one?.close();
      await two?.close();
      expect(await three?.lastUses([key])).to.deep.equal(new Map([[key, at(5)]]));
      await three?.close();
    }),
  );

  describe('Idempotency-Keys', () => {
    let number = 0;
    const newClaim = (changed: Partial<KeyClaim> = {}): KeyClaim => ({
      org: OrganizationId.parse('org-1'),
      key: `key-${(number += 1)}`,
      body: 'a'.repeat(64),
      code: `HC-${number}`,
      owner: CommandId.parse(`command-${number}`),
      ledgerRevision: 4,
      claimedAt: clock.instant(),
      ...changed,
    });
    const newClaims = (count: number) => Array.from({ length: count }, () => newClaim());

    it(
      'are claimed in one call, each with its own outcome: refused among them are only those in use',
      using(async (database) => {
        const asked: string[] = [];
        const store = mongoIdempotencyStore({ database: noting(database, asked), clock });
        const [running, reused] = [newClaim(), newClaim()];
        await Promise.all([store.claim(running), store.claim(reused)]);
        expect(asked.filter((call) => call.startsWith('insert'))).to.have.length(1);
        asked.length = 0;
        const wanted = [
          newClaim(),
          { ...running, owner: CommandId.parse('later') },
          newClaim(),
          { ...reused, body: 'b'.repeat(64) },
        ];
        const outcomes = await Promise.all(wanted.map((claim) => store.claim(claim)));
        expect(outcomes).to.deep.equal([
          { kind: 'claimed' },
          { kind: 'running', claim: running },
          { kind: 'claimed' },
          { kind: 'reused' },
        ]);
        expect(asked.filter((call) => call.startsWith('insert'))).to.deep.equal([
          'insertMany idempotency_keys',
        ]);
      }),
    );

    it(
      'are completed in one call, each with its own outcome: refused among them are those that changed hands',
      using(async (database) => {
        const asked: string[] = [];
        const store = mongoIdempotencyStore({ database: noting(database, asked), clock });
        const claims = newClaims(12);
        await Promise.all(claims.map((claim) => store.claim(claim)));
        const taken = claims.slice(4, 6);
        for (const claim of taken) await store.replace(claim, { ...claim, owner: CommandId.parse('next') });
        asked.length = 0;
        const completed = await Promise.all(
          [...claims, ...claims.slice(0, 1)].map((claim) => store.complete(claim)),
        );
        expect(completed).to.deep.equal([...claims.map((claim) => !taken.includes(claim)), false]);
        expect(asked).to.deep.equal(['bulkWrite idempotency_keys', 'find idempotency_keys']);
        expect(await Promise.all(claims.map(async (claim) => (await store.claim(claim)).kind))).to.deep.equal(
          claims.map((claim) => (taken.includes(claim) ? 'running' : 'completed')),
        );
      }),
    );

    it(
      'are all refused if the call fails, and none is taken for claimed',
      using(async (database) => {
        const store = mongoIdempotencyStore({
          database: refusing(database, (call) => call === 'insertMany idempotency_keys'),
          clock,
        });
        const outcomes = await Promise.allSettled(newClaims(3).map((claim) => store.claim(claim)));
        expect(outcomes.map((outcome) => outcome.status === 'rejected' && outcome.reason.name)).to.deep.equal(
          Array.from({ length: 3 }, () => 'IdempotencyUnavailable'),
        );
      }),
    );
  });

  describe('the projections', () => {
    it(
      'keep a late projector from moving a checkpoint, and from changing a document',
      using(async (database) => {
        const [old, next] = [1, 2].map((epoch) =>
          mongoProjectionStore({ database, clock, epoch: () => epoch }),
        );
        if (old === undefined || next === undefined) throw new Error('two stores were made');
        const { generation } = await old.active(notes);
        const save = (store: ProjectionStore, position: number, text: string) =>
          store.save([
            {
              projection: notes,
              generation,
              documents: [storedNote('a', 1, { org: 'o', text }, position)],
              checkpoint: BigInt(position),
            },
          ]);
        await save(old, 2, 'by the old one');
        await save(next, 3, 'by the next one');
        await fails(ReadModelsUnavailable, save(old, 4, 'late'));
        expect((await next.active(notes)).checkpoint).to.equal(3n);
        await save(next, 4, 'again');
        expect((await next.active(notes)).checkpoint).to.equal(4n);
      }),
    );

    it(
      'come out the same when two projectors write at once',
      using(async (database) => {
        const stores = [1, 2].map(() => mongoProjectionStore({ database, clock }));
        const builds = await Promise.all(stores.map((store) => store.active(notes)));
        const [build] = builds;
        if (build === undefined) throw new Error('a build was begun');
        expect(builds).to.deep.equal([build, build]);
        const documents = Array.from({ length: 700 }, (_, index) =>
          storedNote(`n${index}`, index + 1, { org: 'o' }, index + 1 + (index % 3)),
        );
        const save = (store: ProjectionStore) =>
          store.save([{ projection: notes, generation: build.generation, documents, checkpoint: 703n }]);
        await Promise.all(stores.map(save));
        const found = await stores[0]?.load(
          notes,
          build.generation,
          documents.map(({ key }) => key),
        );
        expect([...(found?.values() ?? [])].toSorted((a, b) => Number(a.created - b.created))).to.deep.equal(
          documents,
        );
      }),
    );

    it(
      'switch when no reader looks at the old build any more, which goes an hour later, as one does that is fed no longer',
      using(async (database) => {
        let now = 0;
        const passing = {
          now: () => now,
          steady: () => now,
          monotonic: () => now,
          instant: () => clock.instant(),
          sleep: (time: number) => Promise.resolve(void (now += time)),
        };
        const store = mongoProjectionStore({ database, clock: passing });
        const readModels = mongoReadModels({ database, clock: passing });
        const old = await store.active(notes);
        await store.save([
          {
            projection: notes,
            generation: old.generation,
            documents: [storedNote('a', 1, { org: 'o' })],
            checkpoint: 1n,
          },
        ]);
        expect((await readModels.get(notes, 'a'))?.key).to.equal('a');
        const build = await store.startBuild(notes);
        await store.activate(notes, build.generation);
        expect(await readModels.get(notes, 'a')).to.equal(null);
        expect(await database.collectionNames('documents_notes_v1_g')).to.have.length(2);
        const ofOthers = ['documents_notes_v', 'documents_notes_v1_g0_old', 'documents_notes_value'];
        for (const name of ofOthers) await database.collection(name).insertOne({ name });
        const other = { ...notes, version: 2 };
        await store.active(other);
        await store.keep([notes]);
        now += hour / 2;
        await store.keep([notes]);
        expect(await database.collectionNames('documents_notes_v1_g')).to.have.length(3);
        expect(await database.collectionNames('documents_notes_v2_g')).to.have.length(1);
        now += hour / 2;
        await store.keep([notes]);
        expect([...(await database.collectionNames('documents_notes_v'))].toSorted()).to.deep.equal(
          [...ofOthers, `documents_notes_v1_g${build.generation}`].toSorted(),
        );
      }),
    );

    it(
      'stay while readers see them, however long a new version takes or the service stood still',
      using(async (database) => {
        const virtual = new VirtualClock();
        const store = mongoProjectionStore({ database, clock: virtual });
        const readModels = mongoReadModels({ database, clock });
        const { generation } = await store.active(notes);
        const documents = [storedNote('a', 1, { org: 'o' })];
        await store.save([{ projection: notes, generation, documents, checkpoint: 1n }]);
        const second = { ...notes, version: 2 };
        await store.active(second);
        await virtual.advance(2 * hour);
        await store.keep([second]);
        expect((await readModels.get(second, 'a'))?.key).to.equal('a');
        expect(await database.collectionNames('documents_notes_v')).to.have.length(2);
      }),
    );

    it(
      'are rebuilt beside the rebuild of another release, which goes an hour after it was fed last',
      using(async (database) => {
        const passing = standingClock(0);
        const [mine, other] = ['mine', 'other'].map((release) =>
          mongoProjectionStore({ database, clock: passing, release }),
        );
        if (mine === undefined || other === undefined) throw new Error('two stores were made');
        await mine.active(notes);
        const save = (store: ProjectionStore, { generation }: BuildState) =>
          store.save([{ projection: notes, generation, documents: [], checkpoint: 1n }]);
        const builds = [await mine.startBuild(notes), await other.startBuild(notes)] as const;
        await save(mine, builds[0]);
        await save(other, builds[1]);
        const again = await mine.startBuild(notes);
        await fails(ReadModelsUnavailable, save(mine, builds[0]));
        await save(other, builds[1]);
        await save(mine, again);
        passing.set(hour);
        await mine.keep([notes]);
        await fails(ReadModelsUnavailable, save(other, builds[1]));
        await save(mine, again);
      }),
    );

    it(
      'take what comes from outside as strings, never as operators',
      using(async (database) => {
        const store = mongoProjectionStore({ database, clock });
        const readModels = mongoReadModels({ database, clock });
        const { generation } = await store.active(notes);
        const odd = storedNote('$where', 1, { org: '$gt', tag: '{"$ne":null}', text: '$set' });
        await store.save([
          {
            projection: notes,
            generation,
            documents: [odd, storedNote('b', 2, { org: 'o', tag: 'x' })],
            checkpoint: 2n,
          },
        ]);
        expect(await readModels.get(notes, '$where')).to.deep.equal(odd);
        expect(
          await readModels.page(notes, { org: '$gt', where: { tag: '{"$ne":null}' }, limit: 5 }),
        ).to.deep.equal([odd]);
        const smuggled: string = JSON.parse('{"$ne":"nobody"}');
        for (const attempt of [
          readModels.get(notes, smuggled),
          readModels.page(notes, { org: smuggled, limit: 5 }),
        ]) {
          const outcome = await attempt.catch(() => []);
          expect(outcome ?? []).to.deep.equal([]);
        }
      }),
    );
  });
});

describe('MongoDB away', () => {
  it('is each port’s own error, within its time', async () => {
    const database = new MongoDatabase('mongodb://127.0.0.1:1', clock, { find: 50, respond: 50 });
    const claim = {
      org: OrganizationId.parse('o'),
      key: 'k',
      body: 'b',
      code: 'HC-1',
      owner: CommandId.parse('c'),
      ledgerRevision: 0,
      claimedAt: Instant.parse('2026-03-01T12:00:00.000Z'),
    };
    try {
      await fails(ReadModelsUnavailable, mongoReadModels({ database, clock }).get(notes, 'a'));
      await fails(ReadModelsUnavailable, mongoProjectionStore({ database, clock }).active(notes));
      const keys = mongoIdempotencyStore({ database, clock });
      for (const attempt of [
        () => keys.claim(claim),
        () => keys.replace(claim, claim),
        () => keys.complete(claim),
        () => keys.release(claim),
      ])
        await fails(IdempotencyUnavailable, attempt());
      await fails(
        HookCallsUnavailable,
        mongoHookCalls({ database, keep: 86_400_000 }).page(Uuid.parse('h'), {
          startingAfter: null,
          limit: 1,
        }),
      );
    } finally {
      await database.close();
    }
  });

  it('is away for an attempt that ends then, and nothing worse', async () => {
    const database = new MongoDatabase('mongodb://127.0.0.1:1', clock, { find: 50, respond: 50 });
    const endpoint = Uuid.parse('e');
    const target = {
      endpoint,
      org: OrganizationId.parse('o'),
      url: 'https://example.com/' as WebhookUrl,
      secrets: [],
      active: true,
      version: 0,
      enabledAt: 0,
    };
    const claim = {
      id: 'c',
      delivery: 'dlv_1' as DeliveryId,
      type: 'card.created',
      event: 'evt_1',
      card: 'HC-1',
      body: '{}',
      occurredAt: 1,
      number: 1,
      allowed: 3,
      endpoint: target,
    };
    const attempt = { at: 1, httpStatus: 200, error: null, duration: 1, body: null };
    try {
      const deliveries = mongoDeliveries({ database, clock, entropy: new SystemEntropy() });
      await database.ping().catch(() => undefined);
      await fails(
        DeliveriesUnavailable,
        deliveries.claims.record(claim, attempt, { status: 'delivered' }, 20),
      );
    } finally {
      await database.close();
    }
  });
});
