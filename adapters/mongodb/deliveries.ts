import { MongoBulkWriteError, type Document, type Filter } from 'mongodb';
import { LRUCache } from 'lru-cache';
import { DeliveryChanges } from '../../application/delivery-changes.js';
import {
  DeliveriesUnavailable,
  expiredReason,
  type Attempt,
  type AttemptOutcome,
  type Claim,
  type Claims,
  type DeadLetters,
  type Deliveries,
  type Delivery,
  type DeliveryChange,
  type DeliveryFilter,
  type DeliveryId,
  type EndpointHealth,
  type NewDelivery,
  type QueueDepth,
  type Recorded,
  type Target,
  type Tripped,
} from '../../application/ports/deliveries.js';
import type { Clock } from '../../application/ports/system.js';
import { OrganizationId, Uuid, type Milliseconds } from '../../domain/ids.js';
import type { WebhookEndpoints } from '../../domain/webhook-endpoints.js';
import type { WebhookUrl } from '../../domain/webhook-url.js';
import { countLeftovers } from './attempt-counts.js';
import { MongoAttempts, startsWithin, type MongoAttemptsOptions } from './attempts.js';
import { guarded, isDuplicate, type MongoDatabase } from './database.js';
import {
  changed,
  claimed,
  deliveryOf,
  deliveryRows,
  healthOf,
  newRow,
  newTarget,
  targetRows,
  trippedOf,
  type DeliveryRow,
  type TargetRow,
  type TargetState,
} from './delivery-rows.js';

/** How often changes of other processes are looked for while somebody watches. */
const watchedEvery: Milliseconds = 500;
/** Clocks of other processes may be behind by so much. */
const clocksDiffer: Milliseconds = 5_000;
const rowsPerWrite = 500;
const changesKept = 10_000;

interface Relayed {
  readonly _id: string;
  readonly position: bigint;
  readonly endpoints: string;
}

interface Sequence {
  readonly _id: string;
  readonly last: number;
}

const chunks = <T>(items: readonly T[]): T[][] =>
  Array.from({ length: Math.ceil(items.length / rowsPerWrite) }, (_, index) => items.slice(index * rowsPerWrite, (index + 1) * rowsPerWrite));

/**
 * Deliveries in MongoDB, for any number of processes. Every change is one guarded update of one document; what an attempt means for its endpoint's count stands in
 * the delivery until it is counted, and an attempt is counted once, so that a crash between the two loses and doubles nothing.
 */
export class MongoDeliveries implements Deliveries {
  readonly #database: MongoDatabase;
  readonly #clock: Clock;
  readonly #attempts: MongoAttempts;
  readonly #changes = new DeliveryChanges();
  /** The revisions of deliveries that watchers have been told of. */
  readonly #told = new LRUCache<string, number>({ max: changesKept });

  constructor(options: MongoAttemptsOptions) {
    this.#database = options.database;
    this.#clock = options.clock;
    this.#attempts = new MongoAttempts(options);
  }

  insert(rows: readonly NewDelivery[]): Promise<readonly DeliveryId[]> {
    return this.#guarded(async () => {
      const added: DeliveryId[] = [];
      for (const some of chunks(rows)) added.push(...(await this.#insertSome(some)));
      await this.#publish(added);
      return added;
    });
  }

  putTarget(target: Target, now: Milliseconds): Promise<void> {
    return this.#guarded(async () => {
      const { endpoint, active, version, enabledAt } = target;
      const targets = targetRows(this.#database);
      for (;;) {
        const known = await this.#target(endpoint);
        if (known === null) {
          if (await this.#insertTarget(newTarget(target))) return;
          continue;
        }
        if (known.state === 'closed' || version <= known.version) return;
        const stays = known.state === 'tripped' && active && known.enabledAt === enabledAt;
        const state: TargetState = stays ? 'tripped' : active ? 'open' : 'off';
        const { url, secrets } = newTarget(target);
        const fresh = known.enabledAt === enabledAt ? {} : { consecutive: 0 };
        const { matchedCount } = await targets.updateOne(
          { _id: { $eq: endpoint as string }, version: known.version, state: known.state },
          { $set: { url, secrets, state, version, enabledAt, ...fresh } },
        );
        if (matchedCount === 0) continue;
        if (!active) this.#attempts.revoke(endpoint);
        if (active && !stays && known.state !== 'open') await this.#drop({ endpoint: { $eq: endpoint }, expires: { $lte: now } }, expiredReason);
        return;
      }
    });
  }

