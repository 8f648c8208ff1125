import type { Page } from '../../../application/ports/read-models.js';
import type {
  EndpointAddress,
  EndpointHealth,
  DeliveryEndpoint,
  TrippedEndpoint,
  WatchedEndpoint,
} from '../../../application/ports/endpoint-gates.js';
import {
  healthOf,
  stateAfter,
  trippedOf,
  watchedOf,
  type GateState,
  type StoredEndpoint,
} from '../../../application/webhooks/stored-endpoints.js';
import { OrganizationId, Uuid, type Milliseconds } from '../../../domain/ids.js';
import type { WebhookUrl } from '../../../domain/webhook-url.js';
import type { MongoDatabase } from '../client/database.js';
import { isInserted } from '../client/refusals.js';
import {
  deliveryRows,
  newEndpointRow,
  endpointRows,
  storedEndpointOf,
  type DeliveryRow,
} from './delivery-rows.js';

/** Of endpoints that nothing is sent to. */
const notSentTo: { readonly $in: GateState[] } = { $in: ['off', 'tripped'] };

/**
 * The endpoints' data for attempts, one document each. The document of a deleted endpoint stays, so that the
 * endpoint can't come back.
 */
export class MongoDeliveryEndpoints {
  constructor(private readonly database: MongoDatabase) {}

  async find(endpoint: Uuid): Promise<StoredEndpoint | null> {
    const row = await this.#rows().findOne({ _id: { $eq: endpoint as string } });
    return row && storedEndpointOf(row);
  }

