import type { Filter } from 'mongodb';
import type { DeliveryId, NewDelivery } from '../../../application/ports/delivery-log.js';
import type { Milliseconds } from '../../../domain/ids.js';
import { batchSize, findAll, takeNumbers } from '../client/documents.js';
import { duplicatesIn } from '../client/refusals.js';
import type { MongoAttempts, MongoAttemptsOptions } from './attempts.js';
import { deliveryEndpoints } from './delivery-endpoints.js';
import { changed, deliveryRows, newDeliveryRow, type DeliveryRow } from './delivery-rows.js';
import type { MongoDeliveryWatch } from './delivery-watch.js';
import { erasedAmong, eraseRows } from './erased-cards.js';

/** Shared by the ports of the delivery store. */
export interface DeliveryParts extends Omit<MongoAttemptsOptions, 'keep'> {
  readonly attempts: MongoAttempts;
  readonly watch: MongoDeliveryWatch;
  readonly keep: Milliseconds;
}

/** Inserts deliveries, drops them, and makes them due again. Claims and attempts are made elsewhere. */
export const deliveryWrites = ({ database, clock, watch, keep }: DeliveryParts) => {
  const endpoints = deliveryEndpoints(database);

  /**
   * Drops some pending rows, at most one chunk, and returns how many. Claims on them stay: attempts under way
   * are still recorded.
   */
  const dropSome = async (which: Filter<DeliveryRow>, reason: string): Promise<number> => {
    const deliveries = await deliveryRows(database);
    const now = clock.now();
    const pending = { ...which, status: 'pending' as const };
    const rows = await findAll(deliveries, pending, { projection: { _id: 1 }, limit: batchSize });
    if (rows.length === 0) return 0;
    const ids = rows.map(({ _id }) => _id);
    const removeAt = new Date(now + keep);
    const dropped = { status: 'dropped', due: null, dropReason: reason, removeAt } as const;
    await deliveries.updateMany({ ...pending, _id: { $in: ids } }, changed('changed', dropped, now));
    await watch.announce(ids);
    return ids.length;
  };

  const changeIfUnchanged = async (row: DeliveryRow, set: Partial<DeliveryRow>): Promise<boolean> => {
    const { _id, status, made } = row;
    const deliveries = await deliveryRows(database);
    const { matchedCount } = await deliveries.updateOne(
      { _id: { $eq: _id }, status, made },
      changed('changed', set, clock.now()),
    );
    return matchedCount === 1;
  };

  return {
    dropSome,

    /**
     * Inserts the missing deliveries, at most one chunk, and returns which these were. Deliveries of deleted
     * endpoints are dropped, and deliveries of erased cards hold nothing personal.
     */
    insert: async (rows: readonly NewDelivery[]): Promise<readonly DeliveryId[]> => {
      if (rows.length === 0) return [];
      const deliveries = await deliveryRows(database);
      const cards = rows.map(({ card }) => card);
      const [deleted, erased, first] = await Promise.all([
        endpoints.deleted(rows.map(({ endpoint }) => endpoint)),
        erasedAmong(database, cards),
        takeNumbers(database, 'deliveries', rows.length),
      ]);
      const now = clock.now();
      const inserted = rows.map((row, index) => {
        const dropReason = row.dropReason ?? deleted.get(row.endpoint) ?? null;
        return newDeliveryRow(row, first + index, dropReason, erased.has(row.card), now, keep);
      });
      const present = await duplicatesIn(deliveries.insertMany(inserted, { ordered: false }));
      const added = rows.filter((_, index) => !present.has(index));
      // An endpoint may have been deleted, and a card erased, while their rows were being inserted.
      const [deletedNow, erasedNow] = await Promise.all([
        endpoints.deleted(added.map(({ endpoint }) => endpoint)),
        erasedAmong(database, cards),
      ]);
      const erasedSince = [...erasedNow].filter((card) => !erased.has(card));
      await eraseRows(database, erasedSince);
      for (const [endpoint, reason] of deletedNow)
        if (!deleted.has(endpoint)) await dropSome({ endpoint: { $eq: endpoint } }, reason);
      return added.map(({ id }) => id);
    },

    /**
     * Makes a delivery that has ended due again, for at least one more attempt. Returns false if it has
     * changed since it was read. A claim stays: an attempt may be under way that began before the row was
     * dropped.
     */
    revive: (row: DeliveryRow, due: Milliseconds, expires: Milliseconds, allowed = 0): Promise<boolean> => {
      const again = { status: 'pending', allowed: Math.max(allowed, row.made + 1) } as const;
      return changeIfUnchanged(row, { ...again, due, expires, dropReason: null, removeAt: null });
    },

    /** Makes a pending delivery due. Returns false if it has changed since it was read. */
    makeDue: (row: DeliveryRow, due: Milliseconds, expires: Milliseconds): Promise<boolean> =>
      changeIfUnchanged(row, { due, expires }),
  };
};
