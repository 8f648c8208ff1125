import type { Filter } from 'mongodb';
import type { DeadLetterFilter, DeliveryId, Redriven } from '../../../application/ports/delivery-log.js';
import type { Entropy } from '../../../application/ports/system.js';
import { Uuid, type Milliseconds, type OrganizationId } from '../../../domain/ids.js';
import { batchSize } from '../client/chunks.js';
import { deliveryRows, type DeliveryRow } from './delivery-rows.js';
import type { MongoDeliveryWrites, MongoDeliveryWritesOptions } from './delivery-writes.js';

/** A redrive that is not finished. Times and positions are inclusive; null means no bound. */
export interface OpenRedrive {
  readonly _id: string;
  readonly org: string;
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

export interface MongoRedrivesOptions extends MongoDeliveryWritesOptions {
  readonly entropy: Entropy;
  readonly writes: MongoDeliveryWrites;
}

const count = (counts: Map<Uuid, number>, { endpoint }: Pick<DeliveryRow, 'endpoint'>): void => {
  const id = Uuid.parse(endpoint);
  counts.set(id, (counts.get(id) ?? 0) + 1);
};

/** Redrives, one chunk of dead letters at a time. The rest is stored, so that any process can continue. */
export class MongoRedrives {
  constructor(private readonly options: MongoRedrivesOptions) {}

  async begin(
    org: OrganizationId,
    { from, to, endpoint }: DeadLetterFilter,
    now: Milliseconds,
    expires: Milliseconds,
  ): Promise<OpenRedrive> {
    return {
      _id: this.options.entropy.uuid(),
      org,
      fromPosition: 'position' in from ? from.position : 0n,
      toTime: to !== null && 'time' in to ? to.time : null,
      toPosition: to !== null && 'position' in to ? to.position : null,
      endpoint,
      now,
      expires,
      occurredAt: 'time' in from ? from.time : 0,
      seq: -1,
    };
  }

  async first(): Promise<OpenRedrive | null> {
    return this.#open().findOne({});
  }

  /**
   * Does one chunk. Two processes that do the same change nothing twice. `counts`: how many became due, by
   * endpoint; of `all`, how many will.
   */
  async step(redrive: OpenRedrive, counting: 'chunk' | 'all' = 'chunk'): Promise<Redriven> {
    const { database, endpoints, watch, writes } = this.options;
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
    const rest =
      last === undefined || rows.length < batchSize
        ? null
        : { ...redrive, occurredAt: last.occurredAt, seq: last.seq };
    // Before another process can go on with it.
    const counts = rest === null || counting === 'chunk' ? new Map<Uuid, number>() : await this.#due(rest);
    for (const row of revived) count(counts, row);
    if (rest === null) await this.#open().deleteOne({ _id: { $eq: redrive._id } });
    else await this.#open().replaceOne({ _id: { $eq: redrive._id } }, rest, { upsert: true });
    return { counts, more: rest !== null };
  }

  /** How many dead letters it will make due, by endpoint. */
  async #due(redrive: OpenRedrive): Promise<Map<Uuid, number>> {
    const { database, endpoints } = this.options;
    const counts = new Map<Uuid, number>();
    const rows = (await deliveryRows(database))
      .find(this.#which(redrive), { projection: { endpoint: 1 } })
      .sort({ occurredAt: 1, seq: 1 });
    for await (const row of rows) count(counts, row);
    const known = await endpoints.addresses([...counts.keys()]);
    for (const endpoint of counts.keys()) if (!known.has(endpoint)) counts.delete(endpoint);
    return counts;
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
      removeAt: { $lte: new Date(now + this.options.keep) },
    };
  }

  #open() {
    return this.options.database.collection<OpenRedrive>('redrives');
  }
}
