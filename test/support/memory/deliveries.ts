import { erasedPayload } from '../../../domain/delivery-payload.js';
import { DeliveryChanges } from '../../../application/webhooks/delivery-changes.js';
import {
  DeliveriesUnavailable,
  type Deliveries,
  type RelayedEndpoints,
  type RelayMemory,
} from '../../../application/ports/deliveries.js';
import {
  attemptsKept,
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
import type { Page } from '../../../application/ports/read-models.js';
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
  type WatchedEndpoint,
} from '../../../application/ports/endpoint-gates.js';
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
  #remembered = new Map<OrganizationId, RelayedEndpoints>();
  /** When nothing personal of a card was held any more, as the clock of claims says; by card. */
  erasedAt = new Map<string, Milliseconds>();
  /** Cards whose deliveries hold nothing personal any more, and when they were erased. */
  #erased = new Map<string, Milliseconds>();
  /** The order in which they were made, when that was, and when they ended: earlier if dropped then. */
  #made = new Map<
    DeliveryId,
    { readonly number: number; readonly at: Milliseconds; endedAt: Milliseconds }
  >();
  #held = new Map<
    DeliveryId,
    { readonly claim: string; readonly until: Milliseconds; readonly isRevoked?: true }
  >();
  /** What this process has claimed and not recorded or released: it claims none of it again. */
  readonly #mine = new Set<DeliveryId>();
  #changes = new DeliveryChanges();
  #last = { made: 0, claim: 0 };

  /** `claimTime`: how long a claim lasts whose process has died, as in MongoDB; without it no longer. */
  constructor(
    private readonly claimTime: { readonly clock: Clock; readonly lasts: Milliseconds } | null = null,
  ) {}

  /** The deliveries as a new process finds them. */
  restarted(): MemoryDeliveries {
    const next = new MemoryDeliveries(this.claimTime);
    next.#rows = this.#rows;
    next.#made = this.#made;
    next.#pending = this.#pending;
    next.#endpoints = this.#endpoints;
    next.#remembered = this.#remembered;
    next.#erased = this.#erased;
    next.erasedAt = this.erasedAt;
    next.#last = this.#last;
    if (this.claimTime === null) return next;
    next.#held = this.#held;
    next.#changes = this.#changes;
    return next;
  }

  async erase(card: string, now: Milliseconds): Promise<void> {
    this.#assertReachable();
    this.#erased.set(card, this.#erased.get(card) ?? now);
    this.erasedAt.set(card, this.erasedAt.get(card) ?? this.claimTime?.clock.now() ?? now);
    for (const row of [...this.#rows.values()].filter((each) => each.card === card)) {
      const held = this.#held.get(row.id);
      if (held !== undefined) this.#held.set(row.id, { ...held, isRevoked: true });
      const attempts = row.attempts.map((attempt) => ({ ...attempt, body: null }));
      const erased = { ...row, attempts, body: erasedPayload(row.body) };
      if (row.status === 'pending') this.#drop(erased, erasedReason, now);
      else this.#store('changed', erased);
    }
  }

  async insert(rows: readonly NewDelivery[]): Promise<readonly DeliveryId[]> {
    this.#assertReachable();
    return rows.flatMap((row) => {
      if (this.#rows.has(row.id)) return [];
      this.#add(row);
      return [row.id];
    });
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
    now: Milliseconds,
  ): Promise<void> {
    this.#assertReachable();
    const known = this.#endpoints.get(endpoint);
    if (known !== undefined && (known.endpoint.org !== org || known.state === 'deleted')) return;
    const url = '' as DeliveryEndpoint['url'];
    this.#endpoints.set(endpoint, {
      endpoint: { endpoint, org, url, secrets: [], active: false, version: 0, enabledAt: 0 },
      health: unusedEndpoint,
      lastFailure: '',
      ...known,
      state: 'deleted',
      deletedBecause: reason,
    });
    for (const row of this.#pendingOf(endpoint)) this.#drop(row, reason, now);
  }

  async dueTimes(): Promise<ReadonlyMap<Uuid, Milliseconds>> {
    this.#assertReachable();
    const waiting = new Map<Uuid, Milliseconds>();
    for (const [endpoint, { state }] of this.#endpoints) {
      const rows = state === 'active' ? this.#pendingOf(endpoint) : [];
      const first = Math.min(...rows.map(({ id, due }) => Math.max(due ?? 0, this.#claimEnds(id))));
      if (first < Infinity) waiting.set(endpoint, first);
    }
    return waiting;
  }

  async hasten(clock: Pick<Clock, 'now'>, within: Milliseconds): Promise<void> {
    this.#assertReachable();
    const now = clock.now();
    for (const row of this.#rows.values())
      if (row.status === 'pending' && (row.due ?? 0) > now + within)
        this.#store('changed', { ...row, due: now });
  }

  async claim(
    limits: ReadonlyMap<Uuid, number>,
    now: Milliseconds,
  ): Promise<ReadonlyMap<Uuid, EndpointClaims>> {
    this.#assertReachable();
    return new Map([...limits].map(([endpoint, limit]) => [endpoint, this.#claimOf(endpoint, now, limit)]));
  }

  mayStart(claim: DeliveryClaim): boolean {
    const held = this.#held.get(claim.delivery);
    const { state } = this.#endpoints.get(claim.endpoint.endpoint) ?? {};
    return held?.claim === claim.id && !held.isRevoked && held.until > this.#elapsed && state === 'active';
  }

  async release(claim: DeliveryClaim): Promise<void> {
    this.#assertReachable();
    this.#endClaim(claim);
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
    const isHeld = this.#endClaim(claim);
    if (row === undefined || known === undefined || !isHeld) return { recorded: false, tripped: null };
    const kept = this.#erased.has(row.card) ? { ...attempt, body: null } : attempt;
    const attempts = [...row.attempts, kept].slice(-attemptsKept);
    const ended = row.status !== 'pending' && outcome.status !== 'delivered';
    if (outcome.status !== 'pending' && !ended) this.#endsAt(row.id, attempt.at);
    const due = outcome.status === 'pending' ? outcome.due : null;
    const dropReason = outcome.status === 'delivered' ? null : row.dropReason;
    const attempted = { ...row, attempts, made: row.made + 1 };
    this.#store('attempted', ended ? attempted : { ...attempted, status: outcome.status, due, dropReason });
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
      ({ id, status }) => status !== 'pending' && (this.#made.get(id)?.endedAt ?? Infinity) <= before,
    );
    for (const [card, at] of this.#erased) if (at <= before) this.#erased.delete(card);
    for (const { id } of old) {
      this.#rows.delete(id);
      this.#made.delete(id);
    }
    return old.length;
  }

  /** Since when a delivery has been here and ended; null if it is pending, or not here. */
  endedSince(id: string): Milliseconds | null {
    const row = this.#rows.get(id as DeliveryId);
    const made = row && row.status !== 'pending' ? this.#made.get(row.id) : undefined;
    return made === undefined ? null : Math.max(made.at, made.endedAt);
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
    if (row.status === 'delivered' || this.#isGone(row.endpoint)) return 'refused';
    if (row.status === 'pending')
      this.#store('changed', { ...row, due: now, expires: row.expires <= now ? expires : row.expires });
    else this.#revive(row, now, expires, row.made + 1);
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
      if (this.#isGone(row.endpoint)) continue;
      this.#revive(row, now, expires, row.made + 1);
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
      else this.#revive(known, row.due, row.expires, Math.max(row.allowed, known.made + 1));
      count++;
    }
    return count;
  }

  async page(
    org: OrganizationId,
    { endpoint, status, type, card }: DeliveryFilter,
    { startingAfter, limit }: Page,
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

  async deadLetters({ startingAfter, limit }: Page): Promise<readonly Delivery[] | null> {
    this.#assertReachable();
    const rows = [...this.#rows.values()].reverse();
    const after = startingAfter === null ? 0 : rows.findIndex(({ id }) => id === startingAfter) + 1;
    if (startingAfter !== null && after === 0) return null;
    return rows
      .slice(after)
      .filter(({ status }) => status === 'exhausted')
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

  async watched(inactiveOnly: boolean, { startingAfter, limit }: Page): Promise<readonly WatchedEndpoint[]> {
    this.#assertReachable();
    return [...this.#endpoints]
      .filter(([id, { state }]) => state !== 'deleted' && id > (startingAfter ?? ''))
      .filter(([, { state }]) => !inactiveOnly || state !== 'active')
      .sort(([a], [b]) => (a < b ? -1 : 1))
      .slice(0, limit)
      .map(([, { endpoint, state, health, lastFailure }]) => ({
        endpoint: endpoint.endpoint,
        org: endpoint.org,
        url: endpoint.url,
        active: state === 'active',
        lastFailure: lastFailure === '' ? null : lastFailure,
        ...health,
      }));
  }

  async depth(now: Milliseconds): Promise<QueueDepth> {
    this.#assertReachable();
    const rows = [...this.#rows.values()];
    const oldestDue = new Map<OrganizationId, Milliseconds>();
    for (const [endpoint, { state }] of this.#endpoints)
      for (const { org, due } of state === 'active' ? this.#pendingOf(endpoint) : [])
        if (due !== null && due <= Math.min(now, oldestDue.get(org) ?? now)) oldestDue.set(org, due);
    const isDisabled = (endpoint: Uuid): boolean =>
      ['disabled', 'tripped'].includes(this.#endpoints.get(endpoint)?.state ?? '');
    return {
      pending: rows.filter(({ status, endpoint }) => status === 'pending' && !isDisabled(endpoint)).length,
      deadLetters: rows.filter(({ status }) => status === 'exhausted').length,
      oldestDue,
      disabledEndpoints: [...this.#endpoints.keys()].filter(isDisabled).length,
    };
  }

  watch(org: OrganizationId, signal: AbortSignal): AsyncIterable<DeliveryChange> {
    return this.#changes.watch(org, signal);
  }

  async rememberEndpoints(org: OrganizationId, position: bigint, state: WebhookEndpoints): Promise<void> {
    this.#assertReachable();
    if ((this.#remembered.get(org)?.position ?? -1n) < position)
      this.#remembered.set(org, { position, state });
  }

  async rememberedEndpoints(): Promise<ReadonlyMap<OrganizationId, RelayedEndpoints>> {
    this.#assertReachable();
    return new Map(this.#remembered);
  }

  #claimOf(endpoint: Uuid, now: Milliseconds, limit: number): EndpointClaims {
    const known = this.#endpoints.get(endpoint);
    if (known?.state !== 'active') return noClaims;
    const unclaimed = this.#unclaimedOf(endpoint);
    const due = unclaimed.filter((row) => (row.due ?? 0) <= now).slice(0, limit);
    const claimed = due.map((row): DeliveryClaim => {
      const { id: delivery, type, event, card, body, occurredAt, traceparent, allowed } = row;
      const id = `claim-${++this.#last.claim}`;
      this.#held.set(delivery, { claim: id, until: this.#elapsed + (this.claimTime?.lasts ?? Infinity) });
      this.#mine.add(delivery);
      return {
        id,
        delivery,
        type,
        event,
        card,
        body,
        occurredAt,
        ...(traceparent !== undefined && { traceparent }),
        number: row.made + 1,
        allowed,
        endpoint: known.endpoint,
      };
    });
    return { claimed, next: unclaimed[claimed.length]?.due ?? null };
  }

  #add({ due, ...row }: NewDelivery): void {
    const known = this.#endpoints.get(row.endpoint);
    const dropReason = row.dropReason ?? (known?.state === 'deleted' ? known.deletedBecause : null);
    const at = this.claimTime?.clock.now() ?? row.occurredAt;
    this.#made.set(row.id, { number: ++this.#last.made, at, endedAt: row.occurredAt });
    this.#store('made', {
      ...row,
      body: this.#erased.has(row.card) ? erasedPayload(row.body) : row.body,
      dropReason,
      attempts: [],
      made: 0,
      status: dropReason === null ? 'pending' : 'dropped',
      due: dropReason === null ? due : null,
    });
  }

  #drop(row: Delivery, dropReason: string, now: Milliseconds): void {
    this.#endsAt(row.id, now);
    this.#store('changed', { ...row, status: 'dropped', due: null, dropReason });
  }

  #endsAt(id: DeliveryId, at: Milliseconds): void {
    const made = this.#made.get(id);
    if (made !== undefined) made.endedAt = at;
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
        lastSuccessAt: Math.max(attempt.at, health.lastSuccessAt ?? attempt.at),
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
    for (const row of expired) this.#drop(row, expiredReason, now);
    return expired.length;
  }

  /** Deleted, or unknown: deleted so long ago that it is forgotten. */
  #isGone(endpoint: Uuid): boolean {
    return [undefined, 'deleted'].includes(this.#endpoints.get(endpoint)?.state);
  }

  /** Whether it held: it does until it is recorded, released, or another takes its place. */
  #endClaim({ id, delivery }: DeliveryClaim): boolean {
    this.#mine.delete(delivery);
    return this.#held.get(delivery)?.claim === id && this.#held.delete(delivery);
  }

  /** When the claim on a delivery ends, as `now` will be; 0 if there is none. */
  #claimEnds(id: DeliveryId): Milliseconds {
    const held = this.#held.get(id);
    if (held === undefined) return 0;
    return held.until - this.#elapsed + (this.claimTime?.clock.now() ?? 0);
  }

  get #elapsed(): Milliseconds {
    return this.claimTime?.clock.monotonic() ?? 0;
  }

  #pendingOf(endpoint: Uuid): readonly Delivery[] {
    return [...(this.#pending.get(endpoint)?.values() ?? [])];
  }

  #unclaimedOf(endpoint: Uuid): readonly Delivery[] {
    const numberOf = ({ id }: Delivery) => this.#made.get(id)?.number ?? 0;
    return this.#pendingOf(endpoint)
      .filter(({ id }) => !this.#mine.has(id) && (this.#held.get(id)?.until ?? -Infinity) <= this.#elapsed)
      .sort((a, b) => (a.due ?? 0) - (b.due ?? 0) || numberOf(a) - numberOf(b));
  }

  #assertReachable(): void {
    if (this.away) throw new DeliveriesUnavailable('the delivery store is away');
  }
}
