import type {
  EndpointHealth,
  DeliveryEndpoint,
  TrippedEndpoint,
} from '../../application/ports/deliveries.js';
import { Uuid, type OrganizationId } from '../../domain/ids.js';
import type { WebhookUrl } from '../../domain/webhook-url.js';
import { isDuplicate, type MongoDatabase } from './database.js';
import {
  healthOf,
  newTarget,
  targetRows,
  trippedOf,
  type TargetRow,
  type TargetState,
} from './delivery-rows.js';

/**
 * What attempts need to know of the endpoints, one document each. A closed one stays, so that it never opens
 * again.
 */
export class MongoTargets {
  readonly #database: MongoDatabase;

  constructor(database: MongoDatabase) {
    this.#database = database;
  }

  async find(endpoint: Uuid): Promise<TargetRow | null> {
    return targetRows(this.#database).findOne({ _id: { $eq: endpoint as string } });
  }

  /**
   * Makes a target known or replaces an older version. Answers what that did to one that was known: `opened`:
   * it may be attempted again.
   */
  async put(target: DeliveryEndpoint): Promise<'off' | 'opened' | 'as before'> {
    const { endpoint, active, version, enabledAt } = target;
    for (;;) {
      const known = await this.find(endpoint);
      if (known === null) {
        if (await this.#insert(newTarget(target))) return 'as before';
        continue;
      }
      if (known.state === 'closed' || version <= known.version) return 'as before';
      const stays = known.state === 'tripped' && active && known.enabledAt === enabledAt;
      const state: TargetState = stays ? 'tripped' : active ? 'open' : 'off';
      const { url, secrets } = newTarget(target);
      const fresh = known.enabledAt === enabledAt ? {} : { consecutive: 0 };
      const { matchedCount } = await targetRows(this.#database).updateOne(
        { _id: { $eq: endpoint as string }, version: known.version, state: known.state },
        { $set: { url, secrets, state, version, enabledAt, ...fresh } },
      );
      if (matchedCount === 0) continue;
      if (!active) return 'off';
      return stays || known.state === 'open' ? 'as before' : 'opened';
    }
  }

  async forgive(endpoint: Uuid): Promise<void> {
    await targetRows(this.#database).updateOne(
      { _id: { $eq: endpoint as string } },
      { $set: { consecutive: 0 } },
    );
  }

  /** Closes one for ever, also one that was closed or was not known. False: it is another organization's. */
  async close(org: OrganizationId, endpoint: Uuid, reason: string): Promise<boolean> {
    const unknown: DeliveryEndpoint = {
      endpoint,
      org,
      url: '' as WebhookUrl,
      secrets: [],
      active: false,
      version: 0,
      enabledAt: 0,
    };
    if (await this.#insert({ ...newTarget(unknown), state: 'closed', closedBecause: reason })) return true;
    const open = {
      _id: { $eq: endpoint as string },
      org: { $eq: org as string },
      state: { $ne: 'closed' as const },
    };
    const { matchedCount } = await targetRows(this.#database).updateOne(open, {
      $set: { state: 'closed', closedBecause: reason },
    });
    return matchedCount === 1 || (await this.find(endpoint))?.org === org;
  }

  /** Those of the endpoints that are closed, and why. */
  async closed(endpoints: readonly string[]): Promise<ReadonlyMap<string, string>> {
    if (endpoints.length === 0) return new Map();
    const rows = await targetRows(this.#database)
      .find({ _id: { $in: [...new Set(endpoints)] }, state: 'closed' })
      .toArray();
    return new Map(rows.map(({ _id, closedBecause }) => [_id, closedBecause ?? '']));
  }

  /** Those that are switched off, and those that are closed. */
  async shut(): Promise<readonly TargetRow[]> {
    return targetRows(this.#database)
      .find({ state: { $in: ['off', 'closed'] } })
      .toArray();
  }

  async open(): Promise<ReadonlySet<string>> {
    const rows = await targetRows(this.#database)
      .find({ state: 'open' }, { projection: { _id: 1 } })
      .toArray();
    return new Set(rows.map(({ _id }) => _id));
  }

  async tripped(): Promise<readonly TrippedEndpoint[]> {
    return (await targetRows(this.#database).find({ state: 'tripped' }).toArray()).map(trippedOf);
  }

  async health(org: OrganizationId): Promise<ReadonlyMap<Uuid, EndpointHealth>> {
    const rows = await targetRows(this.#database)
      .find({ org: { $eq: org as string } })
      .toArray();
    return new Map(rows.map((row) => [Uuid.parse(row._id), healthOf(row)]));
  }

  async #insert(row: TargetRow): Promise<boolean> {
    try {
      await targetRows(this.#database).insertOne(row);
      return true;
    } catch (error) {
      if (isDuplicate(error)) return false;
      throw error;
    }
  }
}
