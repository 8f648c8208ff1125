import type { Filter } from 'mongodb';
import type { DeliveryId, NewDelivery } from '../../../application/ports/delivery-log.js';
import type { Clock } from '../../../application/ports/system.js';
import type { Milliseconds } from '../../../domain/ids.js';
import { batchSize } from '../client/chunks.js';
import type { MongoDatabase } from '../client/database.js';
import { duplicatesOf } from '../client/refusals.js';
import { takeNumbers } from '../client/sequences.js';
import { changed, deliveryRows, newDeliveryRow, type DeliveryRow } from './delivery-rows.js';
import { erasedAmong, eraseRows } from './erased-cards.js';
import type { MongoDeliveryEndpoints } from './delivery-endpoints.js';
import type { MongoDeliveryWatch } from './delivery-watch.js';

export interface MongoDeliveryWritesOptions {
  readonly database: MongoDatabase;
  readonly clock: Clock;
  readonly endpoints: MongoDeliveryEndpoints;
  readonly watch: MongoDeliveryWatch;
  readonly keep: Milliseconds;
}

/** Inserts deliveries, drops them, and makes them due again. Claims and attempts are made elsewhere. */
export class MongoDeliveryWrites {
  constructor(private readonly options: MongoDeliveryWritesOptions) {}

  /**
   * Inserts the missing deliveries, at most one chunk, and returns which these were. Deliveries of deleted
   * endpoints are dropped, and deliveries of erased cards hold nothing personal.
   */
  async insert(rows: readonly NewDelivery[]): Promise<readonly DeliveryId[]> {
    if (rows.length === 0) return [];
    const deliveries = await deliveryRows(this.options.database);
    const cards = rows.map(({ card }) => card);
    const [deleted, erased, first] = await Promise.all([
      this.options.endpoints.deleted(rows.map(({ endpoint }) => endpoint)),
      erasedAmong(this.options.database, cards),
      takeNumbers(this.options.database, 'deliveries', rows.length),
    ]);
    const now = this.options.clock.now();
    const inserted = rows.map((row, index) =>
      newDeliveryRow(
        row,
        first + index,
        row.dropReason ?? deleted.get(row.endpoint) ?? null,
        erased.has(row.card),
        now,
        this.options.keep,
      ),
    );
    let present: ReadonlySet<number> = new Set();
    try {
      await deliveries.insertMany(inserted, { ordered: false });
    } catch (error) {
      const duplicates = duplicatesOf(error);
      if (duplicates === null) throw error;
      present = duplicates;
    }
    const added = rows.filter((_, index) => !present.has(index));
    // An endpoint may have been deleted, and a card erased, while their rows were being inserted.
    const [deletedNow, erasedNow] = await Promise.all([
      this.options.endpoints.deleted(added.map(({ endpoint }) => endpoint)),
      erasedAmong(this.options.database, cards),
    ]);
    await eraseRows(
      this.options.database,
      [...erasedNow].filter((card) => !erased.has(card)),
    );
    for (const [endpoint, reason] of deletedNow)
      if (!deleted.has(endpoint)) await this.dropSome({ endpoint: { $eq: endpoint } }, reason);
    return added.map(({ id }) => id);
  }

  /**
   * Drops some pending rows, at most one chunk, and returns how many. Claims on them stay: attempts under way
   * are still recorded.
   */
  async dropSome(which: Filter<DeliveryRow>, reason: string): Promise<number> {
    const deliveries = await deliveryRows(this.options.database);
    const now = this.options.clock.now();
    const pending = { ...which, status: 'pending' as const };
    const rows = await deliveries
      .find(pending)
      .project<{ _id: string }>({ _id: 1 })
      .limit(batchSize)
      .toArray();
    if (rows.length === 0) return 0;
    const ids = rows.map(({ _id }) => _id);
    const dropped = {
      status: 'dropped' as const,
      due: null,
      dropReason: reason,
      removeAt: new Date(now + this.options.keep),
    };
    await deliveries.updateMany({ ...pending, _id: { $in: ids } }, changed('changed', dropped, now));
    await this.options.watch.announce(ids.map((id) => id as DeliveryId));
    return ids.length;
  }

  /**
   * Makes a delivery that has ended due again, for at least one more attempt. Returns false if it has changed
   * since it was read. A claim stays: an attempt may be under way that began before the row was dropped.
   */
  async revive(
    { _id, status, made }: DeliveryRow,
    due: Milliseconds,
    expires: Milliseconds,
    allowed: number,
  ): Promise<boolean> {
    const revived = {
      status: 'pending' as const,
      due,
      expires,
      allowed: Math.max(allowed, made + 1),
      dropReason: null,
      removeAt: null,
    };
    return this.#changeIfUnchanged({ _id, status, made }, revived);
  }

  /** Makes a pending delivery due. Returns false if it has changed since it was read. */
  async makeDue(
    { _id, status, made }: DeliveryRow,
    due: Milliseconds,
    expires: Milliseconds,
  ): Promise<boolean> {
    return this.#changeIfUnchanged({ _id, status, made }, { due, expires });
  }

  async #changeIfUnchanged(
    { _id, status, made }: Pick<DeliveryRow, '_id' | 'status' | 'made'>,
    set: Partial<DeliveryRow>,
  ): Promise<boolean> {
    const deliveries = await deliveryRows(this.options.database);
    const { matchedCount } = await deliveries.updateOne(
      { _id: { $eq: _id }, status, made },
      changed('changed', set, this.options.clock.now()),
    );
    return matchedCount === 1;
  }
}
