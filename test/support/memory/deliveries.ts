import { erasedPayload } from '../../../domain/delivery-payload.js';
import { DeliveryChanges } from '../../../application/delivery-changes.js';
import { DeliveriesUnavailable, type Deliveries } from '../../../application/ports/deliveries.js';
import {
  erasedReason,
  expiredReason,
  type DeliveryAttempt,
  type DeadLetterFilter,
  type Delivery,
  type DeliveryChange,
  type DeliveryLog,
  type DeliveryFilter,
  type DeliveryId,
  type NewDelivery,
  type QueueDepth,
  type Redriven,
} from '../../../application/ports/delivery-log.js';
import {
  noClaims,
  type AttemptOutcome,
  type DeliveryClaim,
  type DeliveryClaims,
  type EndpointClaims,
  type Recorded,
} from '../../../application/ports/delivery-claims.js';
import {
  unusedEndpoint,
  type EndpointHealth,
  type EndpointAddress,
  type EndpointGates,
  type DeliveryEndpoint,
  type TrippedEndpoint,
} from '../../../application/ports/endpoint-gates.js';
import type { RelayMemory } from '../../../application/ports/relay-memory.js';
import type { Clock } from '../../../application/ports/system.js';
import type { Milliseconds, OrganizationId, Uuid } from '../../../domain/ids.js';
import type { WebhookEndpoints } from '../../../domain/webhook-endpoints.js';

type State = 'active' | 'disabled' | 'tripped' | 'deleted';

interface KnownEndpoint {
  endpoint: DeliveryEndpoint;
  state: State;
  deletedBecause: string;
  health: EndpointHealth;
  lastFailure: string;
}

/** Deliveries in memory: all four ports in one, so that a test can override any of their members. */
export class MemoryDeliveries implements Deliveries, DeliveryLog, EndpointGates, DeliveryClaims, RelayMemory {
  readonly log: DeliveryLog = this;
  readonly gates: EndpointGates = this;
  readonly claims: DeliveryClaims = this;
  readonly relayMemory: RelayMemory = this;
  /** While true, every call throws DeliveriesUnavailable. */
  away = false;
  #rows = new Map<DeliveryId, Delivery>();
  /** By endpoint. */
  #pending = new Map<Uuid, Map<DeliveryId, Delivery>>();
  #endpoints = new Map<Uuid, KnownEndpoint>();
  #remembered = new Map<
    OrganizationId,
    { readonly position: bigint; readonly endpoints: WebhookEndpoints }
  >();
  readonly #endedAt = new Map<DeliveryId, Milliseconds>();
  readonly #held = new Map<DeliveryId, { readonly claim: DeliveryClaim; readonly until: Milliseconds }>();
  readonly #changes = new DeliveryChanges();
  #claimed = 0;

  /** `claimTime`: how long one lasts whose process doesn't end it, as with MongoDB; without it forever. */
  constructor(
    private readonly claimTime: { readonly clock: Clock; readonly lasts: Milliseconds } | null = null,
  ) {}

  /** The deliveries as a new process finds them, without claims. */
  restarted(): MemoryDeliveries {
    const next = new MemoryDeliveries(this.claimTime);
    next.#rows = this.#rows;
    next.#pending = this.#pending;
    next.#endpoints = this.#endpoints;
    next.#remembered = this.#remembered;
    next.#claimed = this.#claimed;
    return next;
  }

  async erase(card: string): Promise<void> {
    this.#assertReachable();
    for (const [id, row] of this.#rows) {
      if (row.card !== card) continue;
      const dropped = row.status === 'pending' && { status: 'dropped', due: null, dropReason: erasedReason };
      this.#pending.get(row.endpoint)?.delete(id);
      const attempts = row.attempts.map((attempt) => ({ ...attempt, body: null }));
      this.#rows.set(id, { ...row, attempts, body: erasedPayload(row.body), ...dropped } as Delivery);
    }
  }

