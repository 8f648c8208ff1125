import type {
  EndpointAddress,
  EndpointHealth,
  DeliveryEndpoint,
  TrippedEndpoint,
} from '../../application/ports/endpoint-gates.js';
import type { Document } from 'mongodb';
import { OrganizationId, Uuid, type Milliseconds } from '../../domain/ids.js';
import type { WebhookUrl } from '../../domain/webhook-url.js';
import type { MongoDatabase } from './database.js';
import { isDuplicate } from './refusals.js';
import {
  deliveryRows,
  healthOf,
  newEndpointRow,
  endpointRows,
  trippedOf,
  type EndpointRow,
  type EndpointState,
} from './delivery-rows.js';

/**
 * What attempts need to know of the endpoints, one document each. The document of a deleted endpoint stays,
 * so that the endpoint can't come back.
 */
export class MongoDeliveryEndpoints {
  readonly #database: MongoDatabase;

  constructor(database: MongoDatabase) {
    this.#database = database;
  }

  async find(endpoint: Uuid): Promise<EndpointRow | null> {
    return endpointRows(this.#database).findOne({ _id: { $eq: endpoint as string } });
  }

  /**
   * Inserts an endpoint or replaces an older version of it. Returns what became of one that was there: it is
   * `off` now, was `opened` (its deliveries may be attempted again), or is `as before`.
   */
  async upsert(wanted: DeliveryEndpoint): Promise<'off' | 'opened' | 'as before'> {
    const { endpoint, active, version, enabledAt } = wanted;
    for (;;) {
      const known = await this.find(endpoint);
      if (known === null) {
        if (await this.#insert(newEndpointRow(wanted))) return 'as before';
        continue;
      }
      if (known.state === 'closed' || version <= known.version) return 'as before';
      const stays = known.state === 'tripped' && active && known.enabledAt === enabledAt;
      const state: EndpointState = stays ? 'tripped' : active ? 'open' : 'off';
      const { url, secrets } = newEndpointRow(wanted);
      const fresh = known.enabledAt === enabledAt ? {} : { consecutive: 0 };
      const { matchedCount } = await endpointRows(this.#database).updateOne(
        { _id: { $eq: endpoint as string }, version: known.version, state: known.state },
        { $set: { url, secrets, state, version, enabledAt, ...fresh } },
      );
      if (matchedCount === 0) continue;
      if (!active) return 'off';
      return stays || known.state === 'open' ? 'as before' : 'opened';
    }
  }

  async addresses(endpoints: readonly Uuid[]): Promise<ReadonlyMap<Uuid, EndpointAddress>> {
    const rows = await endpointRows(this.#database)
      .find({ _id: { $in: [...endpoints] }, state: { $ne: 'closed' } }, { projection: { org: 1, url: 1 } })
      .toArray();
    return new Map(
      rows.map(({ _id, org, url }) => [
        Uuid.parse(_id),
        { org: OrganizationId.parse(org), url: url as WebhookUrl },
      ]),
    );
  }

  async resetFailures(endpoint: Uuid): Promise<void> {
    await endpointRows(this.#database).updateOne(
      { _id: { $eq: endpoint as string } },
      { $set: { consecutive: 0 } },
    );
  }

  /**
   * Marks an endpoint as deleted, forever; also one that is already deleted, or unknown. Returns false if it
   * belongs to another organization.
   */
  async delete(org: OrganizationId, endpoint: Uuid, reason: string): Promise<boolean> {
    const unknown: DeliveryEndpoint = {
      endpoint,
      org,
      url: '' as WebhookUrl,
      secrets: [],
      active: false,
      version: 0,
      enabledAt: 0,
    };
    if (await this.#insert({ ...newEndpointRow(unknown), state: 'closed', closedBecause: reason }))
      return true;
    const notDeleted = {
      _id: { $eq: endpoint as string },
      org: { $eq: org as string },
      state: { $ne: 'closed' as const },
    };
    const { matchedCount } = await endpointRows(this.#database).updateOne(notDeleted, {
      $set: { state: 'closed', closedBecause: reason },
    });
    return matchedCount === 1 || (await this.find(endpoint))?.org === org;
  }

  /** Which of the endpoints are deleted, and why. */
  async deleted(endpoints: readonly string[]): Promise<ReadonlyMap<string, string>> {
    if (endpoints.length === 0) return new Map();
    const rows = await endpointRows(this.#database)
      .find({ _id: { $in: [...new Set(endpoints)] }, state: 'closed' })
      .toArray();
    return new Map(rows.map(({ _id, closedBecause }) => [_id, closedBecause ?? '']));
  }

  /** The endpoints that are disabled or deleted. */
  async inactive(): Promise<readonly EndpointRow[]> {
    return endpointRows(this.#database)
      .find({ state: { $in: ['off', 'closed'] } })
      .toArray();
  }

  async open(): Promise<ReadonlySet<string>> {
    const rows = await endpointRows(this.#database)
      .find({ state: 'open' }, { projection: { _id: 1 } })
      .toArray();
    return new Set(rows.map(({ _id }) => _id));
  }

  async tripped(): Promise<readonly TrippedEndpoint[]> {
    return (await endpointRows(this.#database).find({ state: 'tripped' }).toArray()).map(trippedOf);
  }

  async health(org: OrganizationId): Promise<ReadonlyMap<Uuid, EndpointHealth>> {
    const rows = await endpointRows(this.#database)
      .find({ org: { $eq: org as string } })
      .toArray();
    return new Map(rows.map((row) => [Uuid.parse(row._id), healthOf(row)]));
  }

  async #insert(row: EndpointRow): Promise<boolean> {
    try {
      await endpointRows(this.#database).insertOne(row);
      return true;
    } catch (error) {
      if (isDuplicate(error)) return false;
      throw error;
    }
  }
}

/** For each active endpoint, the earliest value of a time among its pending rows. */
export const earliestOf = async (
  database: MongoDatabase,
  endpoints: MongoDeliveryEndpoints,
  time: string | Document,
): Promise<ReadonlyMap<Uuid, Milliseconds>> => {
  const deliveries = await deliveryRows(database);
  const [open, first] = await Promise.all([
    endpoints.open(),
    deliveries
      .aggregate<{ _id: string; first: Milliseconds }>([
        { $match: { status: 'pending' } },
        { $group: { _id: '$endpoint', first: { $min: time } } },
      ])
      .toArray(),
  ]);
  return new Map(first.filter(({ _id }) => open.has(_id)).map((row) => [Uuid.parse(row._id), row.first]));
};
