import type { Document } from 'mongodb';
import {
  DeliveriesUnavailable,
  expiredReason,
  type DeliveryAttempt,
  type AttemptOutcome,
  type DeliveryClaim,
  type EndpointClaims,
  type DeadLetterFilter,
  type Deliveries,
  type Delivery,
  type DeliveryChange,
  type DeliveryFilter,
  type DeliveryId,
  type EndpointHealth,
  type NewDelivery,
  type QueueDepth,
  type Recorded,
  type DeliveryEndpoint,
  type TrippedEndpoint,
} from '../../application/ports/deliveries.js';
import type { Clock } from '../../application/ports/system.js';
import { Uuid, type Milliseconds, type OrganizationId } from '../../domain/ids.js';
import type { WebhookEndpoints } from '../../domain/webhook-endpoints.js';
import { countLeftovers } from './attempt-counts.js';
import { MongoAttempts, startsWithin, type MongoAttemptsOptions } from './attempts.js';
import { chunks } from './chunks.js';
import { guarded, type MongoDatabase } from './database.js';
import { claimed, deliveryOf, deliveryRows } from './delivery-rows.js';
import { MongoDeliveryEndpoints } from './delivery-endpoints.js';
import { MongoDeliveryWatch } from './delivery-watch.js';
import { MongoDeliveryWrites } from './delivery-writes.js';
import { rememberedEndpoints, rememberEndpoints } from './relayed-endpoints.js';

/**
 * Deliveries in MongoDB, for any number of processes. Every change is one guarded update of one document.
 * What an attempt means for its endpoint stays noted in the delivery until it is counted, and each attempt is
 * counted once: a crash between the two neither loses nor doubles a count.
 */
export class MongoDeliveries implements Deliveries {
  readonly #database: MongoDatabase;
  readonly #clock: Clock;
  readonly #attempts: MongoAttempts;
  readonly #endpoints: MongoDeliveryEndpoints;
  readonly #writes: MongoDeliveryWrites;
  readonly #watch: MongoDeliveryWatch;