  /**
   * Inserts an endpoint or replaces an older version of it. Returns the new state of an existing one: it is
   * `off` now, is `opening` (its deliveries may be attempted once the expired ones are dropped), or is `as
   * before`.
   */
  async upsert(wanted: DeliveryEndpoint, now: Milliseconds): Promise<'off' | 'opening' | 'as before'> {
    const { endpoint, version, enabledAt } = wanted;
    for (;;) {
      const known = await this.find(endpoint);
      if (known === null) {
        if (await isInserted(this.#rows().insertOne(newEndpointRow(wanted)))) return 'as before';
        continue;
      }
      if (known.state === 'closed' || version <= known.version) return 'as before';
      const state = stateAfter(known, wanted);
      const { url, secrets } = newEndpointRow(wanted);
      const fresh = known.enabledAt === enabledAt ? {} : { consecutive: 0 };
      const { matchedCount } = await this.#rows().updateOne(
        { _id: { $eq: endpoint as string }, version: known.version, state: known.state },
        { $set: { url, secrets, state, version, enabledAt, changedAt: now, ...fresh } },
      );
      if (matchedCount === 0) continue;
      return state === 'off' || state === 'opening' ? state : 'as before';
    }
  }

  async addresses(endpoints: readonly Uuid[]): Promise<ReadonlyMap<Uuid, EndpointAddress>> {
    const rows = await this.#rows()
      .find({ _id: { $in: [...endpoints] }, state: { $ne: 'closed' } }, { projection: { org: 1, url: 1 } })
      .toArray();
    return new Map(
      rows.map(({ _id, org, url }) => [Uuid.parse(_id), { org: OrganizationId.parse(org), url }]),
    );
  }

  async resetFailures(endpoint: Uuid): Promise<void> {
    await this.#rows().updateOne({ _id: { $eq: endpoint as string } }, { $set: { consecutive: 0 } });
  }

  /** Drops an earlier expiry: deliveries may be attempted again. */
  async open(endpoint: string): Promise<void> {
    await this.#rows().updateOne({ _id: { $eq: endpoint }, state: 'opening' }, { $set: { state: 'open' } });
  }

  /**
   * Marks an endpoint as deleted, forever; also one that is already deleted, or unknown. Returns false if it
   * belongs to another organization.
   */
  async delete(org: OrganizationId, endpoint: Uuid, reason: string, now: Milliseconds): Promise<boolean> {
    const closed = { state: 'closed', closedBecause: reason, changedAt: now } as const;
    const never = { secrets: [], active: false, version: 0, enabledAt: 0 };
    const unknown = newEndpointRow({ endpoint, org, url: '' as WebhookUrl, ...never });
    if (await isInserted(this.#rows().insertOne({ ...unknown, ...closed }))) return true;
    const { matchedCount } = await this.#rows().updateOne(
      { _id: { $eq: endpoint as string }, org: { $eq: org as string }, state: { $ne: 'closed' } },
      { $set: closed },
    );
    return matchedCount === 1 || (await this.find(endpoint))?.org === org;
  }

  /** Which of the endpoints are deleted, and why. */
  async deleted(endpoints: readonly string[]): Promise<ReadonlyMap<string, string>> {
    if (endpoints.length === 0) return new Map();
    const rows = await this.#rows()
      .find({ _id: { $in: [...new Set(endpoints)] }, state: 'closed' })
      .toArray();
    return new Map(rows.map(({ _id, closedBecause }) => [_id, closedBecause ?? '']));
  }

  /** The endpoints that may have pending rows that must not be sent; or `only` this one of them. */
  async inactive(only?: Uuid): Promise<readonly StoredEndpoint[]> {
    const rows = await this.#rows()
      .find({
        ...(only !== undefined && { _id: { $eq: only as string } }),
        state: { $in: ['off', 'opening', 'closed'] },
        isClean: { $ne: true },
      })
      .toArray();
    return rows.map(storedEndpointOf);
  }

  /** Nothing is pending for a deleted endpoint, and nothing can come any more. */
  async markClean(endpoint: string): Promise<void> {
    await this.#rows().updateOne({ _id: { $eq: endpoint } }, { $set: { isClean: true } });
  }

  /** Forgets endpoints that were deleted before a time and left nothing. Returns how many. */
  async forget(before: Milliseconds): Promise<number> {
    const gone = { state: 'closed' as const, isClean: true, changedAt: { $lte: before } };
    return (await this.#rows().deleteMany(gone)).deletedCount;
  }

  /** The active endpoints, and whose they are. */
  async allOpen(): Promise<ReadonlyMap<string, OrganizationId>> {
    const rows = await this.#rows()
      .find({ state: 'open' }, { projection: { _id: 1, org: 1 } })
      .toArray();
    return new Map(rows.map(({ _id, org }) => [_id, org as OrganizationId]));
  }

  /** The endpoints that nothing is sent to. */
  async allDisabled(): Promise<readonly string[]> {
    const rows = await this.#rows()
      .find({ state: notSentTo }, { projection: { _id: 1 } })
      .toArray();
    return rows.map(({ _id }) => _id);
  }

  async tripped(): Promise<readonly TrippedEndpoint[]> {
    const rows = await this.#rows().find({ state: 'tripped' }).toArray();
    return rows.map(storedEndpointOf).map(trippedOf);
  }

  async health(org: OrganizationId): Promise<ReadonlyMap<Uuid, EndpointHealth>> {
    const rows = await this.#rows()
      .find({ org: { $eq: org as string } })
      .toArray();
    return new Map(rows.map(storedEndpointOf).map((stored) => [stored.endpoint, healthOf(stored)]));
  }

  async watched(inactiveOnly: boolean, { startingAfter, limit }: Page): Promise<readonly WatchedEndpoint[]> {
    const state = inactiveOnly ? notSentTo : { $ne: 'closed' as const };
    const rows = await this.#rows()
      .find({ state, ...(startingAfter !== null && { _id: { $gt: startingAfter } }) })
      .sort({ _id: 1 })
      .limit(limit)
      .toArray();
    return rows.map(storedEndpointOf).map(watchedOf);
  }

  #rows() {
    return endpointRows(this.database);
  }
}

interface FirstRow {
  readonly _id: string;
  readonly due: Milliseconds;
  readonly claimedUntil: Milliseconds;
}

/** Rows of an endpoint that are looked at if its first row is claimed: more than are claimed at a time. */
const rowsBehindClaims = 100;

interface EarliestDelivery {
  readonly org: OrganizationId;
  readonly claimable: Milliseconds;
  readonly due: Milliseconds;
}

/**
 * For each active endpoint, when its first pending row can be claimed, and when the first is due. The server
 * jumps from one endpoint to the next in the index, however many rows each has.
 */
export const earliestOf = async (
  database: MongoDatabase,
  endpoints: MongoDeliveryEndpoints,
): Promise<ReadonlyMap<Uuid, EarliestDelivery>> => {
  const deliveries = await deliveryRows(database);
  const [open, first] = await Promise.all([
    endpoints.allOpen(),
    deliveries
      .aggregate<FirstRow>([
        { $match: { status: 'pending' } },
        { $sort: { status: 1, endpoint: 1, due: 1 } },
        { $group: { _id: '$endpoint', due: { $first: '$due' }, claimedUntil: { $first: '$claimedUntil' } } },
      ])
      .toArray(),
  ]);
  const claimableIn = async ({ _id, due, claimedUntil }: FirstRow): Promise<Milliseconds> => {
    if (claimedUntil === 0) return due;
    const rows = await deliveries
      .find({ endpoint: { $eq: _id }, status: 'pending' })
      .sort({ due: 1, seq: 1 })
      .limit(rowsBehindClaims)
      .project<Pick<DeliveryRow, 'due' | 'claimedUntil'>>({ due: 1, claimedUntil: 1 })
      .toArray();
    return Math.min(...rows.map((row) => Math.max(row.due ?? 0, row.claimedUntil)));
  };
  const found = await Promise.all(
    first.map(async (row): Promise<readonly (readonly [Uuid, EarliestDelivery])[]> => {
      const org = open.get(row._id);
      if (org === undefined) return [];
      return [[Uuid.parse(row._id), { org, claimable: await claimableIn(row), due: row.due }]];
    }),
  );
  return new Map(found.flat());
};
