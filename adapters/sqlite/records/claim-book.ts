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
import { rowFrom, rowsFrom, type Database, type Statement } from '../database.js';
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

/**
 * The endpoints, and the claims on their deliveries. Claims are only in memory: this process is the only one,
 * and after a crash the rows are due as before.
 */
export class ClaimBook {
  readonly #endpoints = new Map<Uuid, KnownEndpoint>();
  /** Reads only an index: a row is large, and SQLite's cache of the file is dropped after every commit. */
  readonly #pending: Statement;
  readonly #bySeq: Statement;
  #made = 0;

  constructor(database: Database) {
    this.#pending = database.prepare(
      `select seq, due from deliveries where endpoint = ? and status = 'pending' order by due limit ?`,
    );
    this.#bySeq = database.prepare(`select ${claimed} from deliveries where seq = ?`);
    const open = database.prepare("select * from delivery_targets where state <> 'closed'");
    for (const row of rowsFrom<StoredEndpoint>(open)) this.setEndpoint(row);
  }

  /** Adopts the writer's stored row of an endpoint. A deletion that is under way still counts. */
  setEndpoint(row: StoredEndpoint): void {
    const { endpoint, state, version } = row;
    const known = this.#endpoints.get(endpoint);
    if (known === undefined) {
      const added = { endpoint: deliveryEndpointOf(row), state, row, isGone: false, claims: new Map() };
      if (state !== 'closed') this.#endpoints.set(endpoint, added);
      return;
    }
    if (known.endpoint.version !== version) known.endpoint = deliveryEndpointOf(row);
    if (known.state !== 'closed') known.state = state;
    known.row = row;
  }

  /** The endpoint unless it is unknown or deleted. */
  endpoint(endpoint: Uuid): DeliveryEndpoint | null {
    const known = this.#endpoints.get(endpoint);
    return known === undefined || known.state === 'closed' ? null : known.endpoint;
  }

  /** From now on none of the endpoint's claims may start. */
  deleteEndpoint(org: OrganizationId, endpoint: Uuid): void {
    const known = this.#endpoints.get(endpoint);
    if (known !== undefined && known.endpoint.org === org) known.state = 'closed';
  }

  /** Its deletion is durable: it leaves the memory, once its attempts under way are recorded. */
  forget(endpoint: Uuid): void {
    const known = this.#endpoints.get(endpoint);
    if (known?.state === 'closed' && known.claims.size === 0) this.#endpoints.delete(endpoint);
    else if (known !== undefined) known.isGone = true;
  }

  resetFailures(endpoint: Uuid): void {
    const known = this.#endpoints.get(endpoint);
    if (known !== undefined) known.row = { ...known.row, consecutive: 0 };
  }

  /** Of each active endpoint, when its first unclaimed delivery is due. */
  async dueTimes(): Promise<ReadonlyMap<Uuid, Milliseconds>> {
    const times = new Map<Uuid, Milliseconds>();
    for await (const [endpoint, known] of this.#open()) {
      const [first] = this.#unclaimed(known, 1);
      if (first !== undefined) times.set(endpoint, first.due);
    }
    return times;
  }

  claim(endpoint: Uuid, now: Milliseconds, limit: number): EndpointClaims {
    const known = this.#endpoints.get(endpoint);
    if (known?.state !== 'open') return noClaims;
    const rows = this.#unclaimed(known, limit + 1);
    const claimed = rows
      .slice(0, limit)
      .flatMap(({ seq, due }) => (due <= now ? this.#claimRow(known, seq) : []));
    return { claimed, next: rows[claimed.length]?.due ?? null };
  }

  holds({ id, delivery, endpoint }: DeliveryClaim): boolean {
    return this.#endpoints.get(endpoint.endpoint)?.claims.get(delivery)?.id === id;
  }

  mayStart({ id, delivery, endpoint }: DeliveryClaim): boolean {
    const known = this.#endpoints.get(endpoint.endpoint);
    const claim = known?.claims.get(delivery);
    return claim?.id === id && !claim.isRevoked && known?.state === 'open';
  }

  /** Revokes claims of deliveries whose body has changed: they are not sent any more. */
  revoke(changed: readonly ChangedDelivery[]): void {
    for (const { id, endpoint } of changed) {
      const claim = this.#endpoints.get(endpoint)?.claims.get(id);
      if (claim !== undefined) claim.isRevoked = true;
    }
  }

  remove({ delivery, endpoint }: DeliveryClaim): void {
    const known = this.#endpoints.get(endpoint.endpoint);
    known?.claims.delete(delivery);
    if (known?.isGone === true) this.forget(endpoint.endpoint);
  }

  /** The endpoint with its health, unless it is unknown or deleted. */
  watched(id: Uuid): WatchedEndpoint | null {
    const known = this.#endpoints.get(id);
    return known === undefined || known.state === 'closed' ? null : watchedOf(known.row);
  }

  tripped(): readonly TrippedEndpoint[] {
    return [...this.#endpoints.keys()].flatMap((endpoint) => this.trippedEndpoint(endpoint) ?? []);
  }

  /** The endpoint if it has tripped, else null. */
  trippedEndpoint(endpoint: Uuid): TrippedEndpoint | null {
    const known = this.#endpoints.get(endpoint);
    return known?.state === 'tripped' ? trippedOf(known.row) : null;
  }

  health(org: OrganizationId): ReadonlyMap<Uuid, EndpointHealth> {
    return new Map(
      [...this.#endpoints]
        .filter(([, { endpoint }]) => endpoint.org === org)
        .map(([id, { row }]) => [id, healthOf(row)]),
    );
  }

  /** Of each organization, the due time of its oldest delivery to an active endpoint, claimed or not. */
  async oldestDue(now: Milliseconds): Promise<ReadonlyMap<OrganizationId, Milliseconds>> {
    const oldest = new Map<OrganizationId, Milliseconds>();
    for await (const [id, { endpoint }] of this.#open()) {
      const [first] = rowsFrom<PendingRow>(this.#pending, id, 1);
      if (first !== undefined && first.due <= Math.min(now, oldest.get(endpoint.org) ?? now))
        oldest.set(endpoint.org, first.due);
    }
    return oldest;
  }

  /** How many endpoints are disabled, or about to be. */
  disabled(): number {
    let count = 0;
    for (const { state } of this.#endpoints.values()) if (state === 'off' || state === 'tripped') count++;
    return count;
  }

  /** The open endpoints, giving way to others after some of them. */
  async *#open(): AsyncGenerator<readonly [Uuid, KnownEndpoint]> {
    let looks = 0;
    for (const [endpoint, known] of this.#endpoints) {
      if (known.state !== 'open') continue;
      if (++looks % looksPerTurn === 0) await nextTurn();
      yield [endpoint, known];
    }
  }

  #claimRow({ endpoint, claims }: KnownEndpoint, seq: number): DeliveryClaim[] {
    const row = rowFrom<DeliveryRow>(this.#bySeq, seq);
    if (row === undefined) return [];
    const id = String(++this.#made);
    const { id: delivery, made, traceparent, ...rest } = row;
    claims.set(delivery, { id, seq, isRevoked: false });
    const traced = traceparent !== null && { traceparent };
    return [{ id, delivery, number: made + 1, ...rest, ...traced, endpoint }];
  }

  /** The first pending rows without a claim. Rows with a claim are mostly the first, so few more are read. */
  #unclaimed({ endpoint, claims }: KnownEndpoint, limit: number): readonly PendingRow[] {
    const rows = rowsFrom<PendingRow>(this.#pending, endpoint.endpoint, limit + claims.size);
    const claimed = new Set([...claims.values()].map(({ seq }) => seq));
    return rows.filter(({ seq }) => !claimed.has(seq)).slice(0, limit);
  }
}