  constructor(options: MongoAttemptsOptions) {
    const { database, clock } = options;
    this.#database = database;
    this.#clock = clock;
    this.#attempts = new MongoAttempts(options);
    this.#endpoints = new MongoDeliveryEndpoints(database);
    this.#watch = new MongoDeliveryWatch({ database, clock });
    this.#writes = new MongoDeliveryWrites({
      database,
      clock,
      endpoints: this.#endpoints,
      watch: this.#watch,
    });
  }

  insert(rows: readonly NewDelivery[]): Promise<readonly DeliveryId[]> {
    return this.#guarded(async () => {
      const added: DeliveryId[] = [];
      for (const some of chunks(rows)) added.push(...(await this.#writes.insert(some)));
      await this.#watch.announce(added);
      return added;
    });
  }

  upsertEndpoint(target: DeliveryEndpoint, now: Milliseconds): Promise<void> {
    return this.#guarded(async () => {
      const { endpoint } = target;
      const became = await this.#endpoints.upsert(target);
      if (became === 'off') this.#attempts.revoke(endpoint);
      if (became === 'opened')
        await this.#writes.drop({ endpoint: { $eq: endpoint }, expires: { $lte: now } }, expiredReason);
    });
  }

  resetFailures(endpoint: Uuid): Promise<void> {
    return this.#guarded(() => this.#endpoints.resetFailures(endpoint));
  }

  deleteEndpoint(org: OrganizationId, endpoint: Uuid, reason: string): Promise<void> {
    return this.#guarded(async () => {
      if (!(await this.#endpoints.delete(org, endpoint, reason))) return;
      this.#attempts.revoke(endpoint);
      await this.#writes.drop({ endpoint: { $eq: endpoint } }, reason);
      // Claims of other processes can't be revoked, but they start soon or never.
      const deliveries = await deliveryRows(this.#database);
      if ((await deliveries.findOne({ endpoint: { $eq: endpoint as string }, ...claimed })) !== null)
        await this.#clock.sleep(startsWithin);
    });
  }

  dueTimes(): Promise<ReadonlyMap<Uuid, Milliseconds>> {
    return this.#guarded(async () => {
      await countLeftovers(this.#database);
      return this.#earliest({ $max: ['$due', '$claimedUntil'] });
    });
  }

  claim(limits: ReadonlyMap<Uuid, number>, now: Milliseconds): Promise<ReadonlyMap<Uuid, EndpointClaims>> {
    return this.#guarded(() => this.#attempts.claim(limits, now));
  }

  mayStart(claim: DeliveryClaim): boolean {
    return this.#attempts.mayStart(claim);
  }

  release(claim: DeliveryClaim): Promise<void> {
    return this.#guarded(() => this.#attempts.release(claim));
  }

  record(
    claim: DeliveryClaim,
    attempt: DeliveryAttempt,
    outcome: AttemptOutcome,
    disableAfter: number,
  ): Promise<Recorded> {
    return this.#guarded(async () => {
      const recorded = await this.#attempts.record(claim, attempt, outcome, disableAfter);
      if (recorded.recorded) await this.#watch.announce([claim.delivery]);
      return recorded;
    });
  }

  tripped(): Promise<readonly TrippedEndpoint[]> {
    return this.#guarded(async () => {
      await countLeftovers(this.#database);
      return this.#endpoints.tripped();
    });
  }

  dropExpired(now: Milliseconds): Promise<number> {
    return this.#guarded(async () => {
      const inactive = await this.#endpoints.inactive();
      const off = inactive.filter(({ state }) => state === 'off').map(({ _id }) => _id);
      let dropped =
        off.length === 0
          ? 0
          : await this.#writes.drop({ endpoint: { $in: off }, expires: { $lte: now } }, expiredReason);
      // Rows that were inserted while their endpoint was being deleted.
      const deleted = new Map(
        inactive
          .filter(({ state }) => state === 'closed')
          .map(({ _id, closedBecause }) => [_id, closedBecause]),
      );
      const strays =
        deleted.size === 0
          ? []
          : await (
              await deliveryRows(this.#database)
            ).distinct('endpoint', { status: 'pending', endpoint: { $in: [...deleted.keys()] } });
      for (const endpoint of strays)
        dropped += await this.#writes.drop(
          { endpoint: { $eq: endpoint } },
          deleted.get(endpoint) ?? expiredReason,
        );
      return dropped;
    });
  }

  retry(
    org: OrganizationId,
    id: string,
    now: Milliseconds,
    expires: Milliseconds,
  ): Promise<{ readonly endpoint: Uuid } | 'unknown' | 'refused'> {
    return this.#guarded(async () => {
      const deliveries = await deliveryRows(this.#database);
      for (;;) {
        const row = await deliveries.findOne({ _id: { $eq: id }, org: { $eq: org as string } });
        if (row === null) return 'unknown';
        const endpoint = Uuid.parse(row.endpoint);
        if (row.status === 'delivered' || (await this.#endpoints.find(endpoint))?.state === 'closed')
          return 'refused';
        const done =
          row.status === 'pending'
            ? await this.#writes.makeDue(row, now, row.expires <= now ? expires : row.expires)
            : await this.#writes.revive(row, now, expires, 0);
        if (!done) continue;
        await this.#watch.announce([row._id as DeliveryId]);
        return { endpoint };
      }
    });
  }

  redrive(
    org: OrganizationId,
    { from, to, endpoint }: DeadLetterFilter,
    now: Milliseconds,
    expires: Milliseconds,
  ): Promise<ReadonlyMap<Uuid, number>> {
    return this.#guarded(async () => {
      const since =
        'position' in from ? { position: { $gte: from.position } } : { occurredAt: { $gte: from.time } };
      const until =
        to === null
          ? []
          : 'position' in to
            ? [{ position: { $lte: to.position } }]
            : [{ occurredAt: { $lte: to.time } }];
      const of = endpoint === null ? {} : { endpoint: { $eq: endpoint } };
      const deliveries = await deliveryRows(this.#database);
      const rows = await deliveries
        .find({ org: { $eq: org as string }, status: 'exhausted', ...of, $and: [since, ...until] })
        .toArray();
      const deleted = await this.#endpoints.deleted(rows.map((row) => row.endpoint));
      const counts = new Map<Uuid, number>();
      const revived: DeliveryId[] = [];
      for (const some of chunks(rows.filter((row) => !deleted.has(row.endpoint)))) {
        const changed = await Promise.all(some.map((row) => this.#writes.revive(row, now, expires, 0)));
        some.forEach((row, index) => {
          if (changed[index] !== true) return;
          const key = Uuid.parse(row.endpoint);
          counts.set(key, (counts.get(key) ?? 0) + 1);
          revived.push(row._id as DeliveryId);
        });
      }
      await this.#watch.announce(revived);
      return counts;
    });
  }

  replay(rows: readonly NewDelivery[]): Promise<number> {
    return this.#guarded(async () => {
      const deliveries = await deliveryRows(this.#database);
      let count = 0;
      for (const some of chunks(rows)) {
        const deleted = await this.#endpoints.deleted(some.map(({ endpoint }) => endpoint));
        const open = some.filter(({ endpoint }) => !deleted.has(endpoint));
        const existing = await deliveries
          .find({ _id: { $in: open.map(({ id }) => id as string) } })
          .toArray();
        const known = new Map(existing.map((row) => [row._id, row]));
        const added = await this.#writes.insert(open.filter(({ id }) => !known.has(id)));
        const revived: DeliveryId[] = [];
        for (const { id, due, expires, allowed } of open) {
          const row = known.get(id);
          if (
            (row?.status === 'exhausted' || row?.status === 'dropped') &&
            (await this.#writes.revive(row, due, expires, allowed))
          )
            revived.push(id);
        }
        await this.#watch.announce([...added, ...revived]);
        count += added.length + revived.length;
      }
      return count;
    });
  }

  page(
    org: OrganizationId,
    { endpoint, status, type, card }: DeliveryFilter,
    { startingAfter, limit }: { readonly startingAfter: string | null; readonly limit: number },
  ): Promise<readonly Delivery[] | null> {
    return this.#guarded(async () => {
      const deliveries = await deliveryRows(this.#database);
      const own = { org: { $eq: org as string } };
      const last =
        startingAfter === null ? null : await deliveries.findOne({ _id: { $eq: startingAfter }, ...own });
      if (startingAfter !== null && last === null) return null;
      const wanted = Object.entries({ endpoint, status, type, card }).flatMap(([field, value]) =>
        value === null ? [] : [[field, { $eq: value }] as const],
      );
      const filter = {
        ...own,
        ...Object.fromEntries(wanted),
        ...(last !== null && { seq: { $lt: last.seq } }),
      };
      const rows = limit < 1 ? [] : await deliveries.find(filter).sort({ seq: -1 }).limit(limit).toArray();
      return rows.map(deliveryOf);
    });
  }

  health(org: OrganizationId): Promise<ReadonlyMap<Uuid, EndpointHealth>> {
    return this.#guarded(() => this.#endpoints.health(org));
  }

  depth(now: Milliseconds): Promise<QueueDepth> {
    return this.#guarded(async () => {
      const deliveries = await deliveryRows(this.#database);
      const [pending, deadLetters] = await Promise.all([
        deliveries.countDocuments({ status: 'pending' }),
        deliveries.countDocuments({ status: 'exhausted' }),
      ]);
      const oldest = Math.min(...(await this.#earliest('$due')).values());
      return { pending, deadLetters, oldestDue: oldest <= now ? oldest : null };
    });
  }

  watch(org: OrganizationId, signal: AbortSignal): AsyncIterable<DeliveryChange> {
    return this.#watch.watch(org, signal);
  }

  rememberEndpoints(org: OrganizationId, position: bigint, endpoints: WebhookEndpoints): Promise<void> {
    return this.#guarded(() => rememberEndpoints(this.#database, org, position, endpoints));
  }

  rememberedEndpoints(): Promise<ReadonlyMap<OrganizationId, WebhookEndpoints>> {
    return this.#guarded(() => rememberedEndpoints(this.#database));
  }

  /** For each active endpoint, the earliest value of a time among its pending rows. */
  async #earliest(time: string | Document): Promise<ReadonlyMap<Uuid, Milliseconds>> {
    const deliveries = await deliveryRows(this.#database);
    const [open, first] = await Promise.all([
      this.#endpoints.open(),
      deliveries
        .aggregate<{ _id: string; first: Milliseconds }>([
          { $match: { status: 'pending' } },
          { $group: { _id: '$endpoint', first: { $min: time } } },
        ])
        .toArray(),
    ]);
    return new Map(first.filter(({ _id }) => open.has(_id)).map((row) => [Uuid.parse(row._id), row.first]));
  }

  #guarded<T>(work: () => Promise<T>): Promise<T> {
    return guarded(DeliveriesUnavailable, work);
  }
}
