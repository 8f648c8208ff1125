import { DeliveryChanges } from '../../../application/webhooks/delivery-changes.js';
import { DeliveriesUnavailable } from '../../../application/ports/deliveries.js';
import type { DeliveryChange, DeliveryId } from '../../../application/ports/delivery-log.js';
import type { OrganizationId } from '../../../domain/ids.js';
import type { Database, Statement } from '../database.js';
import { NotWritten } from '../errors.js';
import type { InputOf, OperationName, OutputOf } from '../writer/operations.js';
import type { SqliteWriter } from '../writer/writer.js';
import { deliveryOf, type DeliveryRow } from './delivery-rows.js';

/** Writes of the delivery store, and their reports to watchers. */
export class DeliveryWrites {
  readonly changes = new DeliveryChanges();
  readonly #byId: Statement;

  constructor(
    private readonly writer: SqliteWriter,
    database: Database,
  ) {
    this.#byId = database.prepare('select * from deliveries where id = ?');
  }

  /** Runs a write. Throws DeliveriesUnavailable if nothing was written. */
  async run<Name extends OperationName>(
    name: Name,
    input: InputOf<Name>,
    onDurable?: (output: OutputOf<Name>) => void,
  ): Promise<OutputOf<Name>> {
    try {
      return await this.writer.run(name, input, onDurable);
    } catch (error) {
      if (error instanceof NotWritten)
        throw new DeliveriesUnavailable(`Nothing was written: ${error.message}`, { cause: error });
      throw error;
    }
  }

  publish(kind: DeliveryChange['kind'], ids: readonly DeliveryId[]): void {
    if (!this.changes.hasWatchers) return;
    for (const id of ids) {
      const row: DeliveryRow | undefined = this.#byId.get(id);
      if (row !== undefined && this.changes.isWatched(row.org as OrganizationId))
        this.changes.publish({ kind, delivery: deliveryOf(row) });
    }
  }
}

export const idsOf = (changed: readonly { readonly id: string }[]): readonly DeliveryId[] =>
  changed.map(({ id }) => id as DeliveryId);
