import { LRUCache } from 'lru-cache';
import { DeliveryChanges } from '../../application/delivery-changes.js';
import type { DeliveryChange, DeliveryId } from '../../application/ports/deliveries.js';
import type { Clock } from '../../application/ports/system.js';
import type { Milliseconds, OrganizationId } from '../../domain/ids.js';
import type { MongoDatabase } from './database.js';
import { deliveryOf, deliveryRows, type DeliveryRow } from './delivery-rows.js';

/** How often changes of other processes are looked for while somebody watches. */
const watchedEvery: Milliseconds = 500;
/** Clocks of other processes may be behind by so much. */
const clocksDiffer: Milliseconds = 5_000;
const changesKept = 10_000;

/**
 * Tells watchers how deliveries change: what this process does at once, what others do when it looks for
 * that.
 */
export class MongoDeliveryWatch {
  readonly #database: MongoDatabase;
  readonly #clock: Clock;
  readonly #changes = new DeliveryChanges();
  /** The revisions of deliveries that watchers have been told of. */
  readonly #told = new LRUCache<string, number>({ max: changesKept });

  constructor({ database, clock }: { readonly database: MongoDatabase; readonly clock: Clock }) {
    this.#database = database;
    this.#clock = clock;
  }

  watch(org: OrganizationId, signal: AbortSignal): AsyncIterable<DeliveryChange> {
    const changes = this.#changes.watch(org, signal);
    void this.#lookForChanges(org, signal);
    return changes;
  }

  /** This process has changed these. Never rejects: what can't be told now is found by the next look. */
  async announce(ids: readonly DeliveryId[]): Promise<void> {
    if (!this.#changes.hasWatchers || ids.length === 0) return;
    try {
      const deliveries = await deliveryRows(this.#database);
      const rows = await deliveries.find({ _id: { $in: ids.map((id) => id as string) } }).toArray();
      const byId = new Map(rows.map((row) => [row._id, row]));
      for (const id of ids) this.#tell(byId.get(id));
    } catch {
      // looked for
    }
  }

  #tell(row: DeliveryRow | undefined): void {
    if (row === undefined || (this.#told.get(row._id) ?? -1) >= row.revision) return;
    this.#told.set(row._id, row.revision);
    this.#changes.publish({ kind: row.change, delivery: deliveryOf(row) });
  }

  /**
   * A delivery that was made and attempted between two looks was made all the same: whoever passes new ones
   * on waits for that.
   */
  #tellMade(row: DeliveryRow): void {
    if (row.change === 'made' || this.#told.has(row._id)) return;
    this.#changes.publish({
      kind: 'made',
      delivery: { ...deliveryOf(row), status: 'pending', attempts: [], dropReason: null },
    });
  }

  /** Where the organization's newest delivery stands in the order of arrival; -1 where there is none. */
  async #newest(org: OrganizationId): Promise<number> {
    const deliveries = await deliveryRows(this.#database);
    const row = await deliveries.findOne(
      { org: { $eq: org as string } },
      { sort: { seq: -1 }, projection: { seq: 1 } },
    );
    return row?.seq ?? -1;
  }

  /**
   * What other processes change: that a delivery was made, and of several changes between two looks the last.
   * Never rejects.
   */
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
}
