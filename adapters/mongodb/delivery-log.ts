import { DeliveriesUnavailable } from '../../application/ports/deliveries.js';
import {
  expiredReason,
  type DeadLetterFilter,
  type Delivery,
  type DeliveryChange,
  type DeliveryFilter,
  type DeliveryId,
  type DeliveryLog,
  type NewDelivery,
  type QueueDepth,
} from '../../application/ports/delivery-log.js';
import { Uuid, type Milliseconds, type OrganizationId } from '../../domain/ids.js';
import { chunks } from './chunks.js';
import { guarded, type MongoDatabase } from './database.js';
import { earliestOf, type MongoDeliveryEndpoints } from './delivery-endpoints.js';
import { deliveryOf, deliveryRows } from './delivery-rows.js';
import type { MongoDeliveryWatch } from './delivery-watch.js';
import type { MongoDeliveryWrites, MongoDeliveryWritesOptions } from './delivery-writes.js';

/** The rows of deliveries. Every change is one guarded update of one document. */
export class MongoDeliveryLog implements DeliveryLog {
  readonly #database: MongoDatabase;
  readonly #endpoints: MongoDeliveryEndpoints;
  readonly #writes: MongoDeliveryWrites;
  readonly #watch: MongoDeliveryWatch;

  constructor({
    database,
    endpoints,
    watch,
    writes,
  }: MongoDeliveryWritesOptions & { readonly writes: MongoDeliveryWrites }) {
    this.#database = database;
    this.#endpoints = endpoints;
    this.#writes = writes;
    this.#watch = watch;
  }

  insert(rows: readonly NewDelivery[]): Promise<readonly DeliveryId[]> {
    return guarded(DeliveriesUnavailable, async () => {
      const added: DeliveryId[] = [];
      for (const some of chunks(rows)) added.push(...(await this.#writes.insert(some)));
      await this.#watch.announce(added);
      return added;
    });
  }

  dropExpired(now: Milliseconds): Promise<number> {
    return guarded(DeliveriesUnavailable, async () => {
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
    return guarded(DeliveriesUnavailable, async () => {
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
    return guarded(DeliveriesUnavailable, async () => {
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
    return guarded(DeliveriesUnavailable, async () => {
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
    return guarded(DeliveriesUnavailable, async () => {
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

  depth(now: Milliseconds): Promise<QueueDepth> {
    return guarded(DeliveriesUnavailable, async () => {
      const deliveries = await deliveryRows(this.#database);
      const [pending, deadLetters] = await Promise.all([
        deliveries.countDocuments({ status: 'pending' }),
        deliveries.countDocuments({ status: 'exhausted' }),
      ]);
      const oldest = Math.min(...(await earliestOf(this.#database, this.#endpoints, '$due')).values());
      return { pending, deadLetters, oldestDue: oldest <= now ? oldest : null };
    });
  }

  watch(org: OrganizationId, signal: AbortSignal): AsyncIterable<DeliveryChange> {
    return this.#watch.watch(org, signal);
  }
}
