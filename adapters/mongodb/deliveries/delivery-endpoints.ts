import type { Filter, FindOptions } from 'mongodb';
import type { DeliveryEndpoint, EndpointGates } from '../../../application/ports/endpoint-gates.js';
import {
  healthOf,
  stateAfter,
  trippedOf,
  watchedOf,
  type GateState,
  type StoredEndpoint,
} from '../../../application/webhooks/stored-endpoints.js';
import type { Milliseconds, OrganizationId, Uuid } from '../../../domain/ids.js';
import type { WebhookUrl } from '../../../domain/webhook-url.js';
import type { MongoDatabase } from '../client/database.js';
import { findAll } from '../client/documents.js';
import { isInserted } from '../client/refusals.js';
import {
  deliveryRows,
  newEndpointRow,
  endpointRows,
  storedEndpointOf,
  type EndpointRow,
} from './delivery-rows.js';

/** Of endpoints that nothing is sent to. */
const notSentTo: { readonly $in: GateState[] } = { $in: ['off', 'tripped'] };

/**
 * The endpoints' data for attempts, one document each. The document of a deleted endpoint stays, so that the
 * endpoint can't come back.
 */
export const deliveryEndpoints = (database: MongoDatabase) => {
  const endpoints = () => endpointRows(database);

  const find = async (endpoint: Uuid): Promise<StoredEndpoint | null> => {
    const row = await endpoints().findOne({ _id: { $eq: endpoint } });
    return row && storedEndpointOf(row);
  };

  const list = async (which: Filter<EndpointRow>, options?: FindOptions): Promise<StoredEndpoint[]> => {
    const rows = await findAll(endpoints(), which, options);
    return rows.map(storedEndpointOf);
  };

  const gates: Pick<EndpointGates, 'addresses' | 'resetFailures' | 'tripped' | 'health' | 'watched'> = {
    addresses: async (of) => {
      const which = { _id: { $in: [...of] }, state: { $ne: 'closed' as const } };
      const rows = await findAll(endpoints(), which, { projection: { org: 1, url: 1 } });
      return new Map(rows.map(({ _id, org, url }) => [_id, { org, url }]));
    },

    resetFailures: async (endpoint) => {
      await endpoints().updateOne({ _id: { $eq: endpoint } }, { $set: { consecutive: 0 } });
    },

    tripped: async () => (await list({ state: 'tripped' })).map(trippedOf),

    health: async (org) => {
      const known = await list({ org: { $eq: org } });
      return new Map(known.map((stored) => [stored.endpoint, healthOf(stored)]));
    },

    watched: async (inactiveOnly, { startingAfter, limit }) => {
      const state = inactiveOnly ? notSentTo : { $ne: 'closed' as const };
      const after = startingAfter !== null && { _id: { $gt: startingAfter as Uuid } };
      return (await list({ state, ...after }, { sort: { _id: 1 }, limit })).map(watchedOf);
    },
  };

  return {
    gates,
    find,

    /**
     * Inserts an endpoint or replaces an older version of it. Returns the new state of an existing one: it is
     * `off` now, is `opening` (its deliveries may be attempted once the expired ones are dropped), or is `as
     * before`.
     */
    upsert: async (wanted: DeliveryEndpoint, now: Milliseconds): Promise<'off' | 'opening' | 'as before'> => {
      const { endpoint, version, enabledAt } = wanted;
      for (;;) {
        const known = await find(endpoint);
        if (known === null) {
          if (await isInserted(endpoints().insertOne(newEndpointRow(wanted)))) return 'as before';
          continue;
        }
        if (known.state === 'closed' || version <= known.version) return 'as before';
        const state = stateAfter(known, wanted);
        const { url, secrets } = newEndpointRow(wanted);
        const fresh = known.enabledAt === enabledAt ? {} : { consecutive: 0 };
        const { matchedCount } = await endpoints().updateOne(
          { _id: { $eq: endpoint }, version: known.version, state: known.state },
          { $set: { url, secrets, state, version, enabledAt, changedAt: now, ...fresh } },
        );
        if (matchedCount === 0) continue;
        return state === 'off' || state === 'opening' ? state : 'as before';
      }
    },

    /** Drops an earlier expiry: deliveries may be attempted again. */
    open: async (endpoint: Uuid): Promise<void> => {
      await endpoints().updateOne({ _id: { $eq: endpoint }, state: 'opening' }, { $set: { state: 'open' } });
    },

    /**
     * Marks an endpoint as deleted, forever; also one that is already deleted, or unknown. Returns false if
     * it belongs to another organization.
     */
    delete: async (
      org: OrganizationId,
      endpoint: Uuid,
      reason: string,
      now: Milliseconds,
    ): Promise<boolean> => {
      const closed = { state: 'closed', closedBecause: reason, changedAt: now } as const;
      const never = { secrets: [], active: false, version: 0, enabledAt: 0 };
      const unknown = newEndpointRow({ endpoint, org, url: '' as WebhookUrl, ...never });
      if (await isInserted(endpoints().insertOne({ ...unknown, ...closed }))) return true;
      const { matchedCount } = await endpoints().updateOne(
        { _id: { $eq: endpoint }, org: { $eq: org }, state: { $ne: 'closed' } },
        { $set: closed },
      );
      return matchedCount === 1 || (await find(endpoint))?.org === org;
    },

    /** Which of the endpoints are deleted, and why. */
    deleted: async (of: readonly Uuid[]): Promise<ReadonlyMap<Uuid, string>> => {
      if (of.length === 0) return new Map();
      const known = await list({ _id: { $in: [...new Set(of)] }, state: 'closed' });
      return new Map(known.map(({ endpoint, closedBecause }) => [endpoint, closedBecause ?? '']));
    },

    /** The endpoints that may have pending rows that must not be sent; or `only` this one of them. */
    inactive: (only?: Uuid): Promise<readonly StoredEndpoint[]> =>
      list({
        ...(only !== undefined && { _id: { $eq: only } }),
        state: { $in: ['off', 'opening', 'closed'] },
        isClean: { $ne: true },
      }),

    /** Nothing is pending for a deleted endpoint, and nothing can come any more. */
    markClean: async (endpoint: Uuid): Promise<void> => {
      await endpoints().updateOne({ _id: { $eq: endpoint } }, { $set: { isClean: true } });
    },

    /** Forgets endpoints that were deleted before a time and left nothing. */
    forget: async (before: Milliseconds): Promise<void> => {
      await endpoints().deleteMany({ state: 'closed', isClean: true, changedAt: { $lte: before } });
    },

    /** The endpoints that nothing is sent to. */
    allDisabled: async (): Promise<readonly Uuid[]> => {
      const rows = await findAll(endpoints(), { state: notSentTo }, { projection: { _id: 1 } });
      return rows.map(({ _id }) => _id);
    },
  };
};

