import { expect } from 'chai';
import type {
  DeliveryAttempt,
  Delivery,
  DeliveryId,
  NewDelivery,
} from '../../application/ports/delivery-log.js';
import type {
  AttemptOutcome,
  DeliveryClaim,
  EndpointClaims,
} from '../../application/ports/delivery-claims.js';
import type { Deliveries } from '../../application/ports/deliveries.js';
import type { Place } from '../../application/ports/event-store.js';
import type { DeliveryEndpoint } from '../../application/ports/endpoint-gates.js';
import { attemptsKept, expiredReason } from '../../application/ports/delivery-log.js';
import { deleteEndpoint, disableEndpoint, enableEndpoint } from '../../application/webhooks/webhooks.js';
import type { Milliseconds, OrganizationId, Uuid } from '../../domain/ids.js';
import { webhookEndpoints } from '../../domain/webhook-endpoints.js';
import type { WebhookUrl } from '../../domain/webhook-url.js';
import { openOffice } from '../support/fixtures/webhooks.js';
import { org as officeOrg } from '../support/fixtures/world.js';

const org = 'org-1' as OrganizationId;
const otherOrg = 'org-2' as OrganizationId;
const endpoint = 'endpoint-1' as Uuid;
const other = 'endpoint-2' as Uuid;
const foreign = 'endpoint-3' as Uuid;
const noFilter = { endpoint: null, status: null, type: null, card: null };
const firstPage = { startingAfter: null, limit: 50 };

const target = (more: Partial<DeliveryEndpoint> = {}): DeliveryEndpoint => ({
  endpoint,
  org,
  url: 'https://example.com/' as WebhookUrl,
  secrets: [],
  active: true,
  version: 0,
  enabledAt: 0,
  ...more,
});

const row = (number: number, more: Partial<NewDelivery> = {}): NewDelivery => ({
  id: `dlv_${number}` as DeliveryId,
  org,
  endpoint,
  event: `evt_${number}`,
  type: 'card.created',
  card: `HC-${number}`,
  position: BigInt(number),
  occurredAt: 1_000 + number,
  body: `{"number":${number},"name":"Zoë"}`,
  due: 1_000 + number,
  allowed: 3,
  expires: 100_000,
  dropReason: null,
  ...more,
});

const stored = (made: NewDelivery, more: Partial<Delivery> = {}): Delivery => ({
  ...made,
  status: 'pending',
  attempts: [],
  made: more.attempts?.length ?? 0,
  ...more,
});

const attempt = (at: number, httpStatus: number | null): DeliveryAttempt => ({
  at,
  httpStatus,
  error: httpStatus === null ? 'connection refused' : null,
  duration: 5,
  body: httpStatus === null ? null : 'answer',
});
const delivered: AttemptOutcome = { status: 'delivered' };
const exhausted: AttemptOutcome = { status: 'exhausted' };
const again = (due: number): AttemptOutcome => ({ status: 'pending', due });

export interface OpenedDeliveries {
  readonly deliveries: Deliveries;
  /** The deliveries as a new process finds them after this one has died. */
  readonly restarted: () => Promise<Deliveries>;
  /** The same, with a clock that has changed by this much, and claims that end when their time is over. */
  readonly restartedLater: (by: Milliseconds) => Promise<Deliveries>;
  /** Null if it does at once what touches many rows. */
  readonly steps: Steps | null;
  readonly close: () => Promise<void>;
}

/** What touches many rows is done some at a time. */
export interface Steps {
  /** How many rows a step touches at most. */
  readonly rows: number;
  /** How many rows were pending after each step so far, and maybe after other writes, in order. */
  readonly pending: readonly number[];
}

