import { expect } from 'chai';
import { startsWithin } from '../../../../adapters/mongodb/deliveries/attempts.js';
import type { MongoDatabase } from '../../../../adapters/mongodb/client/database.js';
import { mongoDeliveries } from '../../../../adapters/mongodb/deliveries/deliveries.js';
import { SystemClock } from '../../../../adapters/system/clock.js';
import { SystemEntropy } from '../../../../adapters/system/entropy.js';
import { DeliveriesUnavailable, type Deliveries } from '../../../../application/ports/deliveries.js';
import {
  noClaims,
  type DeliveryClaim,
  type EndpointClaims,
} from '../../../../application/ports/delivery-claims.js';
import type { DeliveryAttempt, DeliveryId, NewDelivery } from '../../../../application/ports/delivery-log.js';
import type { DeliveryEndpoint } from '../../../../application/ports/endpoint-gates.js';
import { OrganizationId, Uuid } from '../../../../domain/ids.js';
import type { WebhookUrl } from '../../../../domain/webhook-url.js';
import { VirtualClock } from '../../../support/memory/clock.js';
import { describeWithEngines } from '../../../support/runner/engines.js';
import { eventually } from '../../../support/time/eventually.js';
import { delaying, freshDatabase, noting, notingFilters, refusing } from '../support.js';

const clock = new SystemClock();
const org = OrganizationId.parse('org-1');
const endpoint = Uuid.parse('endpoint-1');

const target: DeliveryEndpoint = {
  endpoint,
  org,
  url: 'https://example.com/' as WebhookUrl,
  secrets: [],
  active: true,
  version: 0,
  enabledAt: 0,
};

const row = (number: number): NewDelivery => ({
  id: `dlv_${number}` as DeliveryId,
  org,
  endpoint,
  event: `evt_${number}`,
  type: 'card.created',
  card: `HC-${number}`,
  position: BigInt(number),
  occurredAt: 1_000 + number,
  body: '{}',
  due: 1_000 + number,
  allowed: 3,
  expires: 9e15,
  dropReason: null,
});

const failed: DeliveryAttempt = { at: 5_000, httpStatus: 500, error: null, duration: 5, body: null };
const succeeded: DeliveryAttempt = { ...failed, httpStatus: 200 };
const exhausted = { status: 'exhausted' } as const;