  forgive(endpoint: Uuid): Promise<void> {
    return this.#guarded(async () => void (await targetRows(this.#database).updateOne({ _id: { $eq: endpoint as string } }, { $set: { consecutive: 0 } })));
  }

  close(org: OrganizationId, endpoint: Uuid, reason: string): Promise<void> {
    return this.#guarded(async () => {
      const unknown: Target = { endpoint, org, url: '' as WebhookUrl, secrets: [], active: false, version: 0, enabledAt: 0 };
      const made = await this.#insertTarget({ ...newTarget(unknown), state: 'closed', closedBecause: reason });
      const open = { _id: { $eq: endpoint as string }, org: { $eq: org as string }, state: { $ne: 'closed' as const } };
      if (!made && (await targetRows(this.#database).updateOne(open, { $set: { state: 'closed', closedBecause: reason } })).matchedCount === 0) {
        const known = await this.#target(endpoint);
        if (known?.org !== org) return;
      }
      this.#attempts.revoke(endpoint);
      await this.#drop({ endpoint: { $eq: endpoint } }, reason);
      // Claims of other processes can't be taken back, but start soon or never.
      const deliveries = await deliveryRows(this.#database);
      if ((await deliveries.findOne({ endpoint: { $eq: endpoint as string }, ...claimed })) !== null) await this.#clock.sleep(startsWithin);
    });
  }

  waiting(): Promise<ReadonlyMap<Uuid, Milliseconds>> {
    return this.#guarded(async () => {
      await countLeftovers(this.#database);
      return this.#first({ $max: ['$due', '$claimedUntil'] });
    });
  }

  claim(rooms: ReadonlyMap<Uuid, number>, now: Milliseconds): Promise<ReadonlyMap<Uuid, Claims>> {
    return this.#guarded(() => this.#attempts.claim(rooms, now));
  }

  mayStart(claim: Claim): boolean {
    return this.#attempts.mayStart(claim);
  }

  release(claim: Claim): Promise<void> {
    return this.#guarded(() => this.#attempts.release(claim));
  }