  async insert(rows: readonly NewDelivery[]): Promise<readonly DeliveryId[]> {
    this.#assertReachable();
    const added = rows.filter(({ id }) => !this.#rows.has(id));
    for (const row of added) this.#add(row);
    return added.map(({ id }) => id);
  }

  async upsertEndpoint(endpoint: DeliveryEndpoint, now: Milliseconds): Promise<void> {
    this.#assertReachable();
    const known = this.#endpoints.get(endpoint.endpoint);
    if (known === undefined) {
      this.#endpoints.set(endpoint.endpoint, {
        endpoint,
        state: endpoint.active ? 'active' : 'disabled',
        deletedBecause: '',
        health: unusedEndpoint,
        lastFailure: '',
      });
      return;
    }
    if (known.state === 'deleted' || endpoint.version <= known.endpoint.version) return;
    const opens = endpoint.active && known.state !== 'active';
    if (endpoint.enabledAt !== known.endpoint.enabledAt)
      known.health = { ...known.health, consecutiveFailures: 0 };
    const tripped =
      known.state === 'tripped' && endpoint.active && endpoint.enabledAt === known.endpoint.enabledAt;
    known.endpoint = endpoint;
    known.state = tripped ? 'tripped' : endpoint.active ? 'active' : 'disabled';
    if (opens && !tripped) this.#dropExpired(endpoint.endpoint, now);
  }

  async addresses(endpoints: readonly Uuid[]): Promise<ReadonlyMap<Uuid, EndpointAddress>> {
    this.#assertReachable();
    return new Map(
      endpoints.flatMap((id) => {
        const known = this.#endpoints.get(id);
        if (known === undefined || known.state === 'deleted') return [];
        const { org, url } = known.endpoint;
        return [[id, { org, url }]];
      }),
    );
  }

  async resetFailures(endpoint: Uuid): Promise<void> {
    this.#assertReachable();
    const known = this.#endpoints.get(endpoint);
    if (known !== undefined) known.health = { ...known.health, consecutiveFailures: 0 };
  }

  async deleteEndpoint(
    org: OrganizationId,
    endpoint: Uuid,
    reason: string,
    _now: Milliseconds,
  ): Promise<void> {
    this.#assertReachable();
    const known = this.#endpoints.get(endpoint);
    if (known === undefined) {
      const unknown: DeliveryEndpoint = {
        endpoint,
        org,
        url: '' as DeliveryEndpoint['url'],
        secrets: [],
        active: false,
        version: 0,
        enabledAt: 0,
      };
      this.#endpoints.set(endpoint, {
        endpoint: unknown,
        state: 'deleted',
        deletedBecause: reason,
        health: unusedEndpoint,
        lastFailure: '',
      });
      return;
    }
    if (known.endpoint.org !== org || known.state === 'deleted') return;
    known.state = 'deleted';
    known.deletedBecause = reason;
    for (const row of this.#pendingOf(endpoint))
      this.#store('changed', { ...row, status: 'dropped', due: null, dropReason: reason });
  }

  async dueTimes(): Promise<ReadonlyMap<Uuid, Milliseconds>> {
    this.#assertReachable();
    const waiting = new Map<Uuid, Milliseconds>();
    for (const [endpoint, { state }] of this.#endpoints) {
      const [first] = state === 'active' ? this.#unclaimedOf(endpoint) : [];
      if (first !== undefined) waiting.set(endpoint, first.due ?? 0);
    }
    return waiting;
  }

  async claim(
    limits: ReadonlyMap<Uuid, number>,
    now: Milliseconds,
  ): Promise<ReadonlyMap<Uuid, EndpointClaims>> {
    this.#assertReachable();
    return new Map([...limits].map(([endpoint, limit]) => [endpoint, this.#claimOf(endpoint, now, limit)]));
  }

  mayStart(claim: DeliveryClaim): boolean {
    return this.#holds(claim) && this.#endpoints.get(claim.endpoint.endpoint)?.state === 'active';
  }

  async release(claim: DeliveryClaim): Promise<void> {
    this.#assertReachable();
    if (this.#holds(claim)) this.#held.delete(claim.delivery);
  }

  async record(
    claim: DeliveryClaim,
    attempt: DeliveryAttempt,
    outcome: AttemptOutcome,
    disableAfter: number,
  ): Promise<Recorded> {
    this.#assertReachable();
    const row = this.#rows.get(claim.delivery);
    const known = this.#endpoints.get(claim.endpoint.endpoint);
    if (row === undefined || known === undefined || !this.#holds(claim))
      return { recorded: false, tripped: null };
    this.#held.delete(claim.delivery);
    if (outcome.status !== 'pending') this.#endedAt.set(row.id, attempt.at);
    const attempts = [...row.attempts, attempt];
    const ended = row.status !== 'pending' && outcome.status !== 'delivered';
    const due = outcome.status === 'pending' ? outcome.due : null;
    const dropReason = outcome.status === 'delivered' ? null : row.dropReason;
    this.#store(
      'attempted',
      ended ? { ...row, attempts } : { ...row, attempts, status: outcome.status, due, dropReason },
    );
    this.#count(known, claim, attempt, outcome, disableAfter);
    return { recorded: true, tripped: known.state === 'tripped' ? this.#trippedOf(known) : null };
  }

  async tripped(): Promise<readonly TrippedEndpoint[]> {
    this.#assertReachable();
    return [...this.#endpoints.values()]
      .filter(({ state }) => state === 'tripped')
      .map((known) => this.#trippedOf(known));
  }

  async dropExpired(now: Milliseconds): Promise<number> {
    this.#assertReachable();
    return [...this.#endpoints]
      .filter(([, { state }]) => state === 'disabled')
      .reduce((dropped, [endpoint]) => dropped + this.#dropExpired(endpoint, now), 0);
  }

  async removeEnded(before: Milliseconds): Promise<number> {
    this.#assertReachable();
    const old = [...this.#rows.values()].filter(
      ({ id, status }) => status !== 'pending' && (this.#endedAt.get(id) ?? Infinity) <= before,
    );
    for (const { id } of old) this.#rows.delete(id);
    return old.length;
  }

  async continueRedrives(): Promise<ReadonlySet<Uuid>> {
    this.#assertReachable();
    return new Set();
  }

  async retry(
    org: OrganizationId,
    id: string,
    now: Milliseconds,
    expires: Milliseconds,
  ): Promise<{ readonly endpoint: Uuid } | 'unknown' | 'refused'> {
    this.#assertReachable();
    const row = this.#rows.get(id as DeliveryId);
    if (row === undefined || row.org !== org) return 'unknown';
    if (row.status === 'delivered' || this.#endpoints.get(row.endpoint)?.state === 'deleted')
      return 'refused';
    if (row.status === 'pending')
      this.#store('changed', { ...row, due: now, expires: row.expires <= now ? expires : row.expires });
    else this.#revive(row, now, expires, row.attempts.length + 1);
    return { endpoint: row.endpoint };
  }

  async redrive(
    org: OrganizationId,
    { from, to, endpoint }: DeadLetterFilter,
    now: Milliseconds,
    expires: Milliseconds,
  ): Promise<Redriven> {
    this.#assertReachable();
    const counts = new Map<Uuid, number>();
    for (const row of this.#rows.values()) {
      if (row.org !== org || row.status !== 'exhausted' || (endpoint !== null && row.endpoint !== endpoint))
        continue;
      if ('position' in from ? row.position < from.position : row.occurredAt < from.time) continue;
      if (to !== null && ('position' in to ? row.position > to.position : row.occurredAt > to.time)) continue;
      if (this.#endpoints.get(row.endpoint)?.state === 'deleted') continue;
      this.#revive(row, now, expires, row.attempts.length + 1);
      counts.set(row.endpoint, (counts.get(row.endpoint) ?? 0) + 1);
    }
    return { counts, more: false };
  }

  async replay(rows: readonly NewDelivery[]): Promise<number> {
    this.#assertReachable();
    let count = 0;
    for (const row of rows) {
      const known = this.#rows.get(row.id);
      if (
        this.#endpoints.get(row.endpoint)?.state === 'deleted' ||
        known?.status === 'pending' ||
        known?.status === 'delivered'
      )
        continue;
      if (known === undefined) this.#add(row);
      else this.#revive(known, row.due, row.expires, Math.max(row.allowed, known.attempts.length + 1));
      count++;
    }
    return count;
  }

  async page(
    org: OrganizationId,
    { endpoint, status, type, card }: DeliveryFilter,
    { startingAfter, limit }: { readonly startingAfter: string | null; readonly limit: number },
  ): Promise<readonly Delivery[] | null> {
    this.#assertReachable();
    const rows = [...this.#rows.values()].filter((row) => row.org === org).reverse();
    const after = startingAfter === null ? 0 : rows.findIndex(({ id }) => id === startingAfter) + 1;
    if (startingAfter !== null && after === 0) return null;
    const wanted = (value: string | null, actual: string) => value === null || value === actual;
    return rows
      .slice(after)
      .filter(
        (row) =>
          wanted(endpoint, row.endpoint) &&
          wanted(status, row.status) &&
          wanted(type, row.type) &&
          wanted(card, row.card),
      )
      .slice(0, limit);
  }

  async get(org: OrganizationId, id: string): Promise<Delivery | null> {
    this.#assertReachable();
    const row = this.#rows.get(id as DeliveryId);
    return row?.org === org ? row : null;
  }

  async health(org: OrganizationId): Promise<ReadonlyMap<Uuid, EndpointHealth>> {
    this.#assertReachable();
    return new Map(
      [...this.#endpoints]
        .filter(([, { endpoint }]) => endpoint.org === org)
        .map(([id, { health }]) => [id, health]),
    );
  }

  async depth(now: Milliseconds): Promise<QueueDepth> {
    this.#assertReachable();
    const rows = [...this.#rows.values()];
    const dues = [...this.#endpoints].flatMap(([endpoint, { state }]) =>
      state === 'active' ? this.#pendingOf(endpoint).map(({ due }) => due ?? 0) : [],
    );
    const oldest = Math.min(...dues);
    return {
      pending: rows.filter(({ status }) => status === 'pending').length,
      deadLetters: rows.filter(({ status }) => status === 'exhausted').length,
      oldestDue: oldest <= now ? oldest : null,
      disabledEndpoints: [...this.#endpoints.values()].filter(
        ({ state }) => state === 'disabled' || state === 'tripped',
      ).length,
    };
  }

  watch(org: OrganizationId, signal: AbortSignal): AsyncIterable<DeliveryChange> {
    return this.#changes.watch(org, signal);
  }

  async rememberEndpoints(org: OrganizationId, position: bigint, endpoints: WebhookEndpoints): Promise<void> {
    this.#assertReachable();
    if ((this.#remembered.get(org)?.position ?? -1n) < position)
      this.#remembered.set(org, { position, endpoints });
  }

  async rememberedEndpoints(): Promise<ReadonlyMap<OrganizationId, WebhookEndpoints>> {
    this.#assertReachable();
    return new Map([...this.#remembered].map(([org, { endpoints }]) => [org, endpoints]));
  }

  #claimOf(endpoint: Uuid, now: Milliseconds, limit: number): EndpointClaims {
    const known = this.#endpoints.get(endpoint);
    if (known?.state !== 'active') return noClaims;
    const unclaimed = this.#unclaimedOf(endpoint);
    const due = unclaimed.filter((row) => (row.due ?? 0) <= now).slice(0, limit);
    const claimed = due.map((row): DeliveryClaim => {
      const { id: delivery, type, event, card, body, occurredAt, traceparent, allowed } = row;
      const claim: DeliveryClaim = {
        id: `claim-${++this.#claimed}`,
        delivery,
        type,
        event,
        card,
        body,
        occurredAt,
        ...(traceparent !== undefined && { traceparent }),
        number: row.attempts.length + 1,
        allowed,
        endpoint: known.endpoint,
      };
      this.#held.set(delivery, { claim, until: this.#elapsed + (this.claimTime?.lasts ?? Infinity) });
      return claim;
    });
    return { claimed, next: unclaimed[claimed.length]?.due ?? null };
  }

  #add({ due, ...row }: NewDelivery): void {
    const known = this.#endpoints.get(row.endpoint);
    const dropReason = row.dropReason ?? (known?.state === 'deleted' ? known.deletedBecause : null);
    this.#endedAt.set(row.id, row.occurredAt);
    this.#store('made', {
      ...row,
      dropReason,
      attempts: [],
      status: dropReason === null ? 'pending' : 'dropped',
      due: dropReason === null ? due : null,
    });
  }

  #revive(row: Delivery, due: Milliseconds, expires: Milliseconds, allowed: number): void {
    this.#store('changed', { ...row, status: 'pending', due, expires, allowed, dropReason: null });
  }

  #store(kind: DeliveryChange['kind'], delivery: Delivery): void {
    this.#rows.set(delivery.id, delivery);
    const pending = this.#pending.get(delivery.endpoint) ?? new Map<DeliveryId, Delivery>();
    this.#pending.set(delivery.endpoint, pending);
    if (delivery.status === 'pending') pending.set(delivery.id, delivery);
    else pending.delete(delivery.id);
    this.#changes.publish({ kind, delivery });
  }

  #count(
    known: KnownEndpoint,
    claim: DeliveryClaim,
    attempt: DeliveryAttempt,
    outcome: AttemptOutcome,
    disableAfter: number,
  ): void {
    const { health } = known;
    const sameRun = claim.endpoint.enabledAt === known.endpoint.enabledAt;
    if (outcome.status === 'delivered') {
      known.health = {
        ...health,
        consecutiveFailures: sameRun ? 0 : health.consecutiveFailures,
        lastSuccessAt: attempt.at,
      };
      return;
    }
    const consecutiveFailures = health.consecutiveFailures + (sameRun ? 1 : 0);
    known.health = { ...health, failureCount: health.failureCount + 1, consecutiveFailures };
    if (!sameRun) return;
    known.lastFailure = attempt.error ?? `HTTP ${attempt.httpStatus}`;
    if (known.state === 'active' && consecutiveFailures >= disableAfter) known.state = 'tripped';
  }

  #trippedOf({ endpoint: known, health, lastFailure }: KnownEndpoint): TrippedEndpoint {
    const { org, endpoint, enabledAt } = known;
    return { org, endpoint, enabledAt, consecutiveFailures: health.consecutiveFailures, lastFailure };
  }

  #dropExpired(endpoint: Uuid, now: Milliseconds): number {
    const expired = this.#pendingOf(endpoint).filter(({ expires }) => expires <= now);
    for (const row of expired)
      this.#store('changed', { ...row, status: 'dropped', due: null, dropReason: expiredReason });
    return expired.length;
  }

  #holds(claim: DeliveryClaim): boolean {
    const held = this.#held.get(claim.delivery);
    return held?.claim.id === claim.id && held.until > this.#elapsed;
  }

  get #elapsed(): Milliseconds {
    return this.claimTime?.clock.monotonic() ?? 0;
  }

  #pendingOf(endpoint: Uuid): readonly Delivery[] {
    return [...(this.#pending.get(endpoint)?.values() ?? [])];
  }

  #unclaimedOf(endpoint: Uuid): readonly Delivery[] {
    return this.#pendingOf(endpoint)
      .filter(({ id }) => (this.#held.get(id)?.until ?? -Infinity) <= this.#elapsed)
      .sort((a, b) => (a.due ?? 0) - (b.due ?? 0));
  }

  #assertReachable(): void {
    if (this.away) throw new DeliveriesUnavailable('the delivery store is away');
  }
}