describeWithEngines(['MONGODB_URL'], 'deliveries in MongoDB, of several processes', (url) => {
  const using =
    (run: (database: MongoDatabase, process: () => Deliveries) => Promise<void>) =>
    async (): Promise<void> => {
      const { database, end } = freshDatabase(url);
      const process = () => mongoDeliveries({ database, clock, entropy: new SystemEntropy() });
      try {
        await process().gates.upsertEndpoint(target, 0);
        await run(database, process);
      } finally {
        await end();
      }
    };

  const claim = async (deliveries: Deliveries, now: number, limit: number): Promise<EndpointClaims> =>
    (await deliveries.claims.claim(new Map([[endpoint, limit]]), now)).get(endpoint) ?? noClaims;

  const claimAll = async (deliveries: Deliveries, limit: number): Promise<readonly DeliveryClaim[]> => {
    const all: DeliveryClaim[] = [];
    for (;;) {
      const { claimed, next } = await claim(deliveries, 9e15, limit);
      if (claimed.length === 0 && next === null) return all;
      all.push(...claimed);
    }
  };

  it(
    'give each delivery to one of many workers',
    using(async (_, process) => {
      const rows = Array.from({ length: 60 }, (_, index) => row(index + 1));
      await Promise.all([process().log.insert(rows), process().log.insert(rows)]);
      const claims = (await Promise.all(Array.from({ length: 8 }, () => claimAll(process(), 5)))).flat();
      expect(claims.map(({ delivery }) => delivery).toSorted()).to.deep.equal(
        rows.map(({ id }) => id).toSorted(),
      );
    }),
  );

  it(
    'are not made due early by a sweep that read them for minutes',
    using(async (_, process) => {
      const [hour, began] = [3_600_000, clock.now()];
      const ended = began + 600_000;
      await process().log.insert([
        { ...row(1), due: began + 2 * hour },
        { ...row(2), due: ended + hour },
      ]);
      const times = [began];
      await process().claims.hasten({ now: () => times.pop() ?? ended }, hour);
      expect(await process().claims.dueTimes()).to.deep.equal(new Map([[endpoint, ended]]));
      expect((await claim(process(), ended, 9)).claimed.map(({ delivery }) => delivery)).to.deep.equal([
        'dlv_1',
      ]);
    }),
  );

  it(
    'are not made due early by a machine that was suspended, and does not know yet what time it is',
    using(async (database, process) => {
      await process().log.insert([{ ...row(1), due: clock.now() + 7_200_000 }]);
      const behind = Object.assign(new VirtualClock(), { isAgreed: () => false });
      const resumed = mongoDeliveries({ database, clock: behind, entropy: new SystemEntropy() });
      await resumed.claims.hasten({ now: () => clock.now() - 7_200_000 }, 3_600_000);
      expect((await claim(process(), clock.now(), 1)).claimed).to.deep.equal([]);
    }),
  );

  it(
    'keep when they are due if they were put right and tried before a sweep writes',
    using(async (database, process) => {
      const [hour, now] = [3_600_000, clock.now()];
      const other = process();
      const late = delaying(database, (call) =>
        call === 'bulkWrite deliveries'
          ? (async () => {
              await other.claims.hasten({ now: () => now }, hour);
              const [first] = (await claim(other, now, 1)).claimed;
              if (first === undefined) throw new Error('one is due');
              await other.claims.record(first, failed, { status: 'pending', due: now + 2 * hour }, 9);
            })()
          : null,
      );
      await other.log.insert([{ ...row(1), due: now + 3 * hour }]);
      const slow = mongoDeliveries({ database: late, clock, entropy: new SystemEntropy() });
      await slow.claims.hasten({ now: () => now }, hour);
      expect(await other.claims.dueTimes()).to.deep.equal(new Map([[endpoint, now + 2 * hour]]));
    }),
  );

  it(
    'leave an attempt under way to its process when the clock is set back',
    using(async (database, process) => {
      await process().log.insert([row(1)]);
      const shifted = new VirtualClock();
      const [busy, other] = [1, 2].map(() =>
        mongoDeliveries({ database, clock: shifted, entropy: new SystemEntropy() }),
      );
      if (busy === undefined || other === undefined) throw new Error('two were made');
      const [underWay] = (await claim(busy, 9e15, 1)).claimed;
      shifted.set(shifted.now() - 3_600_000);
      await other.claims.hasten(shifted, 9e15);
      expect((await claim(other, 9e15, 1)).claimed).to.deep.equal([]);
      if (underWay === undefined) throw new Error('one is due');
      expect((await busy.claims.record(underWay, failed, exhausted, 9)).recorded).to.equal(true);
    }),
  );

  it(
    'are not freed by a process whose claim another has taken over',
    using(async (database, process) => {
      await process().log.insert([row(1)]);
      const later = new VirtualClock();
      const entropy = new SystemEntropy();
      const other = mongoDeliveries({ database, clock: later, entropy });
      const taken: DeliveryClaim[] = [];
      const late = delaying(database, (call) =>
        call === 'updateMany deliveries' && later.now() > early.now()
          ? claim(other, 9e15, 1).then(({ claimed }) => taken.push(...claimed))
          : null,
      );
      const early = new VirtualClock();
      const slow = mongoDeliveries({ database: late, clock: early, entropy });
      const [first] = (await claim(slow, 9e15, 1)).claimed;
      if (first === undefined) throw new Error('one is due');
      later.set(later.now() + 3_600_000);
      await slow.claims.release(first);
      const third = mongoDeliveries({ database, clock: later, entropy });
      expect((await claim(third, 9e15, 1)).claimed).to.deep.equal([]);
      expect(taken.map(({ delivery }) => delivery)).to.deep.equal(['dlv_1']);
    }),
  );

  it(
    'are not removed if they were made due again since they were found to have ended',
    using(async (database, process) => {
      const other = process();
      await other.log.insert([row(1)]);
      const [first] = (await claim(other, 9e15, 1)).claimed;
      if (first === undefined) throw new Error('one is due');
      await other.claims.record(first, failed, exhausted, 9);
      const late = delaying(database, (call) =>
        call === 'deleteMany deliveries' ? other.log.retry(org, 'dlv_1', 9_000, 9e15) : null,
      );
      const removing = mongoDeliveries({ database: late, clock, entropy: new SystemEntropy() });
      expect(await removing.log.removeEnded(clock.now() + 60_000)).to.equal(0);
      expect((await other.log.get(org, 'dlv_1'))?.status).to.equal('pending');
    }),
  );

  it(
    'insert a row once, whoever else does',
    using(async (_, process) => {
      const rows = Array.from({ length: 30 }, (_, index) => row(index + 1));
      const added = await Promise.all(Array.from({ length: 4 }, () => process().log.insert(rows)));
      expect(added.flat().toSorted()).to.deep.equal(rows.map(({ id }) => id).toSorted());
    }),
  );

  it(
    'count an attempt whose process died before it was counted, once',
    using(async (database, process) => {
      const dying = process();
      await dying.log.insert([row(1), row(2)]);
      const { claimed } = await claim(dying, 9_000, 1);
      const [first] = claimed;
      if (first === undefined) throw new Error('one is due');
      await dying.claims.record(first, failed, exhausted, 2);
      // As the delivery stands between the two writes.
      const uncounted = {
        attempt: 'dlv_2 1',
        claim: 'another',
        at: 6_000,
        failure: 'HTTP 500',
        enabledAt: 0,
        disableAfter: 2,
      };
      await database.collection('deliveries').updateOne({ event: 'evt_2' }, { $set: { uncounted } });
      const trip = { org, endpoint, enabledAt: 0, consecutiveFailures: 2, lastFailure: 'HTTP 500' };
      const others = [process(), process()];
      await Promise.all(others.map((deliveries) => deliveries.gates.tripped()));
      expect(await others[0]?.gates.tripped()).to.deep.equal([trip]);
      await database.collection('deliveries').updateOne({ event: 'evt_2' }, { $set: { uncounted } });
      expect(await others[1]?.gates.tripped()).to.deep.equal([trip]);
      expect((await process().gates.health(org)).get(endpoint)).to.deep.equal({
        failureCount: 2,
        consecutiveFailures: 2,
        lastSuccessAt: null,
      });
    }),
  );

  it(
    'count every failure of many processes, and trip once it is too much',
    using(async (_, process) => {
      await process().log.insert(Array.from({ length: 30 }, (_, index) => row(index + 1)));
      const workers = [process(), process(), process()];
      const recorded = await Promise.all(
        workers.map(async (deliveries) => {
          const { claimed } = await claim(deliveries, 9_000, 10);
          return Promise.all(claimed.map((one) => deliveries.claims.record(one, failed, exhausted, 1_000)));
        }),
      );
      const count = recorded.flat().length;
      expect((await process().gates.health(org)).get(endpoint)?.consecutiveFailures).to.equal(count);
    }),
  );

  it(
    'record together what ends together, each attempt for itself: what was dropped meanwhile, claimed again, and asked for twice',
    using(async (database, process) => {
      const [deliveries, other] = [process(), process()];
      await deliveries.log.insert([1, 2, 3, 4].map(row));
      const [ended, dropped, lost, again] = (await claim(deliveries, 9_000, 4)).claimed;
      if (ended === undefined || dropped === undefined || lost === undefined || again === undefined)
        throw new Error('four are due');
      await database
        .collection('deliveries')
        .updateOne({ event: 'evt_2' }, { $set: { status: 'dropped', due: null, dropReason: 'a reason' } });
      // As if the claim was over, and another process had made the attempt.
      await database
        .collection('deliveries')
        .updateOne({ event: 'evt_3' }, { $set: { claim: null, claimedUntil: 0 } });
      const [taken] = (await claim(other, 9_000, 4)).claimed;
      expect(taken?.delivery).to.equal('dlv_3');
      const outcomes = await Promise.all([
        deliveries.claims.record(ended, { ...failed, httpStatus: 200 }, { status: 'delivered' }, 20),
        deliveries.claims.record(dropped, failed, exhausted, 20),
        deliveries.claims.record(lost, failed, exhausted, 20),
        deliveries.claims.record(again, failed, { status: 'pending', due: 99_000 }, 20),
        deliveries.claims.record(again, failed, { status: 'pending', due: 99_000 }, 20),
      ]);
      expect(outcomes.slice(0, 3).map(({ recorded }) => recorded)).to.deep.equal([true, true, false]);
      expect(outcomes.slice(3).filter(({ recorded }) => recorded)).to.have.length(1);
      const rows = await deliveries.log.page(
        org,
        { endpoint: null, status: null, type: null, card: null },
        { startingAfter: null, limit: 5 },
      );
      expect(rows?.map(({ id, status, attempts, due }) => [id, status, attempts.length, due])).to.deep.equal([
        ['dlv_4', 'pending', 1, 99_000],
        ['dlv_3', 'pending', 0, 1_003],
        ['dlv_2', 'dropped', 1, null],
        ['dlv_1', 'delivered', 1, null],
      ]);
      expect((await deliveries.gates.health(org)).get(endpoint)).to.deep.equal({
        failureCount: 2,
        consecutiveFailures: 2,
        lastSuccessAt: 5_000,
      });
      expect(
        await database.collection('deliveries').countDocuments({ uncounted: { $exists: true } }),
      ).to.equal(0);
    }),
  );

  it(
    'record an attempt whose first answer was lost: it was recorded',
    using(async (database, process) => {
      const deliveries = process();
      await deliveries.log.insert([row(1)]);
      const [one] = (await claim(deliveries, 9_000, 1)).claimed;
      if (one === undefined) throw new Error('one is due');
      // As the delivery stands where the connection was cut right after the write.
      const uncounted = {
        attempt: `dlv_1 ${one.id}`,
        claim: one.id,
        at: 5_000,
        failure: 'HTTP 500',
        enabledAt: 0,
        disableAfter: 20,
      };
      const written = {
        status: 'exhausted',
        due: null,
        claim: null,
        claimedUntil: 0,
        made: 1,
        attempts: [failed],
        uncounted,
      };
      await database.collection('deliveries').updateOne({ event: 'evt_1' }, { $set: written });
      expect(await deliveries.claims.record(one, failed, exhausted, 20)).to.deep.equal({
        recorded: true,
        tripped: null,
      });
      expect(await deliveries.claims.record(one, failed, exhausted, 20)).to.deep.equal({
        recorded: false,
        tripped: null,
      });
      const rows = await deliveries.log.page(
        org,
        { endpoint: null, status: null, type: null, card: null },
        { startingAfter: null, limit: 5 },
      );
      expect(rows?.map(({ status, attempts }) => [status, attempts])).to.deep.equal([
        ['exhausted', [failed]],
      ]);
      expect((await deliveries.gates.health(org)).get(endpoint)).to.deep.equal({
        failureCount: 1,
        consecutiveFailures: 1,
        lastSuccessAt: null,
      });
    }),
  );

  const named = (number: number): NewDelivery => {
    const data = { card: 'HC-1', recipient: 'Ada', reference: 'order 1', heldReason: null };
    return { ...row(number), card: 'HC-1', body: JSON.stringify({ id: `evt_${number}`, data }) };
  };
  const echoed: DeliveryAttempt = { ...failed, body: 'thanks for telling us of Ada' };
  /** What the server holds of the deliveries, but for their ids. */
  const stored = async (database: MongoDatabase): Promise<string> =>
    JSON.stringify(
      await database
        .collection('deliveries')
        .find({}, { projection: { position: 0 } })
        .toArray(),
    );

  it(
    'leave nothing of an erased card behind, whenever an attempt is recorded while it is erased',
    using(async (database, process) => {
      const worker = process();
      await worker.log.insert(Array.from({ length: 12 }, (_, index) => named(index + 1)));
      const left = [...(await claim(worker, 9_000, 12)).claimed];
      // Two right before each write of the erasure.
      const recordTwo = async (): Promise<void> => {
        const two = await Promise.all(
          left.splice(0, 2).map((one) => worker.claims.record(one, echoed, exhausted, 1_000)),
        );
        expect(two.filter(({ recorded }) => !recorded)).to.deep.equal([]);
      };
      const writes = ['updateOne deliveries', 'updateMany deliveries', 'bulkWrite deliveries'];
      const eraser = mongoDeliveries({
        database: delaying(database, (call) => (writes.includes(call) ? recordTwo() : null)),
        clock,
        entropy: new SystemEntropy(),
      });
      await eraser.log.erase('HC-1', 9_000);
      expect(left.length, 'some were recorded meanwhile').to.be.lessThan(12);
      while (left.length > 0) await recordTwo();
      const rows = await worker.log.page(
        org,
        { endpoint: null, status: null, type: null, card: 'HC-1' },
        { startingAfter: null, limit: 20 },
      );
      expect(rows?.map(({ attempts }) => attempts.length)).to.deep.equal(Array.from({ length: 12 }, () => 1));
      expect(await stored(database)).to.not.match(/Ada|order 1/);
    }),
  );

  for (const [way, store] of [
    ['stored', (late: Deliveries) => late.log.insert([named(1)])],
    ['replayed', (late: Deliveries) => late.log.replay([named(1)])],
  ] as const)
    it(
      `leave nothing of an erased card behind that is ${way} while it is erased`,
      using(async (database, process) => {
        const late = mongoDeliveries({
          database: delaying(database, (call) =>
            call === 'insertMany deliveries' ? process().log.erase('HC-1', clock.now()) : null,
          ),
          clock,
          entropy: new SystemEntropy(),
        });
        await store(late);
        expect(await stored(database))
          .to.include('dlv_1')
          .and.not.match(/Ada|order 1/);
      }),
    );

  /** Stores a delivery of a card that is erased meanwhile, and dies before it could see that. */
  const dieStoring = async (database: MongoDatabase, process: () => Deliveries): Promise<void> => {
    let looks = 0;
    const dying = mongoDeliveries({
      database: refusing(
        delaying(database, (call) =>
          call === 'insertMany deliveries' ? process().log.erase('HC-1', clock.now()) : null,
        ),
        (call) => call === 'find erased_cards' && (looks += 1) > 1,
      ),
      clock,
      entropy: new SystemEntropy(),
    });
    const outcome: unknown = await dying.log.insert([named(1)]).catch((error: unknown) => error);
    expect(outcome).to.be.instanceOf(DeliveriesUnavailable);
    expect(await stored(database)).to.include('Ada');
  };

  it(
    'send no name of an erased card, even if a process stored one at that moment and died',
    using(async (database, process) => {
      await dieStoring(database, process);
      const claims = await claimAll(process(), 5);
      expect(claims.map(({ body }) => body.includes('Ada'))).to.deep.equal([false]);
      expect(await stored(database)).to.not.match(/Ada|order 1/);
    }),
  );

  it(
    'remove a name of an erased card that a process stored at that moment and died, to whatever endpoint',
    using(async (database, process) => {
      await dieStoring(database, process);
      await process().log.dropExpired(clock.now());
      expect(await stored(database)).to.not.match(/Ada|order 1/);
    }),
  );

  /** Another process whose first update of a delivery waits until something else has changed it. */
  const overtaken = (database: MongoDatabase, by: () => Promise<unknown>): Deliveries => {
    let isFirst = true;
    const once = (call: string): Promise<unknown> | null => {
      if (call !== 'updateOne deliveries' || !isFirst) return null;
      isFirst = false;
      return by();
    };
    return mongoDeliveries({
      database: delaying(database, once),
      clock,
      entropy: new SystemEntropy(),
    });
  };

  it(
    'make a dropped delivery due that is retried or replayed, although an attempt under way is recorded meanwhile',
    using(async (database, process) => {
      const worker = process();
      for (const [number, again] of [
        [1, (at: Deliveries) => at.log.retry(org, 'dlv_1', 9_000, 9e15)],
        [2, (at: Deliveries) => at.log.replay([row(2)])],
      ] as const) {
        await worker.log.insert([row(number)]);
        const [one] = (await claim(worker, 9_000, 1)).claimed;
        if (one === undefined) throw new Error('one is due');
        await database
          .collection('deliveries')
          .updateOne(
            { event: one.event },
            { $set: { status: 'dropped', due: null, dropReason: 'a reason' } },
          );
        await again(overtaken(database, () => worker.claims.record(one, failed, exhausted, 1_000)));
        const found = await worker.log.get(org, one.delivery);
        expect([found?.status, found?.attempts.length]).to.deep.equal(['pending', 1]);
        await database.collection('deliveries').updateOne({ event: one.event }, { $set: { due: 9e15 } });
      }
    }),
  );

  it(
    'record an attempt although its delivery is dropped, and made due between the two writes that ask for that',
    using(async (database, process) => {
      await process().log.insert([row(1)]);
      let writes = 0;
      const worker = mongoDeliveries({
        database: delaying(database, (call) =>
          call === 'bulkWrite deliveries' && (writes += 1) === 2
            ? process().log.retry(org, 'dlv_1', 9_000, 9e15)
            : null,
        ),
        clock,
        entropy: new SystemEntropy(),
      });
      const [one] = (await claim(worker, 9_000, 1)).claimed;
      if (one === undefined) throw new Error('one is due');
      await database
        .collection('deliveries')
        .updateOne({ event: one.event }, { $set: { status: 'dropped', due: null, dropReason: 'a reason' } });
      writes = 0;
      const later = { status: 'pending', due: 9_000 } as const;
      expect((await worker.claims.record(one, failed, later, 1_000)).recorded).to.equal(true);
      expect((await claim(process(), 9_000, 5)).claimed.map(({ number }) => number)).to.deep.equal([2]);
    }),
  );

  it(
    'make nothing due that an attempt has ended meanwhile',
    using(async (database, process) => {
      const worker = process();
      await worker.log.insert([row(1)]);
      const [one] = (await claim(worker, 9_000, 1)).claimed;
      if (one === undefined) throw new Error('one is due');
      const late = overtaken(database, () =>
        worker.claims.record(one, succeeded, { status: 'delivered' }, 1_000),
      );
      expect(await late.log.retry(org, 'dlv_1', 9_000, 9e15)).to.equal('refused');
      expect((await worker.log.get(org, one.delivery))?.due).to.equal(null);
    }),
  );

  for (const [what, drop] of [
    ['expired', (log) => log.log.dropExpired(9e15)],
    ['of a deleted endpoint', (log) => log.gates.deleteEndpoint(org, endpoint, 'it was deleted', 9_000)],
  ] as const satisfies readonly (readonly [string, (of: Deliveries) => Promise<unknown>])[])
    it(
      `drop nothing that is ${what} and that an attempt has ended meanwhile`,
      using(async (database, process) => {
        const worker = process();
        await worker.log.insert([row(1)]);
        const [one] = (await claim(worker, 9_000, 1)).claimed;
        if (one === undefined) throw new Error('one is due');
        await process().gates.upsertEndpoint({ ...target, active: false, version: 1 }, 9_000);
        let isFirst = true;
        const late = mongoDeliveries({
          database: delaying(database, (call) => {
            if (call !== 'updateMany deliveries' || !isFirst) return null;
            isFirst = false;
            return worker.claims.record(one, succeeded, { status: 'delivered' }, 1_000);
          }),
          clock,
          entropy: new SystemEntropy(),
        });
        await drop(late);
        expect(isFirst).to.equal(false);
        const found = await worker.log.get(org, one.delivery);
        expect([found?.status, found?.dropReason]).to.deep.equal(['delivered', null]);
      }),
    );

  it(
    'open no endpoint that was disabled meanwhile',
    using(async (database, process) => {
      const disabled = { ...target, active: false };
      await process().gates.upsertEndpoint({ ...disabled, version: 1 }, 9_000);
      let writes = 0;
      const late = mongoDeliveries({
        // The first one stores the endpoint, and the second opens it.
        database: delaying(database, (call) =>
          call === 'updateOne delivery_targets' && (writes += 1) === 2
            ? process().gates.upsertEndpoint({ ...disabled, version: 3 }, 9_000)
            : null,
        ),
        clock,
        entropy: new SystemEntropy(),
      });
      await late.gates.upsertEndpoint({ ...target, version: 2, enabledAt: 2 }, 9_000);
      expect(writes).to.equal(2);
      await process().log.insert([row(1)]);
      expect((await claim(process(), 9_000, 5)).claimed).to.deep.equal([]);
    }),
  );

  it(
    'count a dead letter for one of those who make it due at once',
    using(async (database, process) => {
      const worker = process();
      await worker.log.insert([row(1)]);
      const [one] = (await claim(worker, 9_000, 1)).claimed;
      if (one === undefined) throw new Error('one is due');
      await worker.claims.record(one, failed, exhausted, 1_000);
      const late = overtaken(database, () => worker.log.retry(org, 'dlv_1', 9_000, 9e15));
      const all = { from: { time: 0 }, to: null, endpoint: null };
      expect((await late.log.redrive(org, all, 9_000, 9e15)).counts.size).to.equal(0);
      expect((await claim(worker, 9_000, 5)).claimed.map(({ number }) => number)).to.deep.equal([2]);
    }),
  );

  it(
    'keep the newer version of an endpoint that another process stored meanwhile',
    using(async (database, process) => {
      const newer = { ...target, url: 'https://example.com/newer' as WebhookUrl, version: 2 };
      let isFirst = true;
      const late = mongoDeliveries({
        database: delaying(database, (call) => {
          if (call !== 'updateOne delivery_targets' || !isFirst) return null;
          isFirst = false;
          return process().gates.upsertEndpoint(newer, 0);
        }),
        clock,
        entropy: new SystemEntropy(),
      });
      await late.gates.upsertEndpoint({ ...target, version: 1 }, 0);
      expect((await process().gates.addresses([endpoint])).get(endpoint)?.url).to.equal(newer.url);
    }),
  );

  it(
    'ask the server a few times for a hundred claims, and for a hundred attempts',
    using(async (database) => {
      const asked: string[] = [];
      const deliveries = mongoDeliveries({
        database: noting(database, asked),
        clock,
        entropy: new SystemEntropy(),
      });
      const endpoints = Array.from({ length: 10 }, (_, index) => Uuid.parse(`endpoint-${index + 1}`));
      for (const of of endpoints) await deliveries.gates.upsertEndpoint({ ...target, endpoint: of }, 0);
      await deliveries.log.insert(
        Array.from({ length: 200 }, (_, index) => ({
          ...row(index),
          endpoint: endpoints[index % 10] ?? endpoint,
        })),
      );
      const round = async () => {
        asked.length = 0;
        const claims = [
          ...(await deliveries.claims.claim(new Map(endpoints.map((of) => [of, 10])), 9_000)).values(),
        ].flatMap(({ claimed }) => claimed);
        const outcomes = await Promise.all(
          claims.map((one) => deliveries.claims.record(one, failed, exhausted, 1_000)),
        );
        return { recorded: outcomes.filter(({ recorded }) => recorded).length, asked: asked.toSorted() };
      };
      const lot = [
        'bulkWrite deliveries',
        'bulkWrite delivery_targets',
        'find deliveries',
        'find delivery_targets',
        'find delivery_targets',
        'find delivery_targets',
        'find erased_cards',
      ];
      const marks = ['updateMany deliveries', 'updateMany deliveries'];
      const looks = endpoints.map(() => 'find deliveries');
      expect(await round()).to.deep.equal({ recorded: 100, asked: [...lot, ...marks, ...looks].toSorted() });
      expect(await round(), 'what was found and had no room is not looked for again').to.deep.equal({
        recorded: 100,
        asked: [...lot, ...marks].toSorted(),
      });
    }),
  );

  it(
    'give a claim back as soon as they can where it could not be given back at once',
    using(async (database) => {
      let broken = false;
      const refuses = (call: string): boolean => broken && call === 'updateMany deliveries';
      const deliveries = mongoDeliveries({
        database: refusing(database, refuses),
        clock,
        entropy: new SystemEntropy(),
      });
      await deliveries.log.insert([row(1), row(2), row(3)]);
      const [first, second] = (await claim(deliveries, 9_000, 2)).claimed;
      if (first === undefined || second === undefined) throw new Error('two are due');
      broken = true;
      const outcome = await deliveries.claims.release(first).catch((error: unknown) => error);
      expect(outcome).to.be.instanceOf(DeliveriesUnavailable);
      broken = false;
      const again = await claimAll(deliveries, 5);
      expect(again.map(({ delivery }) => delivery).toSorted()).to.deep.equal(['dlv_1', 'dlv_3']);
    }),
  );

  it(
    'tell when a claim is over whose process has died: nobody has to come across it',
    using(async (database, process) => {
      await process().log.insert([row(1)]);
      const before = clock.now();
      await claim(
        mongoDeliveries({ database, clock, entropy: new SystemEntropy(), attemptTime: 90_000 }),
        9_000,
        1,
      );
      const over = (await process().claims.dueTimes()).get(endpoint);
      expect(over, 'longer than any attempt').to.be.within(before + 140_000, clock.now() + 140_000);
    }),
  );

  it(
    'claim nothing again that they still work on, however late it is recorded; another process may',
    using(async (database, process) => {
      const brief = { database, clock, entropy: new SystemEntropy(), attemptTime: 0, recordedWithin: 0 };
      const deliveries = mongoDeliveries(brief);
      await deliveries.log.insert([row(1), row(2), row(3)]);
      const [first, second, third] = (await claim(deliveries, 9_000, 3)).claimed;
      if (first === undefined || second === undefined || third === undefined)
        throw new Error('three are due');
      expect(await claim(deliveries, 9_000, 3)).to.deep.equal({ claimed: [], next: null });
      expect(
        (await deliveries.claims.record(first, failed, { status: 'pending', due: 8_000 }, 20)).recorded,
      ).to.equal(true);
      await deliveries.claims.release(second);
      const again = (await claim(deliveries, 9_000, 3)).claimed;
      expect(again.map(({ delivery, number }) => [delivery, number])).to.deep.equal([
        ['dlv_2', 1],
        ['dlv_1', 2],
      ]);
      const others = (await claim(process(), 9_000, 3)).claimed;
      expect(others.map(({ delivery }) => delivery)).to.deep.equal(['dlv_2', 'dlv_3', 'dlv_1']);
      expect((await deliveries.claims.record(third, failed, exhausted, 20)).recorded).to.equal(false);
    }),
  );

  it(
    'write no more for an attempt, however many there were before it',
    using(async (database, process) => {
      const worker = process();
      const sizeAfter = async (attempts: number, from: number): Promise<number> => {
        await worker.log.insert(Array.from({ length: attempts }, (_, index) => row(from + index)));
        for (let left = attempts; left > 0; left--) {
          const [one] = (await claim(worker, 9_000, 1)).claimed;
          if (one === undefined) throw new Error('one is due');
          await worker.claims.record(one, failed, exhausted, 1_000);
        }
        return JSON.stringify(await database.collection('delivery_targets').findOne({})).length;
      };
      const few = await sizeAfter(3, 100);
      expect(await sizeAfter(40, 200)).to.be.within(few - 20, few + 20);
      expect((await worker.gates.health(org)).get(endpoint)).to.include({ consecutiveFailures: 43 });
    }),
  );

  it(
    'count every attempt once, however many processes record them for one endpoint',
    using(async (database, process) => {
      const workers = Array.from({ length: 4 }, process);
      const rows = Array.from({ length: 80 }, (_, index) => row(index + 1));
      await workers[0]?.log.insert(rows);
      await Promise.all(
        workers.map(async (worker) => {
          for (const one of await claimAll(worker, 5))
            await worker.claims.record(one, failed, exhausted, 1_000);
        }),
      );
      await process().gates.tripped();
      expect((await process().gates.health(org)).get(endpoint)).to.include({ failureCount: 80 });
      expect(
        await database.collection('deliveries').countDocuments({ uncounted: { $exists: true } }),
      ).to.equal(0);
    }),
  );

  it(
    'leave it to the server to remove what ended long ago',
    using(async (database, process) => {
      const worker = process();
      await worker.log.insert([row(1), row(2)]);
      const [first] = (await claim(worker, 9_000, 1)).claimed;
      if (first === undefined) throw new Error('one is due');
      await worker.claims.record(first, failed, exhausted, 20);
      const ended = (await database.collection('deliveries').indexes()).find(({ name }) => name === 'ended');
      expect(ended).to.deep.include({ key: { removeAt: 1 }, expireAfterSeconds: 0 });
      const rows = await database
        .collection<{ readonly removeAt: Date | null; readonly seq: number }>('deliveries')
        .find()
        .sort({ seq: 1 })
        .toArray();
      expect(rows.map(({ removeAt }) => removeAt?.getTime() ?? null)).to.deep.equal([
        failed.at + 30 * 86_400_000,
        null,
      ]);
    }),
  );

  for (const hours of [-1, 1])
    it(
      `start nothing once a second has passed since the claim, with a clock that was set by ${hours} h`,
      using(async (database, process) => {
        await process().log.insert([row(1)]);
        const set = new VirtualClock();
        const worker = mongoDeliveries({ database, clock: set, entropy: new SystemEntropy() });
        const [claimed] = (await claim(worker, 9e15, 1)).claimed;
        if (claimed === undefined) throw new Error('one is due');
        set.set(set.now() + hours * 3_600_000);
        await set.advance(startsWithin - 1);
        expect(worker.claims.mayStart(claimed)).to.equal(true);
        await set.advance(1);
        expect(worker.claims.mayStart(claimed)).to.equal(false);
      }),
    );

  it(
    'start nothing after their machine was suspended, which its monotonic clock does not count',
    using(async (database, process) => {
      await process().log.insert([row(1)]);
      let suspended = 0;
      const waking = Object.assign(new VirtualClock(), { drift: () => suspended });
      const worker = mongoDeliveries({ database, clock: waking, entropy: new SystemEntropy() });
      const [claimed] = (await claim(worker, 9e15, 1)).claimed;
      if (claimed === undefined) throw new Error('one is due');
      expect(worker.claims.mayStart(claimed)).to.equal(true);
      suspended = 3_000;
      expect(worker.claims.mayStart(claimed)).to.equal(false);
    }),
  );

  it(
    'start nothing of an endpoint that another process has closed',
    using(async (_, process) => {
      const [worker, api] = [process(), process()];
      await worker.log.insert([row(1), row(2)]);
      const [first] = (await claim(worker, 9_000, 1)).claimed;
      if (first === undefined) throw new Error('one is due');
      expect(worker.claims.mayStart(first)).to.equal(true);
      await api.gates.deleteEndpoint(org, endpoint, 'the endpoint was deleted', clock.now());
      expect(worker.claims.mayStart(first)).to.equal(false);
      expect(await claim(worker, 9_000, 5)).to.deep.equal({ claimed: [], next: null });
      await worker.log.insert([row(3)]);
      const rows = await api.log.page(
        org,
        { endpoint: null, status: 'dropped', type: null, card: null },
        { startingAfter: null, limit: 5 },
      );
      expect(rows?.map(({ id }) => id)).to.deep.equal(['dlv_3', 'dlv_2', 'dlv_1']);
    }),
  );

  it(
    'look through the claimed deliveries of an endpoint that is closed, by an index, not through all that it ever had',
    using(async (database) => {
      const asked: [string, unknown][] = [];
      const deliveries = mongoDeliveries({
        database: notingFilters(database, asked),
        clock,
        entropy: new SystemEntropy(),
      });
      await deliveries.gates.deleteEndpoint(org, endpoint, 'the endpoint was deleted', clock.now());
      const claimed = { claimedUntil: { $gt: 0 } };
      expect(asked).to.deep.include(['find deliveries', { endpoint: { $eq: endpoint }, ...claimed }]);
      const indexes = await database.collection('deliveries').indexes();
      expect(indexes.filter(({ name }) => name === 'claimed')).to.deep.equal([
        { v: 2, key: { endpoint: 1 }, name: 'claimed', partialFilterExpression: claimed },
      ]);
    }),
  );

  it(
    'drop what was made while an endpoint was being closed',
    using(async (database, process) => {
      const deliveries = process();
      await deliveries.log.insert([row(1)]);
      await database
        .collection('delivery_targets')
        .updateOne(
          { org: 'org-1' },
          { $set: { state: 'closed', closedBecause: 'the endpoint was deleted' } },
        );
      expect(await deliveries.log.dropExpired(0)).to.equal(1);
      const rows = await deliveries.log.page(
        org,
        { endpoint: null, status: null, type: null, card: null },
        { startingAfter: null, limit: 5 },
      );
      expect(rows?.map(({ status, dropReason }) => [status, dropReason])).to.deep.equal([
        ['dropped', 'the endpoint was deleted'],
      ]);
    }),
  );

  it(
    'show a watcher what another process does',
    using(async (_, process) => {
      const [watcher, worker] = [process(), process()];
      const stop = new AbortController();
      const seen: string[] = [];
      const watching = (async () => {
        for await (const { kind, delivery } of watcher.log.watch(org, stop.signal))
          seen.push(`${kind} ${delivery.id} ${delivery.status}`);
      })();
      await worker.log.insert([row(1)]);
      await eventually(() => seen.length === 1);
      const [first] = (await claim(worker, 9_000, 1)).claimed;
      if (first === undefined) throw new Error('one is due');
      await worker.claims.record(first, failed, exhausted, 20);
      await eventually(() => seen.length === 2);
      await watcher.log.retry(org, 'dlv_1', 9_000, 9e15);
      await eventually(() => seen.length === 3);
      await worker.log.insert([row(2)]);
      const all = await claimAll(worker, 5);
      const second = all.find(({ delivery }) => delivery === 'dlv_2');
      if (second === undefined) throw new Error('another is due');
      await worker.claims.record(second, failed, exhausted, 20);
      await eventually(() => seen.includes('attempted dlv_2 exhausted'));
      stop.abort();
      await watching;
      expect(seen.filter((change) => change.includes('dlv_1'))).to.deep.equal([
        'made dlv_1 pending',
        'attempted dlv_1 exhausted',
        'changed dlv_1 pending',
      ]);
      expect(seen.filter((change) => change.includes('dlv_2'))).to.deep.equal([
        'made dlv_2 pending',
        'attempted dlv_2 exhausted',
      ]);
    }),
  );

  it(
    'do what was done also where the watchers can not be told of it at once: they hear of it later',
    using(async (database) => {
      let broken = false;
      const deliveries = mongoDeliveries({
        database: refusing(database, (call) => broken && call === 'find deliveries'),
        clock,
        entropy: new SystemEntropy(),
      });
      const stop = new AbortController();
      const seen: string[] = [];
      const watching = (async () => {
        for await (const { kind, delivery } of deliveries.log.watch(org, stop.signal))
          seen.push(`${kind} ${delivery.id}`);
      })();
      broken = true;
      expect(await deliveries.log.insert([row(1)])).to.deep.equal(['dlv_1']);
      broken = false;
      await eventually(() => seen.length === 1);
      stop.abort();
      await watching;
      expect(seen).to.deep.equal(['made dlv_1']);
    }),
  );
});
