import { LazyLru } from '../../../application/memory/lazy-lru.js';
import { DeliveryChanges } from '../../../application/webhooks/delivery-changes.js';
import type { DeliveryChange, DeliveryId } from '../../../application/ports/delivery-log.js';
import type { Clock } from '../../../application/ports/system.js';
import type { Milliseconds, OrganizationId } from '../../../domain/ids.js';
import type { MongoDatabase } from '../client/database.js';
import { findAll } from '../client/documents.js';
import { deliveryOf, deliveryRows, type DeliveryRow } from './delivery-rows.js';

/** How often to poll for changes of other processes while there is a watcher. */
const pollInterval: Milliseconds = 500;
/** By how much the clocks of other processes may be late. */
const clockDifference: Milliseconds = 5_000;
const changesKept = 10_000;
/** With the fields of a delivery that tell whether it has changed. */
const comparing = {
  sort: { changedAt: 1, seq: 1 },
  projection: { revision: 1, seq: 1, changedAt: 1 },
} as const;

/**
 * Shows watchers how deliveries change: changes of this process at once, changes of others when it polls for
 * them.
 */
export class MongoDeliveryWatch {
  readonly #changes = new DeliveryChanges();
  /** The revisions of deliveries that watchers have been shown. */
  readonly #published = new LazyLru<string, number>(changesKept);

  constructor(
    private readonly database: MongoDatabase,
    private readonly clock: Clock,
  ) {}

  watch(org: OrganizationId, signal: AbortSignal): AsyncIterable<DeliveryChange> {
    const changes = this.#changes.watch(org, signal);
    void this.#lookForChanges(org, signal);
    return changes;
  }

  /**
   * Shows deliveries that this process has changed. Never rejects: a failed one is found by the next poll.
   */
  async announce(ids: readonly DeliveryId[]): Promise<void> {
    if (!this.#changes.hasWatchers || ids.length === 0) return;
    try {
      const deliveries = await deliveryRows(this.database);
      const rows = await findAll(deliveries, { _id: { $in: [...ids] } });
      const byId = new Map(rows.map((row) => [row._id, row]));
      for (const id of ids) this.#publish(byId.get(id));
    } catch {
      // The next look finds them.
    }
  }

  #publish(row: DeliveryRow | undefined): void {
    if (row === undefined || (this.#published.get(row._id) ?? -1) >= row.revision) return;
    this.#published.set(row._id, row.revision);
    this.#changes.publish({ kind: row.change, delivery: deliveryOf(row) });
  }

  /**
   * Shows that a delivery was made, also if it was attempted before this poll found it: watchers that forward
   * new deliveries wait for that.
   */
  #publishMade(row: DeliveryRow): void {
    if (row.change === 'made' || this.#published.has(row._id)) return;
    this.#changes.publish({
      kind: 'made',
      delivery: { ...deliveryOf(row), status: 'pending', attempts: [], dropReason: null },
    });
  }

  /**
   * Shows changes by other processes: every delivery that was made, and the last of several changes between
   * two polls. Never rejects.
   */
  async #lookForChanges(org: OrganizationId, signal: AbortSignal): Promise<void> {
    const began = this.clock.now();
    const known = new LazyLru<string, number>(changesKept);
    const of = { org: { $eq: org } };
    let from = began - clockDifference;
    /** The place of the newest delivery in the order of insertion; -1 if there is none. */
    let newest: number | null = null;
    for (let looks = 0; !signal.aborted; looks += 1) {
      const now = this.clock.now();
      try {
        const deliveries = await deliveryRows(this.database);
        newest ??= (await deliveries.findOne(of, { sort: { seq: -1 }, projection: { seq: 1 } }))?.seq ?? -1;
        const recent = { ...of, changedAt: { $gte: from } };
        const changed = await findAll(deliveries, recent, comparing);
        for (const { _id, revision, seq, changedAt } of changed) {
          if ((known.get(_id) ?? -1) >= revision) continue;
          const isShown = (this.#published.get(_id) ?? -1) >= revision;
          const row =
            isShown || (looks === 0 && changedAt <= began) ? null : await deliveries.findOne({ _id });
          const isNew = seq > newest && !known.has(_id);
          known.set(_id, revision);
          if (row === null) continue;
          if (isNew) this.#publishMade(row);
          this.#publish(row);
        }
        from = now - clockDifference;
      } catch {
        // The next look tries again.
      }
      await this.clock.sleep(pollInterval, signal);
    }
  }
}