  record(claim: Claim, attempt: Attempt, outcome: AttemptOutcome, disableAfter: number): Promise<Recorded> {
    return this.#guarded(async () => {
      const recorded = await this.#attempts.record(claim, attempt, outcome, disableAfter);
      if (recorded.recorded) await this.#publish([claim.delivery]);
      return recorded;
    });
  }

  tripped(): Promise<readonly Tripped[]> {
    return this.#guarded(async () => {
      await countLeftovers(this.#database);
      return (await targetRows(this.#database).find({ state: 'tripped' }).toArray()).map(trippedOf);
    });
  }

  expire(now: Milliseconds): Promise<number> {
    return this.#guarded(async () => {
      const shut = await targetRows(this.#database)
        .find({ state: { $in: ['off', 'closed'] } })
        .toArray();
      const off = shut.filter(({ state }) => state === 'off').map(({ _id }) => _id);
      let dropped = off.length === 0 ? 0 : await this.#drop({ endpoint: { $in: off }, expires: { $lte: now } }, expiredReason);
      // Rows that were made while their endpoint was being closed.
      const closed = new Map(shut.filter(({ state }) => state === 'closed').map(({ _id, closedBecause }) => [_id, closedBecause]));
      const strays =
        closed.size === 0 ? [] : await (await deliveryRows(this.#database)).distinct('endpoint', { status: 'pending', endpoint: { $in: [...closed.keys()] } });
      for (const endpoint of strays) dropped += await this.#drop({ endpoint: { $eq: endpoint } }, closed.get(endpoint) ?? expiredReason);
      return dropped;
    });
  }

  retry(org: OrganizationId, id: string, now: Milliseconds, expires: Milliseconds): Promise<{ readonly endpoint: Uuid } | 'unknown' | 'refused'> {
    return this.#guarded(async () => {
      const deliveries = await deliveryRows(this.#database);
      for (;;) {
        const row = await deliveries.findOne({ _id: { $eq: id }, org: { $eq: org as string } });
        if (row === null) return 'unknown';
        const endpoint = Uuid.parse(row.endpoint);
        if (row.status === 'delivered' || (await this.#target(endpoint))?.state === 'closed') return 'refused';
        const same = { _id: { $eq: id }, status: row.status, made: row.made };
        const pending = row.status === 'pending';
        const done = pending
          ? (await deliveries.updateOne(same, changed('changed', { due: now, expires: row.expires <= now ? expires : row.expires }, this.#clock.now())))
              .matchedCount === 1
          : await this.#revive(row, now, expires, 0);
        if (!done) continue;
        await this.#publish([row._id as DeliveryId]);
        return { endpoint };
      }
    });
  }

  redrive(org: OrganizationId, { from, to, endpoint }: DeadLetters, now: Milliseconds, expires: Milliseconds): Promise<ReadonlyMap<Uuid, number>> {
    return this.#guarded(async () => {
      const since = 'position' in from ? { position: { $gte: from.position } } : { occurredAt: { $gte: from.time } };
      const until = to === null ? [] : 'position' in to ? [{ position: { $lte: to.position } }] : [{ occurredAt: { $lte: to.time } }];
      const of = endpoint === null ? {} : { endpoint: { $eq: endpoint } };
      const deliveries = await deliveryRows(this.#database);
      const rows = await deliveries.find({ org: { $eq: org as string }, status: 'exhausted', ...of, $and: [since, ...until] }).toArray();
      const closed = await this.#closed(rows.map((row) => row.endpoint));
      const counts = new Map<Uuid, number>();
      const revived: DeliveryId[] = [];
      for (const some of chunks(rows.filter((row) => !closed.has(row.endpoint)))) {
        const changed = await Promise.all(some.map((row) => this.#revive(row, now, expires, 0)));
        some.forEach((row, index) => {
          if (changed[index] !== true) return;
          const key = Uuid.parse(row.endpoint);
          counts.set(key, (counts.get(key) ?? 0) + 1);
          revived.push(row._id as DeliveryId);
        });
      }
      await this.#publish(revived);
      return counts;
    });
  }

  replay(rows: readonly NewDelivery[]): Promise<number> {
    return this.#guarded(async () => {
      const deliveries = await deliveryRows(this.#database);
      let count = 0;
      for (const some of chunks(rows)) {
        const closed = await this.#closed(some.map(({ endpoint }) => endpoint));
        const open = some.filter(({ endpoint }) => !closed.has(endpoint));
        const there = await deliveries.find({ _id: { $in: open.map(({ id }) => id as string) } }).toArray();
        const known = new Map(there.map((row) => [row._id, row]));
        const added = await this.#insertSome(open.filter(({ id }) => !known.has(id)));
        const revived: DeliveryId[] = [];
        for (const { id, due, expires, allowed } of open) {
          const row = known.get(id);
          if ((row?.status === 'exhausted' || row?.status === 'dropped') && (await this.#revive(row, due, expires, allowed))) revived.push(id);
        }
        await this.#publish([...added, ...revived]);
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
      const last = startingAfter === null ? null : await deliveries.findOne({ _id: { $eq: startingAfter }, ...own });
      if (startingAfter !== null && last === null) return null;
      const wanted = Object.entries({ endpoint, status, type, card }).flatMap(([field, value]) => (value === null ? [] : [[field, { $eq: value }] as const]));
      const filter = { ...own, ...Object.fromEntries(wanted), ...(last !== null && { seq: { $lt: last.seq } }) };
      const rows = limit < 1 ? [] : await deliveries.find(filter).sort({ seq: -1 }).limit(limit).toArray();
      return rows.map(deliveryOf);
    });
  }

  health(org: OrganizationId): Promise<ReadonlyMap<Uuid, EndpointHealth>> {
    return this.#guarded(async () => {
      const rows = await targetRows(this.#database)
        .find({ org: { $eq: org as string } })
        .toArray();
      return new Map(rows.map((row) => [Uuid.parse(row._id), healthOf(row)]));
    });
  }

  depth(now: Milliseconds): Promise<QueueDepth> {
    return this.#guarded(async () => {
      const deliveries = await deliveryRows(this.#database);
      const [pending, deadLetters] = await Promise.all([deliveries.countDocuments({ status: 'pending' }), deliveries.countDocuments({ status: 'exhausted' })]);
      const oldest = Math.min(...(await this.#first('$due')).values());
      return { pending, deadLetters, oldestDue: oldest <= now ? oldest : null };
    });
  }

  watch(org: OrganizationId, signal: AbortSignal): AsyncIterable<DeliveryChange> {
    const changes = this.#changes.watch(org, signal);
    void this.#lookForChanges(org, signal);
    return changes;
  }

  remember(org: OrganizationId, position: bigint, endpoints: WebhookEndpoints): Promise<void> {
    return this.#guarded(async () => {
      const relayed = this.#database.collection<Relayed>('relayed_endpoints');
      const row = { position, endpoints: JSON.stringify(endpoints) };
      const advance = () => relayed.updateOne({ _id: { $eq: org as string }, position: { $lt: position } }, { $set: row });
      if ((await advance()).matchedCount === 1) return;
      try {
        await relayed.insertOne({ _id: org, ...row });
      } catch (error) {
        if (!isDuplicate(error)) throw error;
        await advance();
      }
    });
  }

  remembered(): Promise<ReadonlyMap<OrganizationId, WebhookEndpoints>> {
    return this.#guarded(async () => {
      const rows = await this.#database.collection<Relayed>('relayed_endpoints').find().toArray();
      return new Map(
        rows.map((row) => {
          const endpoints: WebhookEndpoints = JSON.parse(row.endpoints);
          return [OrganizationId.parse(row._id), endpoints];
        }),
      );
    });
  }

  // Rows

  async #insertSome(rows: readonly NewDelivery[]): Promise<readonly DeliveryId[]> {
    if (rows.length === 0) return [];
    const deliveries = await deliveryRows(this.#database);
    const [closed, last] = await Promise.all([this.#closed(rows.map(({ endpoint }) => endpoint)), this.#nextSequence(rows.length)]);
    const now = this.#clock.now();
    const made = rows.map((row, index) => newRow(row, last - rows.length + 1 + index, row.dropReason ?? closed.get(row.endpoint) ?? null, now));
    const present = new Set<number>();
    try {
      await deliveries.insertMany(made, { ordered: false });
    } catch (error) {
      if (!(error instanceof MongoBulkWriteError)) throw error;
      for (const { code, index } of [error.writeErrors].flat()) {
        if (code !== 11_000) throw error;
        present.add(index);
      }
    }
    const added = rows.filter((_, index) => !present.has(index));
    // An endpoint may have been closed while its rows were on their way.
    const since = await this.#closed(added.map(({ endpoint }) => endpoint));
    for (const [endpoint, reason] of since) if (!closed.has(endpoint)) await this.#drop({ endpoint: { $eq: endpoint } }, reason);
    return added.map(({ id }) => id);
  }

  /** Reserves numbers; answers the last of them. */
  async #nextSequence(count: number): Promise<number> {
    const sequences = this.#database.collection<Sequence>('sequences');
    const advance = () => sequences.findOneAndUpdate({ _id: { $eq: 'deliveries' } }, { $inc: { last: count } }, { upsert: true, returnDocument: 'before' });
    const before = await advance().catch((error: unknown) => {
      if (isDuplicate(error)) return advance();
      throw error;
    });
    return (before?.last ?? 0) + count;
  }

  /** Drops pending rows; claims on them stay, so that an attempt under way is recorded. */
  async #drop(which: Filter<DeliveryRow>, reason: string): Promise<number> {
    const deliveries = await deliveryRows(this.#database);
    const pending = { ...which, status: 'pending' as const };
    const dropped: DeliveryId[] = [];
    for (;;) {
      const rows = await deliveries.find(pending).project<{ _id: string }>({ _id: 1 }).limit(rowsPerWrite).toArray();
      if (rows.length === 0) break;
      const ids = rows.map(({ _id }) => _id);
      await deliveries.updateMany(
        { ...pending, _id: { $in: ids } },
        changed('changed', { status: 'dropped', due: null, dropReason: reason }, this.#clock.now()),
      );
      dropped.push(...ids.map((id) => id as DeliveryId));
    }
    await this.#publish(dropped);
    return dropped.length;
  }

  /** A claim stays: an attempt may be under way that began before the row was dropped. */
  async #revive({ _id, status, made }: DeliveryRow, due: Milliseconds, expires: Milliseconds, allowed: number): Promise<boolean> {
    const deliveries = await deliveryRows(this.#database);
    const revived = { status: 'pending' as const, due, expires, allowed: Math.max(allowed, made + 1), dropReason: null };
    return (await deliveries.updateOne({ _id: { $eq: _id }, status, made }, changed('changed', revived, this.#clock.now()))).matchedCount === 1;
  }

  /** The earliest of a time of the pending rows, for each active endpoint. */
  async #first(time: string | Document): Promise<ReadonlyMap<Uuid, Milliseconds>> {
    const deliveries = await deliveryRows(this.#database);
    const [open, first] = await Promise.all([
      targetRows(this.#database)
        .find({ state: 'open' }, { projection: { _id: 1 } })
        .toArray(),
      deliveries
        .aggregate<{ _id: string; first: Milliseconds }>([{ $match: { status: 'pending' } }, { $group: { _id: '$endpoint', first: { $min: time } } }])
        .toArray(),
    ]);
    const active = new Set(open.map(({ _id }) => _id));
    return new Map(first.filter(({ _id }) => active.has(_id)).map((row) => [Uuid.parse(row._id), row.first]));
  }

  // Endpoints

  #target(endpoint: Uuid): Promise<TargetRow | null> {
    return targetRows(this.#database).findOne({ _id: { $eq: endpoint as string } });
  }

  async #insertTarget(row: TargetRow): Promise<boolean> {
    try {
      await targetRows(this.#database).insertOne(row);
      return true;
    } catch (error) {
      if (isDuplicate(error)) return false;
      throw error;
    }
  }

  /** Those of the endpoints that are closed, and why. */
  async #closed(endpoints: readonly string[]): Promise<ReadonlyMap<string, string>> {
    if (endpoints.length === 0) return new Map();
    const rows = await targetRows(this.#database)
      .find({ _id: { $in: [...new Set(endpoints)] }, state: 'closed' })
      .toArray();
    return new Map(rows.map(({ _id, closedBecause }) => [_id, closedBecause ?? '']));
  }

  // Watchers

  async #publish(ids: readonly DeliveryId[]): Promise<void> {
    if (!this.#changes.anybody || ids.length === 0) return;
    const deliveries = await deliveryRows(this.#database);
    const rows = await deliveries.find({ _id: { $in: ids.map((id) => id as string) } }).toArray();
    const byId = new Map(rows.map((row) => [row._id, row]));
    for (const id of ids) this.#tell(byId.get(id));
  }

  #tell(row: DeliveryRow | undefined): void {
    if (row === undefined || (this.#told.get(row._id) ?? -1) >= row.revision) return;
    this.#told.set(row._id, row.revision);
    this.#changes.publish({ kind: row.change, delivery: deliveryOf(row) });
  }

  /** A delivery that was made and attempted between two looks was made all the same: whoever passes new ones on waits for that. */
  #tellMade(row: DeliveryRow): void {
    if (row.change === 'made' || this.#told.has(row._id)) return;
    this.#changes.publish({ kind: 'made', delivery: { ...deliveryOf(row), status: 'pending', attempts: [], dropReason: null } });
  }

  /** Where the organization's newest delivery stands in the order of arrival; -1 where there is none. */
  async #newest(org: OrganizationId): Promise<number> {
    const deliveries = await deliveryRows(this.#database);
    const row = await deliveries.findOne({ org: { $eq: org as string } }, { sort: { seq: -1 }, projection: { seq: 1 } });
    return row?.seq ?? -1;
  }

  /** What other processes change: that a delivery was made, and of several changes between two looks the last. Never rejects. */
  async #lookForChanges(org: OrganizationId, signal: AbortSignal): Promise<void> {
    const began = this.#clock.now();
    const known = new LRUCache<string, number>({ max: changesKept });
    let from = began - clocksDiffer;
    let newest: number | null = null;
    for (let looks = 0; !signal.aborted; looks += 1) {
      const now = this.#clock.now();
      try {
        newest ??= await this.#newest(org);
        const deliveries = await deliveryRows(this.#database);
        const rows = await deliveries
          .find({ org: { $eq: org as string }, changedAt: { $gte: from } })
          .sort({ changedAt: 1, seq: 1 })
          .toArray();
        for (const row of rows) {
          if ((known.get(row._id) ?? -1) >= row.revision) continue;
          const isNew = row.seq > newest && !known.has(row._id);
          known.set(row._id, row.revision);
          if (looks === 0 && row.changedAt <= began) continue;
          if (isNew) this.#tellMade(row);
          this.#tell(row);
        }
        from = now - clocksDiffer;
      } catch {
        // looked for again
      }
      await this.#clock.sleep(watchedEvery, signal);
    }
  }

  #guarded<T>(work: () => Promise<T>): Promise<T> {
    return guarded(DeliveriesUnavailable, work);
  }
}
