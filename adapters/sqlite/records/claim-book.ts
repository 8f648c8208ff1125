import {
  noClaims,
  type DeliveryClaim,
  type EndpointClaims,
} from '../../../application/ports/delivery-claims.js';
import type {
  DeliveryEndpoint,
  EndpointHealth,
  TrippedEndpoint,
  WatchedEndpoint,
} from '../../../application/ports/endpoint-gates.js';
import { nextTurn } from '../../../application/timing/next-turn.js';
import {
  deliveryEndpointOf,
  healthOf,
  trippedOf,
  watchedOf,
  type GateState,
  type StoredEndpoint,
} from '../../../application/webhooks/stored-endpoints.js';
import type { Milliseconds, OrganizationId, Uuid } from '../../../domain/ids.js';
import { rowFrom, rowsFrom, type Database } from '../database.js';
import type { ChangedDelivery, DeliveryRow } from './delivery-rows.js';

/** How many endpoints are looked at before others get the thread. */
const looksPerTurn = 200;

/** An endpoint with the claims on its deliveries. */
interface KnownEndpoint {
  endpoint: DeliveryEndpoint;
  state: GateState;
  /** As it was stored last. */
  row: StoredEndpoint;
  /** Its deletion is durable. */
  isGone: boolean;
  /** By delivery. */
  readonly claims: Map<string, HeldClaim>;
}

interface HeldClaim {
  readonly id: string;
  readonly seq: number;
  /** No attempt may start under it any more. */
  isRevoked: boolean;
}

/** A pending delivery. */
interface PendingRow {
  readonly seq: number;
  readonly due: number;
}

/** The columns of a delivery's row that a claim needs. */
const claimed = 'id, type, event, card, occurredAt, traceparent, body, made, allowed';

export type ClaimBook = ReturnType<typeof claimBook>;

/**
 * The endpoints, and the claims on their deliveries. Claims are only in memory: this process is the only one,
 * and after a crash the rows are due as before.
 */