/** What every delivery store promises. `open` is called for each test. */
export const deliveriesContract = (name: string, open: () => Promise<OpenedDeliveries>): void => {
  describe(`the deliveries contract: ${name}`, () => {
    const using =
      (
        run: (
          deliveries: Deliveries,
          restarted: () => Promise<Deliveries>,
          steps: Steps | null,
          restartedLater: OpenedDeliveries['restartedLater'],
        ) => Promise<void>,
      ) =>
      async () => {
        const { deliveries, restarted, restartedLater, steps, close } = await open();
        try {
          await deliveries.gates.upsertEndpoint(target(), 0);
          await deliveries.gates.upsertEndpoint(target({ endpoint: other }), 0);
          await deliveries.gates.upsertEndpoint(target({ endpoint: foreign, org: otherOrg }), 0);
          await run(deliveries, restarted, steps, restartedLater);
        } finally {
          await close();
        }
      };

    const all = async (deliveries: Deliveries, filter = {}) =>
      (await deliveries.log.page(org, { ...noFilter, ...filter }, firstPage)) ?? [];
    const only = async (deliveries: Deliveries, id: string) =>
      (await all(deliveries)).find((found) => found.id === id);
    const claimSome = async (
      deliveries: Deliveries,
      of: Uuid,
      now: number,
      limit: number,
    ): Promise<EndpointClaims> => {
      const claims = (await deliveries.claims.claim(new Map([[of, limit]]), now)).get(of);
      if (claims === undefined) throw new Error(`nothing was answered for ${of}`);
      return claims;
    };
    const claimOne = async (deliveries: Deliveries, now: number, of = endpoint): Promise<DeliveryClaim> => {
      const [one] = (await claimSome(deliveries, of, now, 1)).claimed;
      if (one === undefined) throw new Error(`nothing of ${of} is due at ${now}`);
      return one;
    };
    const idsOf = (claims: readonly DeliveryClaim[]) => claims.map(({ delivery }) => delivery);

    it(
      'keeps the place in a trace that a delivery belongs to, for its list and its attempts',
      using(async (deliveries, restarted) => {
        const traceparent = '00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01';
        await deliveries.log.insert([row(1, { traceparent }), row(2)]);
        const again = await restarted();
        expect(await all(again)).to.deep.equal([stored(row(2)), stored(row(1, { traceparent }))]);
        const { claimed } = await claimSome(again, endpoint, 2_000, 2);
        expect(claimed.map((claim) => claim.traceparent)).to.deep.equal([traceparent, undefined]);
      }),
    );

    it(
      'lists inserted deliveries, newest first, and inserts none twice',
      using(async (deliveries, restarted) => {
        expect(await deliveries.log.insert([row(1), row(2)])).to.deep.equal(['dlv_1', 'dlv_2']);
        expect(
          await deliveries.log.insert([
            row(2, { body: 'other' }),
            row(3, { dropReason: 'the endpoint is disabled' }),
          ]),
        ).to.deep.equal(['dlv_3']);
        const rows = [
          stored(row(3), { status: 'dropped', due: null, dropReason: 'the endpoint is disabled' }),
          stored(row(2)),
          stored(row(1)),
        ];
        expect(await all(deliveries)).to.deep.equal(rows);
        expect(await all(await restarted())).to.deep.equal(rows);
      }),
    );

    it(
      'lists the dead letters of all organizations, newest first',
      using(async (deliveries, restarted) => {
        const rows = [row(1), row(2, { endpoint: foreign, org: otherOrg }), row(3, { endpoint: other })];
        await deliveries.log.insert([...rows, row(4)]);
        for (const { endpoint: of } of rows)
          await deliveries.claims.record(
            await claimOne(deliveries, 2_000, of),
            attempt(2_000, 500),
            exhausted,
            9,
          );
        const again = await restarted();
        const idsAfter = async (startingAfter: string | null, limit: number) =>
          (await again.log.deadLetters({ startingAfter, limit }))?.map(({ id, org: of }) => [id, of]) ?? null;
        expect(await idsAfter(null, 2)).to.deep.equal([
          ['dlv_3', org],
          ['dlv_2', otherOrg],
        ]);
        expect(await idsAfter('dlv_2', 2)).to.deep.equal([['dlv_1', org]]);
        expect(await idsAfter('dlv_none', 2)).to.equal(null);
      }),
    );

    it(
      'lists the endpoints of all organizations, and those that nothing is sent to',
      using(async (deliveries, restarted) => {
        await deliveries.gates.upsertEndpoint(target({ endpoint: other, active: false, version: 1 }), 2_000);
        await deliveries.gates.deleteEndpoint(org, endpoint, 'deleted', 2_000);
        await deliveries.log.insert([row(1, { endpoint: foreign, org: otherOrg })]);
        const claim = await claimOne(deliveries, 2_000, foreign);
        await deliveries.claims.record(claim, attempt(2_000, null), exhausted, 1);
        const again = await restarted();
        const healthy = { failureCount: 0, consecutiveFailures: 0, lastSuccessAt: null };
        const url = target().url;
        const inactive = { endpoint: other, org, url, active: false, lastFailure: null, ...healthy };
        const tripped = {
          ...inactive,
          endpoint: foreign,
          org: otherOrg,
          lastFailure: 'connection refused',
          failureCount: 1,
          consecutiveFailures: 1,
        };
        expect(await again.gates.watched(true, firstPage)).to.deep.equal([inactive, tripped]);
        expect(await again.gates.watched(true, { startingAfter: other, limit: 1 })).to.deep.equal([tripped]);
        await again.gates.upsertEndpoint(target({ endpoint: other, version: 2, enabledAt: 2 }), 3_000);
        expect(await again.gates.watched(true, firstPage)).to.deep.equal([tripped]);
        const [opened] = await again.gates.watched(false, { startingAfter: null, limit: 1 });
        expect(opened).to.deep.equal({ ...inactive, active: true });
      }),
    );

    it(
      'filters and pages deliveries',
      using(async (deliveries) => {
        await deliveries.log.insert(
          [1, 2, 3, 4].map((number) =>
            row(number, {
              endpoint: number % 2 === 0 ? other : endpoint,
              type: number > 2 ? 'card.held' : 'card.created',
            }),
          ),
        );
        await deliveries.log.insert([row(5, { org: otherOrg, endpoint: foreign })]);
        const ids = async (filter: object, page: object = {}) =>
          (await deliveries.log.page(org, { ...noFilter, ...filter }, { ...firstPage, ...page }))?.map(
            ({ id }) => id,
          ) ?? null;
        expect(await ids({})).to.deep.equal(['dlv_4', 'dlv_3', 'dlv_2', 'dlv_1']);
        expect(await ids({}, { limit: 2 })).to.deep.equal(['dlv_4', 'dlv_3']);
        expect(await ids({}, { limit: 2, startingAfter: 'dlv_3' })).to.deep.equal(['dlv_2', 'dlv_1']);
        expect(await ids({ endpoint: other })).to.deep.equal(['dlv_4', 'dlv_2']);
        expect(await ids({ endpoint: other, type: 'card.held' })).to.deep.equal(['dlv_4']);
        expect(await ids({ card: 'HC-1', status: 'pending' })).to.deep.equal(['dlv_1']);
        expect(await ids({ status: 'delivered' })).to.deep.equal([]);
        expect(await ids({ endpoint: other }, { startingAfter: 'dlv_3' })).to.deep.equal(['dlv_2']);
        expect(await ids({}, { startingAfter: 'dlv_5' })).to.equal(null);
        expect(await ids({}, { startingAfter: 'nonsense' })).to.equal(null);
      }),
    );

    it(
      'gets a delivery by its id, for its organization alone',
      using(async (deliveries) => {
        await deliveries.log.insert([row(1), row(2, { org: otherOrg, endpoint: foreign })]);
        expect(await deliveries.log.get(org, 'dlv_1')).to.deep.equal(stored(row(1)));
        for (const id of ['dlv_2', 'dlv_3', 'DLV_1', ''])
          expect(await deliveries.log.get(org, id), id).to.equal(null);
      }),
    );

    it(
      'erases what is personal in the deliveries of a card, and drops those that are pending',
      using(async (deliveries, restarted) => {
        const data = { card: 'HC-1', recipient: 'Ada', reference: 'order 1', heldReason: 'Ada has moved' };
        const sent = { id: 'evt_1', type: 'card.held', created: '2026-03-02T15:04:05.678Z' };
        const body = JSON.stringify({ ...sent, data });
        await deliveries.log.insert([row(1, { body }), row(2, { body: row(1).body })]);
        await deliveries.log.insert([row(3, { body, card: 'HC-1', dropReason: 'the endpoint is disabled' })]);
        await deliveries.log.erase('HC-1', 5_000);
        await deliveries.log.erase('HC-1', 6_000);
        const cleared = { card: 'HC-1', recipient: null, reference: null, heldReason: null };
        for (const at of [deliveries, await restarted()]) {
          const found = await all(at);
          expect(found.map(({ id, status, dropReason }) => [id, status, dropReason])).to.deep.equal([
            ['dlv_3', 'dropped', 'the endpoint is disabled'],
            ['dlv_2', 'pending', null],
            ['dlv_1', 'dropped', 'personal data erased'],
          ]);
          expect(found.map((each) => each.body)).to.deep.equal([
            JSON.stringify({ ...sent, data: cleared }),
            row(1).body,
            JSON.stringify({ ...sent, data: cleared }),
          ]);
        }
      }),
    );

    const named = (number: number, more: Partial<NewDelivery> = {}): NewDelivery => {
      const data = { card: 'HC-1', recipient: 'Ada', reference: 'order 1', heldReason: null };
      const sent = { id: `evt_${number}`, type: 'card.created', created: '2026-03-02T15:04:05.678Z' };
      return row(number, { card: 'HC-1', body: JSON.stringify({ ...sent, data }), ...more });
    };
    const words = /Ada|order 1|answer/;

    it(
      'starts no attempt any more under a claim of before the erasure of its card',
      using(async (deliveries) => {
        await deliveries.log.insert([named(1), row(2)]);
        const { claimed } = await claimSome(deliveries, endpoint, 2_000, 2);
        expect(claimed.map((claim) => deliveries.claims.mayStart(claim))).to.deep.equal([true, true]);
        await deliveries.log.erase('HC-1', 5_000);
        const [erased] = claimed;
        expect(erased && deliveries.claims.mayStart(erased)).to.equal(false);
      }),
    );

    it(
      'keeps no response to a delivery of an erased card: of no attempt under way, and of no later one',
      using(async (deliveries, restarted) => {
        const endpoints = [endpoint, other];
        await deliveries.log.insert(
          [1, 2, 3, 4].map((n) => named(n, { endpoint: endpoints[n % 2] ?? other })),
        );
        const claims = [
          ...(await claimSome(deliveries, endpoint, 2_000, 2)).claimed,
          ...(await claimSome(deliveries, other, 2_000, 2)).claimed,
        ];
        await deliveries.log.erase('HC-1', 5_000);
        const recorded = await Promise.all(
          claims.map((claim, index) =>
            deliveries.claims.record(
              claim,
              attempt(6_000, index === 0 ? 200 : 500),
              [delivered, exhausted, again(7_000)][index] ?? exhausted,
              20,
            ),
          ),
        );
        expect(recorded.map((each) => each.recorded)).to.deep.equal([true, true, true, true]);
        await deliveries.log.retry(org, claims[1]?.delivery ?? '', 7_000, 100_000);
        const retried = await claimOne(deliveries, 7_000);
        expect(retried.body).to.not.match(words);
        expect(
          (await deliveries.claims.record(retried, attempt(8_000, 500), exhausted, 20)).recorded,
        ).to.equal(true);
        for (const at of [deliveries, await restarted()]) {
          const found = await all(at);
          expect(found.map(({ attempts }) => attempts.map(({ body }) => body))).to.have.deep.members([
            [null, null],
            [null],
            [null],
            [null],
          ]);
          expect(JSON.stringify(found.map(({ body, attempts }) => [body, attempts]))).to.not.match(words);
        }
      }),
    );

    it(
      'takes no name into the deliveries of an erased card, whoever stores, replays, redrives or retries them later',
      using(async (deliveries, restarted) => {
        await deliveries.log.insert([named(1), named(2)]);
        const claim = await claimOne(deliveries, 2_000);
        await deliveries.claims.record(claim, attempt(3_000, 500), exhausted, 20);
        await deliveries.log.erase('HC-1', 5_000);
        const later = await restarted();
        await later.log.insert([named(3)]);
        await later.log.replay([named(1), named(2), named(4)]);
        await later.log.redrive(org, { from: { time: 0 }, to: null, endpoint: null }, 5_000, 100_000);
        await later.log.retry(org, 'dlv_3', 5_000, 100_000);
        expect(JSON.stringify((await all(later)).map(({ body }) => body))).to.not.match(words);
        const { claimed } = await claimSome(later, endpoint, 5_000, 10);
        expect(idsOf(claimed).toSorted()).to.deep.equal(['dlv_1', 'dlv_2', 'dlv_3', 'dlv_4']);
        expect(JSON.stringify(claimed.map(({ body }) => body))).to.not.match(words);
      }),
    );

    it(
      'makes due what would be due later than any wait, and nothing else',
      using(async (deliveries) => {
        const target = row(3, { endpoint: other });
        await deliveries.log.insert([
          row(1, { due: 5_001 }),
          row(2, { due: 5_000 }),
          { ...target, due: 9_000 },
        ]);
        await deliveries.claims.hasten({ now: () => 1_000 }, 4_000);
        expect(idsOf((await claimSome(deliveries, endpoint, 1_000, 10)).claimed)).to.deep.equal(['dlv_1']);
        expect(idsOf((await claimSome(deliveries, other, 1_000, 10)).claimed)).to.deep.equal(['dlv_3']);
        expect((await claimSome(deliveries, endpoint, 5_000, 10)).claimed).to.have.lengthOf(1);
      }),
    );

    it(
      'frees what a dead process had claimed soon after the clock was set back, however far',
      using(async (deliveries, _, __, restartedLater) => {
        await deliveries.log.insert([row(1)]);
        const [hour, minute] = [3_600_000, 60_000];
        await claimOne(await restartedLater(hour), 2_000);
        await (await restartedLater(-hour)).claims.hasten({ now: () => 2_000 }, 88_000);
        expect(idsOf([await claimOne(await restartedLater(minute), 2_000)])).to.deep.equal(['dlv_1']);
      }),
    );

    it(
      'claims each delivery once at a time, longest due first',
      using(async (deliveries) => {
        await deliveries.log.insert([row(3), row(1), row(2, { due: 1_001 }), row(4, { endpoint: other })]);
        expect(await deliveries.claims.dueTimes()).to.deep.equal(
          new Map([
            [endpoint, 1_001],
            [other, 1_004],
          ]),
        );
        expect(await claimSome(deliveries, endpoint, 1_000, 10)).to.deep.equal({ claimed: [], next: 1_001 });
        const first = await claimSome(deliveries, endpoint, 1_002, 10);
        expect(idsOf(first.claimed)).to.deep.equal(['dlv_1', 'dlv_2']);
        expect(first.next).to.equal(1_003);
        expect(first.claimed[0]).to.deep.include({
          number: 1,
          allowed: 3,
          body: row(1).body,
          type: 'card.created',
          event: 'evt_1',
          card: 'HC-1',
          endpoint: target(),
        });
        const [second, third] = await Promise.all([
          claimSome(deliveries, endpoint, 2_000, 10),
          claimSome(deliveries, endpoint, 2_000, 10),
        ]);
        expect([...idsOf(second.claimed), ...idsOf(third.claimed)]).to.deep.equal(['dlv_3']);
        const left = await deliveries.claims.dueTimes();
        expect(left.get(other)).to.equal(1_004);
        expect(left.get(endpoint) ?? Infinity, 'while all are claimed').to.be.above(2_000);
        expect((await claimSome(deliveries, 'unknown' as Uuid, 2_000, 10)).claimed).to.deep.equal([]);
      }),
    );

    it(
      'claims at most the number asked for, for each of several endpoints',
      using(async (deliveries) => {
        await deliveries.log.insert([1, 2, 3].map((number) => row(number)));
        await deliveries.log.insert([4, 5].map((number) => row(number, { endpoint: other })));
        await deliveries.log.insert([row(6, { org: otherOrg, endpoint: foreign, due: 90_000 })]);
        const claims = await deliveries.claims.claim(
          new Map([
            [endpoint, 2],
            [other, 5],
            [foreign, 5],
          ]),
          5_000,
        );
        expect([...claims].map(([of, { claimed, next }]) => [of, idsOf(claimed), next])).to.have.deep.members(
          [
            [endpoint, ['dlv_1', 'dlv_2'], 1_003],
            [other, ['dlv_4', 'dlv_5'], null],
            [foreign, [], 90_000],
          ],
        );
        expect(await deliveries.claims.claim(new Map(), 5_000)).to.deep.equal(new Map());
      }),
    );

    it(
      'makes a delivery due again if its unused claim is released',
      using(async (deliveries) => {
        await deliveries.log.insert([row(1)]);
        const claim = await claimOne(deliveries, 2_000);
        await deliveries.claims.release(claim);
        expect(deliveries.claims.mayStart(claim)).to.equal(false);
        expect((await claimOne(deliveries, 2_000)).number).to.equal(1);
      }),
    );

    it(
      'records attempts until one ends the delivery',
      using(async (deliveries, restarted) => {
        await deliveries.log.insert([row(1)]);
        expect(
          await deliveries.claims.record(
            await claimOne(deliveries, 2_000),
            attempt(2_000, 500),
            again(3_000),
            20,
          ),
        ).to.deep.equal({
          recorded: true,
          tripped: null,
        });
        expect(await only(deliveries, 'dlv_1')).to.deep.equal(
          stored(row(1), { due: 3_000, attempts: [attempt(2_000, 500)] }),
        );
        expect((await claimSome(deliveries, endpoint, 2_999, 1)).claimed).to.deep.equal([]);
        const second = await claimOne(deliveries, 3_000);
        expect(second.number).to.equal(2);
        await deliveries.claims.record(second, attempt(3_000, 204), delivered, 20);
        const ended = stored(row(1), {
          status: 'delivered',
          due: null,
          attempts: [attempt(2_000, 500), attempt(3_000, 204)],
        });
        expect(await only(deliveries, 'dlv_1')).to.deep.equal(ended);
        expect((await claimSome(deliveries, endpoint, 9_000, 1)).claimed).to.deep.equal([]);
        expect(await only(await restarted(), 'dlv_1')).to.deep.equal(ended);
      }),
    );

    it(
      'records an attempt of a claim only once',
      using(async (deliveries) => {
        await deliveries.log.insert([row(1)]);
        const claim = await claimOne(deliveries, 2_000);
        const both = await Promise.all([
          deliveries.claims.record(claim, attempt(2_000, 500), again(3_000), 20),
          deliveries.claims.record(claim, attempt(2_001, 500), again(3_000), 20),
        ]);
        expect(both.filter(({ recorded }) => recorded)).to.have.length(1);
        expect((await only(deliveries, 'dlv_1'))?.attempts).to.have.length(1);
        expect((await deliveries.gates.health(org)).get(endpoint)?.consecutiveFailures).to.equal(1);
      }),
    );

    it(
      'claims a delivery again, with the same number, if the process with its claim died',
      using(async (deliveries, restarted) => {
        await deliveries.log.insert([row(1)]);
        await deliveries.claims.record(
          await claimOne(deliveries, 2_000),
          attempt(2_000, 500),
          again(3_000),
          20,
        );
        const dead = await claimOne(deliveries, 3_000);
        const next = await restarted();
        expect((await claimOne(next, 3_000)).number).to.equal(dead.number);
        expect(await next.gates.health(org).then((health) => health.get(endpoint))).to.deep.equal({
          failureCount: 1,
          consecutiveFailures: 1,
          lastSuccessAt: null,
        });
      }),
    );

    const failTimes = async (deliveries: Deliveries, count: number, limit: number, from = 0) => {
      const trips = [];
      for (let number = from + 1; number <= from + count; number++) {
        await deliveries.log.insert([row(number)]);
        const { tripped } = await deliveries.claims.record(
          await claimOne(deliveries, 5_000),
          attempt(5_000 + number, 503),
          exhausted,
          limit,
        );
        trips.push(tripped);
      }
      return trips;
    };

    it(
      'trips an endpoint after too many failures in a row',
      using(async (deliveries, restarted) => {
        const trip = { org, endpoint, enabledAt: 0, consecutiveFailures: 3, lastFailure: 'HTTP 503' };
        expect(await failTimes(deliveries, 3, 3)).to.deep.equal([null, null, trip]);
        expect((await deliveries.gates.health(org)).get(endpoint)).to.deep.equal({
          failureCount: 3,
          consecutiveFailures: 3,
          lastSuccessAt: null,
        });
        await deliveries.log.insert([row(9)]);
        expect(await claimSome(deliveries, endpoint, 9_000, 1)).to.deep.equal({ claimed: [], next: null });
        expect(await deliveries.gates.tripped()).to.deep.equal([trip]);
        const next = await restarted();
        expect(await next.gates.tripped()).to.deep.equal([trip]);
        await next.gates.upsertEndpoint(target({ active: false, version: 1 }), 6_000);
        expect(await next.gates.tripped()).to.deep.equal([]);
        expect(await next.claims.dueTimes()).to.deep.equal(new Map());
      }),
    );

    it(
      'sets the failures in a row of an endpoint to 0 on a success',
      using(async (deliveries) => {
        expect(await failTimes(deliveries, 2, 3)).to.deep.equal([null, null]);
        await deliveries.log.insert([row(7)]);
        await deliveries.claims.record(await claimOne(deliveries, 5_000), attempt(7_000, 200), delivered, 3);
        expect((await deliveries.gates.health(org)).get(endpoint)).to.deep.equal({
          failureCount: 2,
          consecutiveFailures: 0,
          lastSuccessAt: 7_000,
        });
        await deliveries.log.insert([row(8), row(9)]);
        const [early, late] = (await claimSome(deliveries, endpoint, 8_000, 2)).claimed;
        if (early === undefined || late === undefined) throw new Error('two should be due');
        await deliveries.claims.record(late, attempt(9_000, 200), delivered, 3);
        await deliveries.claims.record(early, attempt(8_000, 200), delivered, 3);
        expect((await deliveries.gates.health(org)).get(endpoint)?.lastSuccessAt).to.equal(9_000);
        expect(await failTimes(deliveries, 2, 3, 10)).to.deep.equal([null, null]);
        await deliveries.gates.resetFailures(endpoint);
        expect(await failTimes(deliveries, 2, 3, 20)).to.deep.equal([null, null]);
      }),
    );

    it(
      'does not count failures from before an endpoint was enabled again',
      using(async (deliveries) => {
        await deliveries.log.insert([row(100)]);
        const early = await claimOne(deliveries, 5_000);
        await failTimes(deliveries, 2, 2);
        await deliveries.gates.upsertEndpoint(target({ active: false, version: 1 }), 6_000);
        await deliveries.gates.upsertEndpoint(target({ active: true, version: 2, enabledAt: 2 }), 6_000);
        expect(await failTimes(deliveries, 1, 2, 10)).to.deep.equal([null]);
        expect(await deliveries.claims.record(early, attempt(6_000, 500), exhausted, 2)).to.deep.equal({
          recorded: true,
          tripped: null,
        });
        expect((await deliveries.gates.health(org)).get(endpoint)).to.deep.equal({
          failureCount: 4,
          consecutiveFailures: 1,
          lastSuccessAt: null,
        });
      }),
    );

    it(
      'pauses deliveries while their endpoint is disabled, and goes on inside their window',
      using(async (deliveries) => {
        await deliveries.log.insert([row(1), row(2, { expires: 7_000 })]);
        const claim = await claimOne(deliveries, 5_000);
        await deliveries.gates.upsertEndpoint(target({ active: false, version: 1 }), 6_000);
        expect(deliveries.claims.mayStart(claim)).to.equal(false);
        await deliveries.claims.release(claim);
        expect((await claimSome(deliveries, endpoint, 6_000, 5)).claimed).to.deep.equal([]);
        expect(await deliveries.log.dropExpired(6_999)).to.equal(0);
        await deliveries.gates.upsertEndpoint(target({ active: true, version: 2, enabledAt: 2 }), 7_000);
        expect(await only(deliveries, 'dlv_2')).to.deep.equal(
          stored(row(2), { expires: 7_000, status: 'dropped', due: null, dropReason: expiredReason }),
        );
        expect(idsOf((await claimSome(deliveries, endpoint, 7_000, 5)).claimed)).to.deep.equal(['dlv_1']);
      }),
    );

    it(
      'claims what became due while its endpoint was disabled in the same order, whoever asked meanwhile',
      using(async (deliveries) => {
        await deliveries.log.insert([row(1), row(2), row(3)]);
        await deliveries.gates.upsertEndpoint(target({ active: false, version: 1 }), 5_000);
        expect((await claimSome(deliveries, endpoint, 6_000, 1)).claimed).to.deep.equal([]);
        await deliveries.gates.upsertEndpoint(target({ version: 2, enabledAt: 2 }), 7_000);
        expect((await claimOne(deliveries, 8_000)).delivery).to.equal('dlv_1');
      }),
    );

    it(
      'drops deliveries that are still paused at the end of their window',
      using(async (deliveries) => {
        await deliveries.log.insert([
          row(1, { expires: 7_000 }),
          row(2),
          row(3, { endpoint: other, expires: 7_000 }),
        ]);
        await deliveries.gates.upsertEndpoint(target({ active: false, version: 1 }), 6_000);
        expect(await deliveries.log.dropExpired(7_000)).to.equal(1);
        expect((await all(deliveries)).map(({ id, status }) => [id, status])).to.deep.equal([
          ['dlv_3', 'pending'],
          ['dlv_2', 'pending'],
          ['dlv_1', 'dropped'],
        ]);
      }),
    );

    it(
      'replaces an endpoint only by a newer version of it',
      using(async (deliveries) => {
        await deliveries.gates.upsertEndpoint(
          target({
            version: 3,
            enabledAt: 2,
            secrets: [{ key: 'k', generation: 1, since: '2026-03-01T00:00:00.000Z' as never }],
          }),
          0,
        );
        await deliveries.gates.upsertEndpoint(target({ version: 1, active: false }), 0);
        await deliveries.log.insert([row(1)]);
        expect((await claimOne(deliveries, 5_000)).endpoint).to.deep.equal(
          target({
            version: 3,
            enabledAt: 2,
            secrets: [{ key: 'k', generation: 1, since: '2026-03-01T00:00:00.000Z' as never }],
          }),
        );
      }),
    );

    it(
      'deletes an endpoint forever: none of its deliveries starts or waits',
      using(async (deliveries, restarted) => {
        await deliveries.log.insert([row(1), row(2), row(3), row(4, { endpoint: other })]);
        const [running, late] = (await claimSome(deliveries, endpoint, 5_000, 2)).claimed;
        if (running === undefined || late === undefined) throw new Error('two should be due');
        expect(deliveries.claims.mayStart(running)).to.equal(true);
        await deliveries.gates.deleteEndpoint(org, endpoint, 'the endpoint was deleted', 5_000);
        expect([deliveries.claims.mayStart(running), deliveries.claims.mayStart(late)]).to.deep.equal([
          false,
          false,
        ]);
        await deliveries.claims.record(running, attempt(5_000, 200), delivered, 20);
        await deliveries.claims.record(late, attempt(5_000, 500), again(6_000), 20);
        await deliveries.log.insert([row(5)]);
        await deliveries.gates.upsertEndpoint(target({ version: 9 }), 0);
        const dropped = { status: 'dropped' as const, due: null, dropReason: 'the endpoint was deleted' };
        const rows = [
          stored(row(5), dropped),
          stored(row(4, { endpoint: other })),
          stored(row(3), dropped),
          stored(row(2), { ...dropped, attempts: [attempt(5_000, 500)] }),
          stored(row(1), { status: 'delivered', due: null, attempts: [attempt(5_000, 200)] }),
        ];
        expect(await all(deliveries)).to.deep.equal(rows);
        const next = await restarted();
        expect((await claimSome(next, endpoint, 9_000, 5)).claimed).to.deep.equal([]);
        expect(await next.claims.dueTimes()).to.deep.equal(new Map([[other, 1_004]]));
      }),
    );

    it(
      'knows whose its endpoints are and where they lead, but not those that are deleted',
      using(async (deliveries) => {
        await deliveries.gates.deleteEndpoint(org, other, 'the endpoint was deleted', 5_000);
        const known = await deliveries.gates.addresses([endpoint, other, foreign, 'unknown' as Uuid]);
        const { url } = target();
        expect([...known]).to.have.deep.members([
          [endpoint, { org, url }],
          [foreign, { org: otherOrg, url }],
        ]);
      }),
    );

    it(
      'does not delete an endpoint of another organization',
      using(async (deliveries) => {
        await deliveries.gates.deleteEndpoint(otherOrg, endpoint, 'the endpoint was deleted', 5_000);
        await deliveries.log.insert([row(1)]);
        expect(deliveries.claims.mayStart(await claimOne(deliveries, 5_000))).to.equal(true);
      }),
    );

    it(
      'deletes an endpoint that it does not know yet',
      using(async (deliveries) => {
        await deliveries.log.insert([row(1, { endpoint: 'new' as Uuid })]);
        expect(await deliveries.log.retry(org, 'dlv_1', 4_000, 9_000)).to.equal('refused');
        await deliveries.gates.deleteEndpoint(org, 'new' as Uuid, 'the endpoint was deleted', 5_000);
        await deliveries.gates.upsertEndpoint(target({ endpoint: 'new' as Uuid }), 0);
        await deliveries.log.insert([row(2, { endpoint: 'new' as Uuid })]);
        const reasons = (await all(deliveries)).map(({ dropReason }) => dropReason);
        expect(reasons).to.deep.equal(['the endpoint was deleted', 'the endpoint was deleted']);
      }),
    );

    it(
      'makes a delivery due now if it is retried by hand, with one more attempt if it had ended',
      using(async (deliveries) => {
        await deliveries.log.insert([
          row(1),
          row(2),
          row(3, { dropReason: 'the endpoint is disabled' }),
          row(4, { due: 90_000 }),
          row(5, { endpoint: other }),
        ]);
        await deliveries.claims.record(await claimOne(deliveries, 5_000), attempt(5_000, 200), delivered, 20);
        await deliveries.claims.record(await claimOne(deliveries, 5_000), attempt(5_000, 500), exhausted, 20);
        await deliveries.gates.deleteEndpoint(org, other, 'the endpoint was deleted', 5_000);
        const retry = (id: string) => deliveries.log.retry(org, id, 6_000, 200_000);
        expect(await retry('dlv_1')).to.equal('refused');
        expect(await retry('dlv_5')).to.equal('refused');
        expect(await retry('nonsense')).to.equal('unknown');
        expect(await deliveries.log.retry(otherOrg, 'dlv_2', 6_000, 200_000)).to.equal('unknown');
        expect([await retry('dlv_2'), await retry('dlv_3'), await retry('dlv_4')]).to.deep.equal([
          { endpoint },
          { endpoint },
          { endpoint },
        ]);
        const more = { status: 'pending' as const, due: 6_000, expires: 200_000 };
        expect(await only(deliveries, 'dlv_2')).to.deep.equal(
          stored(row(2), { ...more, allowed: 2, attempts: [attempt(5_000, 500)] }),
        );
        expect(await only(deliveries, 'dlv_3')).to.deep.equal(stored(row(3), { ...more, allowed: 1 }));
        expect(await only(deliveries, 'dlv_4')).to.deep.equal(stored(row(4), { due: 6_000 }));
        const [late, lateRow] = ['dlv_6', row(6, { expires: 6_000 })];
        await deliveries.log.insert([lateRow]);
        await retry(late);
        expect(await only(deliveries, late)).to.deep.equal(stored(lateRow, { due: 6_000, expires: 200_000 }));
      }),
    );

    const revivals: Readonly<Record<string, (deliveries: Deliveries) => Promise<unknown>>> = {
      'retried by hand': (deliveries) => deliveries.log.retry(org, 'dlv_1', 10_000, 200_000),
      replayed: (deliveries) => deliveries.log.replay([row(1, { due: 10_000, expires: 200_000 })]),
    };
    for (const [what, revive] of Object.entries(revivals))
      it(
        `attempts a delivery once at a time, even if it was dropped and ${what} during an attempt`,
        using(async (deliveries) => {
          await deliveries.log.insert([row(1, { expires: 7_000 })]);
          const running = await claimOne(deliveries, 5_000);
          await deliveries.gates.upsertEndpoint(target({ active: false, version: 1 }), 6_000);
          expect(await deliveries.log.dropExpired(7_000)).to.equal(1);
          await deliveries.gates.upsertEndpoint(target({ version: 2, enabledAt: 2 }), 8_000);
          await revive(deliveries);
          expect((await claimSome(deliveries, endpoint, 10_000, 5)).claimed).to.deep.equal([]);
          expect(
            (await deliveries.claims.record(running, attempt(5_000, 500), again(12_000), 20)).recorded,
          ).to.equal(true);
          expect((await claimOne(deliveries, 12_000)).number).to.equal(2);
        }),
      );

    const exhaust = async (deliveries: Deliveries, rows: readonly NewDelivery[]) => {
      await deliveries.log.insert(rows);
      for (const { endpoint: of } of rows)
        await deliveries.claims.record(
          await claimOne(deliveries, 9_000, of),
          attempt(9_000, 500),
          exhausted,
          1_000,
        );
    };

    it(
      'keeps the last fifty attempts of a delivery and counts them all, however often it is retried by hand',
      using(async (deliveries, restarted) => {
        await deliveries.log.insert([row(1)]);
        const times = Array.from({ length: attemptsKept + 3 }, (_, index) => 2_000 + index);
        for (const at of times) {
          const claim = await claimOne(deliveries, at);
          await deliveries.claims.record(claim, attempt(at, 500), exhausted, 1_000);
          await deliveries.log.retry(org, 'dlv_1', at, 100_000);
        }
        const kept = times.slice(3).map((at) => attempt(at, 500));
        const found = await only(await restarted(), 'dlv_1');
        expect([found?.attempts, found?.made]).to.deep.equal([kept, times.length]);
      }),
    );

    it(
      'redrives the dead letters of a range',
      using(async (deliveries) => {
        await exhaust(deliveries, [1, 2, 3, 4].map((number) => row(number))); // prettier-ignore
        await exhaust(deliveries, [row(5, { endpoint: other })]);
        await deliveries.log.insert([row(6)]);
        const redrive = async (from: Place, to: Place | null, of: Uuid | null = null) =>
          Object.fromEntries(
            (await deliveries.log.redrive(org, { from, to, endpoint: of }, 10_000, 200_000)).counts,
          );
        expect(
          await deliveries.log.redrive(
            otherOrg,
            { from: { time: 0 }, to: null, endpoint: null },
            10_000,
            200_000,
          ),
        ).to.deep.equal({ counts: new Map(), more: false });
        expect(await redrive({ time: 1_002 }, { time: 1_003 })).to.deep.equal({ [endpoint]: 2 });
        expect(await redrive({ time: 1_002 }, { time: 1_003 })).to.deep.equal({});
        expect(await redrive({ position: 4n }, null, other)).to.deep.equal({ [other]: 1 });
        await deliveries.gates.deleteEndpoint(org, other, 'the endpoint was deleted', 5_000);
        expect(await redrive({ position: 0n }, { position: 1n })).to.deep.equal({ [endpoint]: 1 });
        expect(await redrive({ position: 0n }, null)).to.deep.equal({ [endpoint]: 1 });
        expect(await only(deliveries, 'dlv_2')).to.deep.include({
          status: 'pending',
          due: 10_000,
          allowed: 2,
          expires: 200_000,
        });
      }),
    );

    const many = 2_500;
    const manyRows = (more: (number: number) => Partial<NewDelivery> = () => ({})) =>
      Array.from({ length: many }, (_, index) => row(10_000 + index, more(10_000 + index)));
    const exhaustTogether = async (deliveries: Deliveries, rows: readonly NewDelivery[]) => {
      await deliveries.log.insert(rows);
      for (let left = rows.length; left > 0;) {
        const { claimed } = await claimSome(deliveries, endpoint, 90_000, 500);
        await Promise.all(
          claimed.map((claim) => deliveries.claims.record(claim, attempt(9_000, 500), exhausted, 1e9)),
        );
        left -= claimed.length;
      }
    };
    const depthOf = async (deliveries: Deliveries) => (await deliveries.log.depth(0)).pending;
    /** `start`: how many were pending before the first step; `from`: how many writes there were before it. */
    const expectSteps = (steps: Steps | null, from: number, start: number): void => {
      if (steps === null) return;
      const pending = [start, ...steps.pending.slice(from)];
      const changed = pending
        .map((count, index) => Math.abs(count - (pending[index - 1] ?? start)))
        .filter((count) => count > 0);
      expect(changed.length, 'steps').to.be.at.least(Math.ceil(many / steps.rows));
      expect(Math.max(...changed), 'rows of the largest step').to.equal(steps.rows);
    };

    it(
      'deletes an endpoint with many deliveries at once, and drops them some at a time, also after a restart',
      using(async (deliveries, restarted, steps) => {
        await deliveries.log.insert(manyRows());
        const before = steps?.pending.length ?? 0;
        await deliveries.gates.deleteEndpoint(org, endpoint, 'the endpoint was deleted', 5_000);
        expect((await claimSome(deliveries, endpoint, 90_000, 5)).claimed).to.deep.equal([]);
        const next = await restarted();
        const left = await depthOf(next);
        expect(left, 'left to the background').to.equal(steps === null ? 0 : many - steps.rows);
        expect(await next.log.dropExpired(9_000, other), 'of another endpoint').to.equal(0);
        expect(await next.log.dropExpired(9_000, endpoint)).to.equal(left);
        expect(await depthOf(next)).to.equal(0);
        expectSteps(steps, before, many);
        expect((await all(next, { status: 'dropped' }))[0]?.dropReason).to.equal('the endpoint was deleted');
      }),
    );

    it(
      'opens an endpoint only when all of many deliveries whose window had ended are dropped',
      using(async (deliveries, restarted, steps) => {
        await deliveries.log.insert(manyRows(() => ({ expires: 60_000 })));
        await deliveries.log.insert([row(1)]);
        await deliveries.gates.upsertEndpoint(target({ active: false, version: 1 }), 50_000);
        const before = steps?.pending.length ?? 0;
        await deliveries.gates.upsertEndpoint(target({ version: 2, enabledAt: 2 }), 70_000);
        if (steps !== null) {
          expect((await claimSome(deliveries, endpoint, 90_000, 5)).claimed, 'too early').to.deep.equal([]);
          expect(await depthOf(deliveries), 'left to the background').to.equal(1 + many - steps.rows);
        }
        const next = await restarted();
        await next.log.dropExpired(70_001);
        expectSteps(steps, before, many + 1);
        expect(idsOf((await claimSome(next, endpoint, 90_000, 5)).claimed)).to.deep.equal(['dlv_1']);
        expect(await depthOf(next)).to.equal(1);
      }),
    );

    it(
      'has dropped all of many deliveries when a request to delete or to enable their endpoint is answered',
      using(async (deliveries) => {
        const office = await openOffice();
        office.deliveries = deliveries;
        const { keeping, world } = office;
        const own = async (path: string, expires: number) => {
          const { id } = await office.register(`https://93.184.215.14/${path}`);
          await deliveries.log.insert(
            manyRows((number) => ({
              id: `dlv_${path}_${number}` as DeliveryId,
              org: officeOrg,
              endpoint: id,
              expires,
            })),
          );
          return id;
        };
        const deleted = await own('deleted', 9e15);
        await deleteEndpoint(keeping, officeOrg, deleted, world.command());
        expect(await depthOf(deliveries), 'pending after the deletion').to.equal(0);
        const enabled = await own('enabled', 1_000);
        await deliveries.log.insert([row(1, { org: officeOrg, endpoint: enabled, expires: 9e15 })]);
        const tripped = {
          org: officeOrg,
          endpoint: enabled,
          enabledAt: 0,
          consecutiveFailures: 20,
          lastFailure: '',
        };
        await disableEndpoint(keeping, tripped);
        expect((await office.endpoints())[0]).to.include({ id: enabled });
        await enableEndpoint(keeping, officeOrg, enabled, world.command());
        expect(idsOf((await claimSome(deliveries, enabled, 90_000, 5)).claimed)).to.deep.equal(['dlv_1']);
        expect(office.reported).to.deep.equal([]);
      }),
    );

    it(
      'redrives many dead letters some at a time, also after a restart, and each of them once',
      using(async (deliveries, restarted, steps) => {
        await exhaustTogether(deliveries, manyRows());
        const which = { from: { time: 0 }, to: null, endpoint: null };
        const before = steps?.pending.length ?? 0;
        const { counts, more } = await deliveries.log.redrive(org, which, 10_000, 200_000);
        expect([...counts], 'counted').to.deep.equal([[endpoint, many]]);
        expect([await depthOf(deliveries), more], 'due at once').to.deep.equal(
          steps === null ? [many, false] : [steps.rows, true],
        );
        const next = await restarted();
        // It fails again while the rest is still being redriven.
        const first = await claimOne(next, 90_000);
        await next.claims.record(first, attempt(95_000, 500), exhausted, 1e9);
        const touched = await next.log.continueRedrives();
        expect(touched.has(endpoint)).to.equal(steps !== null);
        expect(await next.log.depth(0)).to.include({ pending: many - 1, deadLetters: 1 });
        expectSteps(steps, before, 0);
        expect([...(await next.log.continueRedrives())]).to.deep.equal([]);
      }),
    );

    it(
      'redrives at once what it is asked for, however many dead letters of others come before it',
      using(async (deliveries) => {
        await exhaustTogether(
          deliveries,
          Array.from({ length: 501 }, (_, index) => row(index)),
        );
        await exhaust(deliveries, [row(2_000, { endpoint: other }), row(2_001, { endpoint: other })]);
        const which = { from: { position: 0n }, to: null, endpoint: other };
        expect(await deliveries.log.redrive(org, which, 10_000, 200_000)).to.deep.equal({
          counts: new Map([[other, 2]]),
          more: false,
        });
        const since = { from: { position: 500n }, to: { position: 2_001n }, endpoint: null };
        expect(await deliveries.log.redrive(org, since, 10_000, 200_000)).to.deep.equal({
          counts: new Map([[endpoint, 1]]),
          more: false,
        });
        expect((await all(deliveries, { status: 'pending' })).map(({ id }) => id)).to.deep.equal([
          'dlv_2001',
          'dlv_2000',
          'dlv_500',
        ]);
      }),
    );

    it(
      'removes deliveries that ended before a time, and no others',
      using(async (deliveries) => {
        await exhaust(deliveries, [row(1)]);
        await deliveries.log.insert([row(2), row(3)]);
        await deliveries.claims.record(await claimOne(deliveries, 5_000), attempt(8_000, 200), delivered, 20);
        expect(await deliveries.log.removeEnded(7_999)).to.equal(0);
        expect(await deliveries.log.removeEnded(8_000)).to.equal(1);
        expect((await all(deliveries)).map(({ id }) => id)).to.deep.equal(['dlv_3', 'dlv_1']);
        expect(await deliveries.log.removeEnded(9_000)).to.equal(1);
        expect((await all(deliveries)).map(({ id }) => id)).to.deep.equal(['dlv_3']);
        expect(await deliveries.log.depth(0)).to.include({ pending: 1, deadLetters: 0 });
      }),
    );

    it(
      'removes what ended behind deliveries that were made while the clock was ahead',
      using(async (deliveries) => {
        const ended = { dropReason: 'expired' } as const;
        const ahead = Array.from({ length: 250 }, (_, at) =>
          row(at + 1, { ...ended, occurredAt: 1_000_000_000 }),
        );
        await deliveries.log.insert(ahead);
        await deliveries.log.insert([row(1_001, ended), row(1_002, { occurredAt: 500_000 })]);
        expect(await deliveries.log.removeEnded(400_000)).to.equal(1);
      }),
    );

    it(
      'counts the failure of a delivery that was removed and made again',
      using(async (deliveries) => {
        await exhaust(deliveries, [row(1)]);
        expect(await deliveries.log.removeEnded(9_000)).to.equal(1);
        await exhaust(deliveries, [row(1)]);
        expect((await deliveries.gates.health(org)).get(endpoint)?.failureCount).to.equal(2);
      }),
    );

    it(
      'pages by every combination of filters',
      using(async (deliveries) => {
        const types = ['card.created', 'card.held', 'card.mailed'];
        await deliveries.log.insert(
          Array.from({ length: 24 }, (_, index) =>
            row(index + 1, {
              endpoint: index % 2 === 0 ? endpoint : other,
              type: types[index % 3] ?? '',
              card: `HC-${index % 4}`,
              ...(index % 5 === 0 && { dropReason: 'the endpoint is disabled' }),
            }),
          ),
        );
        const rows = await all(deliveries);
        for (const of of [null, endpoint])
          for (const status of [null, 'dropped', 'pending'] as const)
            for (const type of [null, 'card.held'])
              for (const card of [null, 'HC-1', 'HC-2']) {
                const filter = { endpoint: of, status, type, card };
                const wanted = rows.filter(
                  (one) =>
                    (of === null || one.endpoint === of) &&
                    (status === null || one.status === status) &&
                    (type === null || one.type === type) &&
                    (card === null || one.card === card),
                );
                const found = await deliveries.log.page(org, filter, { startingAfter: null, limit: 3 });
                expect(found, JSON.stringify(filter)).to.deep.equal(wanted.slice(0, 3));
                const rest = { startingAfter: wanted[1]?.id ?? null, limit: 50 };
                expect(await deliveries.log.page(org, filter, rest)).to.deep.equal(
                  wanted.slice(rest.startingAfter === null ? 0 : 2),
                );
              }
        expect(await deliveries.log.page(otherOrg, { ...noFilter, endpoint }, firstPage)).to.deep.equal([]);
      }),
    );

    it(
      'replays: adds missing deliveries, revives exhausted and dropped ones, and leaves the rest',
      using(async (deliveries) => {
        await deliveries.log.insert([row(1)]);
        await deliveries.claims.record(await claimOne(deliveries, 9_000), attempt(9_000, 200), delivered, 20);
        await exhaust(deliveries, [row(2)]);
        await deliveries.log.insert([
          row(3, { dropReason: 'the endpoint is disabled' }),
          row(4, { due: 50_000 }),
        ]);
        const again = [1, 2, 3, 4, 5].map((number) =>
          row(number, { due: 10_000, expires: 200_000, allowed: 6 }),
        );
        expect(await deliveries.log.replay(again)).to.equal(3);
        expect(await deliveries.log.replay(again)).to.equal(0);
        const states = (await all(deliveries)).map(({ id, status, due, allowed }) => [
          id,
          status,
          due,
          allowed,
        ]);
        expect(states).to.deep.equal([
          ['dlv_5', 'pending', 10_000, 6],
          ['dlv_4', 'pending', 50_000, 3],
          ['dlv_3', 'pending', 10_000, 6],
          ['dlv_2', 'pending', 10_000, 6],
          ['dlv_1', 'delivered', null, 3],
        ]);
      }),
    );

    it(
      'counts pending deliveries, dead letters and disabled endpoints, and returns the oldest due time',
      using(async (deliveries) => {
        expect(await deliveries.log.depth(5_000)).to.deep.equal({
          pending: 0,
          deadLetters: 0,
          oldestDue: new Map(),
          disabledEndpoints: 0,
        });
        await deliveries.gates.upsertEndpoint(target({ endpoint: other, active: false, version: 1 }), 0);
        await exhaust(deliveries, [row(1)]);
        const rows = [row(2), row(3, { due: 90_000 }), row(4, { endpoint: other })];
        const ofUnknown = row(5, { endpoint: 'endpoint-9' as Uuid, due: 90_000 });
        await deliveries.log.insert([...rows, ofUnknown]);
        expect(await deliveries.log.depth(5_000)).to.deep.equal({
          pending: 3,
          deadLetters: 1,
          oldestDue: new Map([[org, 1_002]]),
          disabledEndpoints: 1,
        });
        expect((await deliveries.log.depth(1_001)).oldestDue).to.deep.equal(new Map());
        await deliveries.gates.upsertEndpoint(target({ endpoint: other, version: 2, enabledAt: 2 }), 0);
        expect((await deliveries.log.depth(5_000)).pending, 'enabled again').to.equal(4);
      }),
    );

    it(
      'yields every change to watchers',
      using(async (deliveries) => {
        const stop = new AbortController();
        const changes = deliveries.log.watch(org, stop.signal);
        await deliveries.log.insert([row(1), row(2, { org: otherOrg, endpoint: foreign })]);
        await deliveries.claims.record(await claimOne(deliveries, 5_000), attempt(5_000, 500), exhausted, 20);
        await deliveries.log.replay([row(1), row(3)]);
        const seen: string[] = [];
        for await (const { kind, delivery } of changes) {
          seen.push(`${kind} ${delivery.id} ${delivery.status} ${delivery.attempts.length}`);
          if (seen.length === 4) stop.abort();
        }
        expect(seen.slice(0, 2)).to.deep.equal(['made dlv_1 pending 0', 'attempted dlv_1 exhausted 1']);
        expect(seen.slice(2)).to.have.members(['changed dlv_1 pending 1', 'made dlv_3 pending 0']);
      }),
    );

    it(
      'remembers the endpoints that the relay knew, and never an older state',
      using(async (deliveries, restarted) => {
        const state = { ...webhookEndpoints.initial, deleted: [endpoint] };
        await deliveries.relayMemory.rememberEndpoints(org, 5n, state);
        await deliveries.relayMemory.rememberEndpoints(org, 4n, webhookEndpoints.initial);
        expect(await (await restarted()).relayMemory.rememberedEndpoints()).to.deep.equal(
          new Map([[org, { position: 5n, state }]]),
        );
      }),
    );
  });
};
