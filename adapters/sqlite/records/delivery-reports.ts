import { DeliveryChanges } from '../../../application/webhooks/delivery-changes.js';
import type { DeliveryChange, DeliveryId } from '../../../application/ports/delivery-log.js';
import type { Database, Statement } from '../database.js';
import type { SqliteWriter } from '../writer/writer.js';
import type { ClaimBook } from './claim-book.js';
import { deliveryOf, type ChangedDelivery, type DeliveryRow } from './delivery-rows.js';

/** Tells watchers of changes in the delivery store. */
export class DeliveryReports {
  readonly changes = new DeliveryChanges();
  readonly #byId: Statement;

  constructor(database: Database) {
    this.#byId = database.prepare('select * from deliveries where id = ?');
  }

  publish(kind: DeliveryChange['kind'], ids: readonly DeliveryId[]): void {
    if (!this.changes.hasWatchers) return;
    for (const id of ids) {
      const row: DeliveryRow | undefined = this.#byId.get(id);
      if (row !== undefined && this.changes.isWatched(row.org))
        this.changes.publish({ kind, delivery: deliveryOf(row) });
    }
  }

  changed(deliveries: readonly ChangedDelivery[]): void {
    this.publish(
      'changed',
      deliveries.map(({ id }) => id),
    );
  }
}

/** Shared by the ports of the delivery store. */
export interface DeliveryStore {
  readonly writer: SqliteWriter;
  readonly database: Database;
  readonly book: ClaimBook;
  readonly reports: DeliveryReports;
}