interface FirstRow {
  readonly _id: Uuid;
  readonly due: Milliseconds;
  readonly claimedUntil: Milliseconds;
}

/** Rows of an endpoint that are looked at if its first row is claimed: more than are claimed at a time. */
const rowsBehindClaims = 100;

/**
 * For each active endpoint, when its first pending row can be claimed, and when the first is due. The server
 * jumps from one endpoint to the next in the index, however many rows each has.
 */
export const earliestOf = async (database: MongoDatabase) => {
  const deliveries = await deliveryRows(database);
  const [open, first] = await Promise.all([
    findAll(endpointRows(database), { state: 'open' }, { projection: { org: 1 } }),
    deliveries
      .aggregate<FirstRow>([
        { $match: { status: 'pending' } },
        { $sort: { status: 1, endpoint: 1, due: 1 } },
        { $group: { _id: '$endpoint', due: { $first: '$due' }, claimedUntil: { $first: '$claimedUntil' } } },
      ])
      .toArray(),
  ]);
  const orgs = new Map(open.map(({ _id, org }) => [_id, org]));
  const claimableIn = async ({ _id, due, claimedUntil }: FirstRow): Promise<Milliseconds> => {
    if (claimedUntil === 0) return due;
    const which = { endpoint: { $eq: _id }, status: 'pending' as const };
    const sort = { due: 1, seq: 1 } as const;
    const projection = { due: 1, claimedUntil: 1 };
    const rows = await findAll(deliveries, which, { sort, limit: rowsBehindClaims, projection });
    return Math.min(...rows.map((row) => Math.max(row.due ?? 0, row.claimedUntil)));
  };
  const found = first.map(async (row) => {
    const org = orgs.get(row._id);
    if (org === undefined) return [];
    return [[row._id, { org, claimable: await claimableIn(row), due: row.due }]] as const;
  });
  return new Map((await Promise.all(found)).flat());
};
