import type { Filter } from 'mongodb';
import type { DeadLetterFilter, DeliveryId } from '../../../application/ports/delivery-log.js';
import type { Entropy } from '../../../application/ports/system.js';
import { Uuid, type Milliseconds, type OrganizationId } from '../../../domain/ids.js';
import { batchSize } from '../client/chunks.js';
import type { MongoDatabase } from '../client/database.js';
import type { MongoDeliveryEndpoints } from './delivery-endpoints.js';
import { deliveryRows, type DeliveryRow } from './delivery-rows.js';
import type { MongoDeliveryWatch } from './delivery-watch.js';
import type { MongoDeliveryWrites } from './delivery-writes.js';

/** A redrive that is not finished. Times and positions are inclusive; null means no bound. */
export interface OpenRedrive {
  readonly _id: string;
  readonly org: string;
  readonly fromTime: Milliseconds;
  readonly fromPosition: bigint;
  readonly toTime: Milliseconds | null;
  readonly toPosition: bigint | null;
  readonly endpoint: string | null;
  readonly now: Milliseconds;
  readonly expires: Milliseconds;
  /** The last dead letter that was looked at. */
  readonly occurredAt: Milliseconds;
  readonly seq: number;
}

export interface MongoRedrivesOptions {
  readonly database: MongoDatabase;
  readonly entropy: Entropy;
  readonly endpoints: MongoDeliveryEndpoints;
  readonly watch: MongoDeliveryWatch;
  readonly writes: MongoDeliveryWrites;
  readonly keep: Milliseconds;
}

/** Redrives, one chunk of dead letters at a time. The rest is stored, so that any process can continue. */
export class MongoRedrives {
  readonly #options: MongoRedrivesOptions;

  constructor(options: MongoRedrivesOptions) {
    this.#options = options;
  }

  async begin(
    org: OrganizationId,
    { from, to, endpoint }: DeadLetterFilter,
    now: Milliseconds,
    expires: Milliseconds,
  ): Promise<OpenRedrive> {
    const fromTime = 'time' in from ? from.time : 0;
    return {
      _id: this.#options.entropy.uuid(),
      org,
      fromTime,
      fromPosition: 'position' in from ? from.position : 0n,
      toTime: to !== null && 'time' in to ? to.time : null,
      toPosition: to !== null && 'position' in to ? to.position : null,
      endpoint,
      now,
      expires,
      occurredAt: fromTime,
      seq: -1,
    };
  }

  async first(): Promise<OpenRedrive | null> {
    return this.#open().findOne({});
  }

  /** How many dead letters it will make due, by endpoint. */
  async count(redrive: OpenRedrive): Promise<ReadonlyMap<Uuid, number>> {
    const deliveries = await deliveryRows(this.#options.database);
    const found = await deliveries
      .aggregate<{ readonly _id: string; readonly count: number }>([
        { $match: this.#which(redrive) },
        { $group: { _id: '$endpoint', count: { $sum: 1 } } },
      ])
      .toArray();
    const known = await this.#options.endpoints.addresses(found.map(({ _id }) => Uuid.parse(_id)));
    const counts = found.map(({ _id, count }) => [Uuid.parse(_id), count] as const);
    return new Map(counts.filter(([endpoint]) => known.has(endpoint)));
  }

  /**
   * Does one chunk. Two processes that do the same change nothing twice. `touched`: the endpoints to which
   * something became due.
   */
  async step(redrive: OpenRedrive): Promise<{ readonly touched: ReadonlySet<Uuid>; readonly more: boolean }> {
    const { database, endpoints, watch, writes } = this.#options;
    const { now, expires } = redrive;
    const deliveries = await deliveryRows(database);
    const rows = await deliveries
      .find(this.#which(redrive))
      .sort({ occurredAt: 1, seq: 1 })
      .limit(batchSize)
      .toArray();
    const known = await endpoints.addresses(rows.map(({ endpoint }) => Uuid.parse(endpoint)));
    const mine = rows.filter(({ endpoint }) => known.has(Uuid.parse(endpoint)));
    const changed = await Promise.all(mine.map((row) => writes.revive(row, now, expires, 0)));
    const revived = mine.filter((_, index) => changed[index] === true);
    await watch.announce(revived.map(({ _id }) => _id as DeliveryId));
    const last = rows.at(-1);
    const more = last !== undefined && rows.length === batchSize;
    if (more)
      await this.#open().replaceOne(
        { _id: { $eq: redrive._id } },
        { ...redrive, occurredAt: last.occurredAt, seq: last.seq },
        { upsert: true },
      );
    else await this.#open().deleteOne({ _id: { $eq: redrive._id } });
    return { touched: new Set(revived.map(({ endpoint }) => Uuid.parse(endpoint))), more };
  }

  /** The dead letters that are still to be made due, without newer ones. */
  #which(redrive: OpenRedrive): Filter<DeliveryRow> {
    const { org, occurredAt, seq, toTime, fromPosition, toPosition, endpoint, now } = redrive;
    return {
      org: { $eq: org },
      status: 'exhausted',
      $or: [{ occurredAt: { $gt: occurredAt } }, { occurredAt: { $eq: occurredAt }, seq: { $gt: seq } }],
      ...(toTime !== null && { $and: [{ occurredAt: { $lte: toTime } }] }),
      position: { $gte: fromPosition, ...(toPosition !== null && { $lte: toPosition }) },
      ...(endpoint !== null && { endpoint: { $eq: endpoint } }),
      removeAt: { $lte: new Date(now + this.#options.keep) },
    };
  }

  #open() {
    return this.#options.database.collection<OpenRedrive>('redrives');
  }
}