export const claimBook = (database: Database) => {
  const endpoints = new Map<Uuid, KnownEndpoint>();
  /** Reads only an index: a row is large, and SQLite's cache of the file is dropped after every commit. */
  const pending = database.prepare(
    `select seq, due from deliveries where endpoint = ? and status = 'pending' order by due limit ?`,
  );
  const bySeq = database.prepare(`select ${claimed} from deliveries where seq = ?`);
  let made = 0;

  /** Adopts the writer's stored row of an endpoint, if there is one. A deletion under way still counts. */
  const setEndpoint = (row: StoredEndpoint | null): void => {
    if (row === null) return;
    const { endpoint, state, version } = row;
    const known = endpoints.get(endpoint);
    if (known === undefined) {
      const added = { endpoint: deliveryEndpointOf(row), state, row, isGone: false, claims: new Map() };
      if (state !== 'closed') endpoints.set(endpoint, added);
      return;
    }
    if (known.endpoint.version !== version) known.endpoint = deliveryEndpointOf(row);
    if (known.state !== 'closed') known.state = state;
    known.row = row;
  };
  const open = database.prepare("select * from delivery_targets where state <> 'closed'");
  for (const row of rowsFrom<StoredEndpoint>(open)) setEndpoint(row);

  /** The endpoint unless it is unknown or deleted. */
  const current = (endpoint: Uuid): KnownEndpoint | null => {
    const known = endpoints.get(endpoint);
    return known === undefined || known.state === 'closed' ? null : known;
  };

  const claimOf = ({ id, delivery, endpoint }: DeliveryClaim): HeldClaim | null => {
    const held = endpoints.get(endpoint.endpoint)?.claims.get(delivery);
    return held?.id === id ? held : null;
  };

  /** The open endpoints, giving way to others after some of them. */
  async function* openEndpoints(): AsyncGenerator<readonly [Uuid, KnownEndpoint]> {
    let looks = 0;
    for (const [endpoint, known] of endpoints) {
      if (known.state !== 'open') continue;
      if (++looks % looksPerTurn === 0) await nextTurn();
      yield [endpoint, known];
    }
  }

  /** The first pending rows without a claim. Rows with a claim are mostly the first, so few more are read. */
  const unclaimed = ({ endpoint, claims }: KnownEndpoint, limit: number): readonly PendingRow[] => {
    const rows = rowsFrom<PendingRow>(pending, endpoint.endpoint, limit + claims.size);
    const held = new Set([...claims.values()].map(({ seq }) => seq));
    return rows.filter(({ seq }) => !held.has(seq)).slice(0, limit);
  };

  const claimRow = ({ endpoint, claims }: KnownEndpoint, seq: number): DeliveryClaim[] => {
    const row = rowFrom<DeliveryRow>(bySeq, seq);
    if (row === undefined) return [];
    const id = String(++made);
    const { id: delivery, made: attempts, traceparent, ...rest } = row;
    claims.set(delivery, { id, seq, isRevoked: false });
    const traced = traceparent !== null && { traceparent };
    return [{ id, delivery, number: attempts + 1, ...rest, ...traced, endpoint }];
  };

  /** Its deletion is durable: it leaves the memory, once its attempts under way are recorded. */
  const forget = (endpoint: Uuid): void => {
    const known = endpoints.get(endpoint);
    if (known?.state === 'closed' && known.claims.size === 0) endpoints.delete(endpoint);
    else if (known !== undefined) known.isGone = true;
  };

  /** The endpoint if it has tripped, else null. */
  const tripped = (endpoint: Uuid): TrippedEndpoint | null => {
    const known = endpoints.get(endpoint);
    return known?.state === 'tripped' ? trippedOf(known.row) : null;
  };

  return {
    setEndpoint,
    forget,
    tripped,

    endpoint: (endpoint: Uuid): DeliveryEndpoint | null => current(endpoint)?.endpoint ?? null,

    /** From now on none of the endpoint's claims may start. */
    deleteEndpoint: (org: OrganizationId, endpoint: Uuid): void => {
      const known = endpoints.get(endpoint);
      if (known?.endpoint.org === org) known.state = 'closed';
    },

    resetFailures: (endpoint: Uuid): void => {
      const known = endpoints.get(endpoint);
      if (known !== undefined) known.row = { ...known.row, consecutive: 0 };
    },

    /** Of each active endpoint, when its first unclaimed delivery is due. */
    dueTimes: async (): Promise<ReadonlyMap<Uuid, Milliseconds>> => {
      const times = new Map<Uuid, Milliseconds>();
      for await (const [endpoint, known] of openEndpoints()) {
        const [first] = unclaimed(known, 1);
        if (first !== undefined) times.set(endpoint, first.due);
      }
      return times;
    },

    claim: (endpoint: Uuid, now: Milliseconds, limit: number): EndpointClaims => {
      const known = endpoints.get(endpoint);
      if (known?.state !== 'open') return noClaims;
      const rows = unclaimed(known, limit + 1);
      const claims = rows.slice(0, limit).flatMap(({ seq, due }) => (due <= now ? claimRow(known, seq) : []));
      return { claimed: claims, next: rows[claims.length]?.due ?? null };
    },

    holds: (claim: DeliveryClaim): boolean => claimOf(claim) !== null,

    mayStart: (claim: DeliveryClaim): boolean =>
      claimOf(claim)?.isRevoked === false && endpoints.get(claim.endpoint.endpoint)?.state === 'open',

    /** Revokes claims of deliveries whose body has changed: they are not sent any more. */
    revoke: (changed: readonly ChangedDelivery[]): void => {
      for (const { id, endpoint } of changed) {
        const claim = endpoints.get(endpoint)?.claims.get(id);
        if (claim !== undefined) claim.isRevoked = true;
      }
    },

    remove: ({ delivery, endpoint: { endpoint } }: DeliveryClaim): void => {
      const known = endpoints.get(endpoint);
      known?.claims.delete(delivery);
      if (known?.isGone === true) forget(endpoint);
    },

    /** The endpoint with its health, unless it is unknown or deleted. */
    watched: (endpoint: Uuid): WatchedEndpoint | null => {
      const known = current(endpoint);
      return known && watchedOf(known.row);
    },

    allTripped: (): readonly TrippedEndpoint[] =>
      [...endpoints.keys()].flatMap((endpoint) => tripped(endpoint) ?? []),

    health: (org: OrganizationId): ReadonlyMap<Uuid, EndpointHealth> =>
      new Map(
        [...endpoints]
          .filter(([, { endpoint }]) => endpoint.org === org)
          .map(([id, { row }]) => [id, healthOf(row)]),
      ),

    /** Of each organization, the due time of its oldest delivery to an active endpoint, claimed or not. */
    oldestDue: async (now: Milliseconds): Promise<ReadonlyMap<OrganizationId, Milliseconds>> => {
      const oldest = new Map<OrganizationId, Milliseconds>();
      for await (const [id, { endpoint }] of openEndpoints()) {
        const [first] = rowsFrom<PendingRow>(pending, id, 1);
        if (first !== undefined && first.due <= Math.min(now, oldest.get(endpoint.org) ?? now))
          oldest.set(endpoint.org, first.due);
      }
      return oldest;
    },

    /** How many endpoints are disabled, or about to be. */
    disabled: (): number =>
      [...endpoints.values()].filter(({ state }) => state === 'off' || state === 'tripped').length,
  };
};
