import { DeliveryChanges } from '../../../application/webhooks/delivery-changes.js';
import type { DeliveryChange, DeliveryId } from '../../../application/ports/delivery-log.js';
import { rowFrom, type Database } from '../database.js';
import type { SqliteWriter } from '../writer/writer.js';
import type { ClaimBook } from './claim-book.js';
import { deliveryOf, type ChangedDelivery, type DeliveryRow } from './delivery-rows.js';

/** Tells watchers of changes in the delivery store. */
export const deliveryReports = (database: Database) => {
  const changes = new DeliveryChanges();
  const byId = database.prepare('select * from deliveries where id = ?');
  const publish = (kind: DeliveryChange['kind'], ids: Iterable<DeliveryId>): void => {
    if (!changes.hasWatchers) return;
    for (const id of ids) {
      const row = rowFrom<DeliveryRow>(byId, id);
      if (row !== undefined && changes.isWatched(row.org))
        changes.publish({ kind, delivery: deliveryOf(row) });
    }
  };
  const changed = (deliveries: readonly ChangedDelivery[]): void =>
    publish(
      'changed',
      deliveries.map(({ id }) => id),
    );
  return { changes, publish, changed };
};

/** Shared by the ports of the delivery store. */
export interface DeliveryStore {
  readonly writer: SqliteWriter;
  readonly database: Database;
  readonly book: ClaimBook;
  readonly reports: ReturnType<typeof deliveryReports>;
}
