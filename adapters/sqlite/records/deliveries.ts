import { DeliveryChanges } from '../../../application/delivery-changes.js';
import {
  DeliveriesUnavailable,
  noClaims,
  type DeliveryAttempt,
  type AttemptOutcome,
  type DeliveryClaim,
  type EndpointClaims,
  type DeadLetterFilter,
  type Deliveries,
  type Delivery,
  type DeliveryChange,
  type DeliveryFilter,
  type DeliveryId,
  type DeliveryStatus,
  type EndpointHealth,
  type NewDelivery,
  type QueueDepth,
  type Recorded,
  type DeliveryEndpoint,
  type TrippedEndpoint,
} from '../../../application/ports/deliveries.js';
import type { Milliseconds, OrganizationId, Uuid } from '../../../domain/ids.js';
import type { DatedSecret, WebhookEndpoints } from '../../../domain/webhook-endpoints.js';
import type { WebhookUrl } from '../../../domain/webhook-url.js';
import { numberFrom, type Database, type Statement } from '../database.js';
import type { DeliveryInput, LaneRow, LaneState } from './delivery-operations.js';
import { NotWritten } from '../errors.js';
import type { SqliteWriter } from '../writer/writer.js';

/**
 * An endpoint and the claims on its deliveries. Claims live in memory: this process is the only one, and
 * after a crash the rows are due as before.
 */
interface Lane {
  target: DeliveryEndpoint;
  state: LaneState;
  health: EndpointHealth;
  lastFailure: string;
  /** By delivery. */
  readonly claims: Map<string, { readonly id: string; readonly seq: number }>;
}

/** A place in the agenda of an endpoint. */
interface Entry {
  readonly seq: number;
  readonly due: number;
}

interface Row {
  readonly seq: number;
  readonly id: string;
  readonly org: string;
  readonly endpoint: string;
  readonly event: string;
  readonly type: string;
  readonly card: string;
  readonly position: number;
  readonly occurred_at: number;
  readonly body: string;
  readonly status: string;
  readonly attempts: string;
  readonly made: number;
  readonly allowed: number;
  readonly due: number | null;
  readonly expires: number;
  readonly drop_reason: string | null;
}

/** Of a row what a claim needs. */
type ClaimedRow = Pick<Row, 'id' | 'event' | 'type' | 'card' | 'occurred_at' | 'body' | 'made' | 'allowed'>;

const input = ({ position, ...row }: NewDelivery): DeliveryInput => ({ ...row, position: Number(position) });

const delivery = (row: Row): Delivery => ({
  id: row.id as DeliveryId,
  org: row.org as OrganizationId,
  endpoint: row.endpoint as Uuid,
  event: row.event,
  type: row.type,
  card: row.card,
  position: BigInt(row.position),
  occurredAt: row.occurred_at,
  body: row.body,
  status: row.status as DeliveryStatus,
  attempts: JSON.parse(row.attempts) as readonly DeliveryAttempt[],
  allowed: row.allowed,
  due: row.due,
  expires: row.expires,
  dropReason: row.drop_reason,
});

const targetOf = (row: LaneRow): DeliveryEndpoint => ({
  endpoint: row.endpoint as Uuid,
  org: row.org as OrganizationId,
  url: row.url as WebhookUrl,
  secrets: JSON.parse(row.secrets) as readonly DatedSecret[],
  active: row.state === 'open' || row.state === 'tripped',
  version: row.version,
  enabledAt: row.enabled_at,
});

const healthOf = (row: LaneRow): EndpointHealth => ({
  failureCount: row.failures,
  consecutiveFailures: row.consecutive,
  lastSuccessAt: row.last_success,
});

const rowsPerMessage = 500;

const unavailable = (error: unknown): unknown =>
  error instanceof NotWritten
    ? new DeliveriesUnavailable(`Nothing was written: ${error.message}`, { cause: error })
    : error;

/** Deliveries in events.db: writes share the commits of the log, reads run on the calling thread. */
export class SqliteDeliveries implements Deliveries {
  readonly #writer: SqliteWriter;
  readonly #database: Database;
  readonly #lanes = new Map<Uuid, Lane>();
  readonly #changes = new DeliveryChanges();
  /**
   * Answered by its index alone: a row is large, and what was read of the file is forgotten with every
   * commit.
   */
  readonly #waiting: Statement;
  readonly #bySeq: Statement;
  readonly #byId: Statement;
  readonly #pages = new Map<string, Statement>();
  #claimed = 0;

  constructor({ writer, database }: { readonly writer: SqliteWriter; readonly database: Database }) {
    this.#writer = writer;
    this.#database = database;
    this.#waiting = database.prepare(
      `select seq, due from deliveries where endpoint = ? and status = 'pending' order by due limit ?`,
    );
    this.#bySeq = database.prepare(
      'select id, event, type, card, occurred_at, body, made, allowed from deliveries where seq = ?',
    );
    this.#byId = database.prepare('select * from deliveries where id = ?');
    const lanes: readonly LaneRow[] = database.prepare('select * from delivery_targets').all();
    for (const row of lanes) this.#setLane(row);
  }

  async insert(rows: readonly NewDelivery[]): Promise<readonly DeliveryId[]> {
    const added: DeliveryId[] = [];
    for (let from = 0; from < rows.length; from += rowsPerMessage) {
      const ids = await this.#run(() =>
        this.#writer.run('insertDeliveries', rows.slice(from, from + rowsPerMessage).map(input)),
      );
      for (const id of ids) added.push(id as DeliveryId);
    }
    this.#publish('made', added);
    return added;
  }

  async upsertEndpoint(target: DeliveryEndpoint, now: Milliseconds): Promise<void> {
    const { secrets, ...rest } = target;
    const { dropped } = await this.#run(() =>
      this.#writer.run('putTarget', { ...rest, secrets: JSON.stringify(secrets), now }, ({ lane }) => {
        if (lane !== null) this.#setLane(lane);
      }),
    );
    this.#publish('changed', idsOf(dropped));
  }

  async resetFailures(endpoint: Uuid): Promise<void> {
    await this.#run(() =>
      this.#writer.run('forgive', endpoint, () => {
        const lane = this.#lanes.get(endpoint);
        if (lane !== undefined) lane.health = { ...lane.health, consecutiveFailures: 0 };
      }),
    );
  }

  async deleteEndpoint(org: OrganizationId, endpoint: Uuid, reason: string): Promise<void> {
    const lane = this.#lanes.get(endpoint);
    if (lane !== undefined && lane.target.org === org) lane.state = 'closed';
    const dropped = await this.#run(() => this.#writer.run('closeTarget', { org, endpoint, reason }));
    this.#publish('changed', idsOf(dropped));
  }

  async dueTimes(): Promise<ReadonlyMap<Uuid, Milliseconds>> {
    const waiting = new Map<Uuid, Milliseconds>();
    for (const [endpoint, lane] of this.#lanes) {
      const [first] = lane.state === 'open' ? this.#unclaimed(lane, 1) : [];
      if (first !== undefined) waiting.set(endpoint, first.due);
    }
    return waiting;
  }

  async claim(
    limits: ReadonlyMap<Uuid, number>,
    now: Milliseconds,
  ): Promise<ReadonlyMap<Uuid, EndpointClaims>> {
    return new Map([...limits].map(([endpoint, limit]) => [endpoint, this.#claimOf(endpoint, now, limit)]));
  }

  mayStart(claim: DeliveryClaim): boolean {
    return this.#holds(claim) && this.#lanes.get(claim.target.endpoint)?.state === 'open';
  }

  async release(claim: DeliveryClaim): Promise<void> {
    if (this.#holds(claim)) this.#lanes.get(claim.target.endpoint)?.claims.delete(claim.delivery);
  }

  async record(
    claim: DeliveryClaim,
    attempt: DeliveryAttempt,
    outcome: AttemptOutcome,
    disableAfter: number,
  ): Promise<Recorded> {
    if (!this.#holds(claim)) return { recorded: false, tripped: null };
    const { delivery: id, number, target } = claim;
    const { endpoint, enabledAt } = target;
    const failure = attempt.error ?? `HTTP ${attempt.httpStatus}`;
    const lane = await this.#run(() =>
      this.#writer.run(
        'recordAttempt',
        {
          delivery: id,
          endpoint,
          number,
          attempt: JSON.stringify(attempt),
          at: attempt.at,
          failure,
          outcome,
          enabledAt,
          disableAfter,
        },
        (row) => {
          this.#lanes.get(endpoint)?.claims.delete(id);
          if (row !== null) this.#setLane(row);
        },
      ),
    );
    if (lane === null) return { recorded: false, tripped: null };
    this.#publish('attempted', [id]);
    return { recorded: true, tripped: lane.state === 'tripped' ? this.#trip(endpoint) : null };
  }

  async tripped(): Promise<readonly TrippedEndpoint[]> {
    return [...this.#lanes.keys()].flatMap((endpoint) => this.#trip(endpoint) ?? []);
  }

  async dropExpired(now: Milliseconds): Promise<number> {
    const dropped = await this.#run(() => this.#writer.run('expireDeliveries', now));
    this.#publish('changed', idsOf(dropped));
    return dropped.length;
  }

  async retry(
    org: OrganizationId,
    id: string,
    now: Milliseconds,
    expires: Milliseconds,
  ): Promise<{ readonly endpoint: Uuid } | 'unknown' | 'refused'> {
    const found = await this.#run(() => this.#writer.run('retryDelivery', { org, id, now, expires }));
    if (found === 'unknown' || found === 'refused') return found;
    this.#publish('changed', [found.id as DeliveryId]);
    return { endpoint: found.endpoint as Uuid };
  }

  async redrive(
    org: OrganizationId,
    { from, to, endpoint }: DeadLetterFilter,
    now: Milliseconds,
    expires: Milliseconds,
  ): Promise<ReadonlyMap<Uuid, number>> {
    const first =
      'position' in from
        ? { fromPosition: Number(from.position), fromTime: 0 }
        : { fromPosition: 0, fromTime: from.time };
    const last = {
      toPosition: to !== null && 'position' in to ? Number(to.position) : Number.MAX_SAFE_INTEGER,
      toTime: to !== null && 'time' in to ? to.time : Number.MAX_SAFE_INTEGER,
    };
    const revived = await this.#run(() =>
      this.#writer.run('redriveDeliveries', { org, ...first, ...last, endpoint, now, expires }),
    );
    this.#publish('changed', idsOf(revived));
    const counts = new Map<Uuid, number>();
    for (const { endpoint: of } of revived) counts.set(of as Uuid, (counts.get(of as Uuid) ?? 0) + 1);
    return counts;
  }

  async replay(rows: readonly NewDelivery[]): Promise<number> {
    const revived: DeliveryId[] = [];
    for (let from = 0; from < rows.length; from += rowsPerMessage) {
      const ids = await this.#run(() =>
        this.#writer.run('replayDeliveries', rows.slice(from, from + rowsPerMessage).map(input)),
      );
      for (const id of ids) revived.push(id as DeliveryId);
    }
    this.#publish('changed', revived);
    return revived.length;
  }

  async page(
    org: OrganizationId,
    filter: DeliveryFilter,
    { startingAfter, limit }: { readonly startingAfter: string | null; readonly limit: number },
  ): Promise<readonly Delivery[] | null> {
    const last: Row | undefined = startingAfter === null ? undefined : this.#byId.get(startingAfter);
    if (startingAfter !== null && last?.org !== org) return null;
    const wanted = Object.entries(filter).filter(
      (entry): entry is [keyof DeliveryFilter, string] => entry[1] !== null,
    );
    const names = wanted.map(([name]) => name);
    const rows: readonly Row[] = this.#pageStatement(names).all(
      org,
      last?.seq ?? Number.MAX_SAFE_INTEGER,
      ...wanted.map(([, value]) => value),
      limit,
    );
    return rows.map(delivery);
  }

  async health(org: OrganizationId): Promise<ReadonlyMap<Uuid, EndpointHealth>> {
    return new Map(
      [...this.#lanes]
        .filter(([, { target }]) => target.org === org)
        .map(([endpoint, { health }]) => [endpoint, health]),
    );
  }

  async depth(now: Milliseconds): Promise<QueueDepth> {
    const waiting = [...this.#lanes.values()].flatMap((lane) =>
      lane.state === 'open' ? this.#oldest(lane) : [],
    );
    const oldest = Math.min(...waiting);
    return {
      pending:
        numberFrom(this.#database.prepare(`select count(*) from deliveries where status = 'pending'`)) ?? 0,
      deadLetters:
        numberFrom(this.#database.prepare(`select count(*) from deliveries where status = 'exhausted'`)) ?? 0,
      oldestDue: oldest <= now ? oldest : null,
    };
  }

  watch(org: OrganizationId, signal: AbortSignal): AsyncIterable<DeliveryChange> {
    return this.#changes.watch(org, signal);
  }

  async rememberEndpoints(org: OrganizationId, position: bigint, endpoints: WebhookEndpoints): Promise<void> {
    await this.#run(() =>
      this.#writer.run('rememberEndpoints', {
        org,
        position: Number(position),
        endpoints: JSON.stringify(endpoints),
      }),
    );
  }

  async rememberedEndpoints(): Promise<ReadonlyMap<OrganizationId, WebhookEndpoints>> {
    const rows: readonly { readonly org: string; readonly endpoints: string }[] = this.#database
      .prepare('select org, endpoints from relayed_endpoints')
      .all();
    return new Map(
      rows.map(({ org, endpoints }) => [org as OrganizationId, JSON.parse(endpoints) as WebhookEndpoints]),
    );
  }

  async #run<Output>(write: () => Promise<Output>): Promise<Output> {
    try {
      return await write();
    } catch (error) {
      throw unavailable(error);
    }
  }

  #claimOf(endpoint: Uuid, now: Milliseconds, limit: number): EndpointClaims {
    const lane = this.#lanes.get(endpoint);
    if (lane?.state !== 'open') return noClaims;
    const entries = this.#unclaimed(lane, limit + 1);
    const claimed = entries
      .slice(0, limit)
      .flatMap(({ seq, due }) => (due <= now ? this.#claim(lane, seq) : []));
    return { claimed, next: entries[claimed.length]?.due ?? null };
  }

  #claim({ target, claims }: Lane, seq: number): DeliveryClaim[] {
    const row: ClaimedRow | undefined = this.#bySeq.get(seq);
    if (row === undefined) return [];
    const id = String(++this.#claimed);
    const { type, event, card, body, allowed } = row;
    claims.set(row.id, { id, seq });
    return [
      {
        id,
        delivery: row.id as DeliveryId,
        type,
        event,
        card,
        body,
        occurredAt: row.occurred_at,
        number: row.made + 1,
        allowed,
        target,
      },
    ];
  }

  /** What the writer has stored is what counts, but for a closing that is under way. */
  #setLane(row: LaneRow): void {
    const known = this.#lanes.get(row.endpoint as Uuid);
    const lastFailure = row.last_failure ?? '';
    if (known === undefined) {
      this.#lanes.set(row.endpoint as Uuid, {
        target: targetOf(row),
        state: row.state,
        health: healthOf(row),
        lastFailure,
        claims: new Map(),
      });
      return;
    }
    if (known.target.version !== row.version) known.target = targetOf(row);
    if (known.state !== 'closed') known.state = row.state;
    known.health = healthOf(row);
    known.lastFailure = lastFailure;
  }

  #trip(endpoint: Uuid): TrippedEndpoint | null {
    const lane = this.#lanes.get(endpoint);
    if (lane?.state !== 'tripped') return null;
    const { target, health, lastFailure } = lane;
    return {
      org: target.org,
      endpoint,
      enabledAt: target.enabledAt,
      consecutiveFailures: health.consecutiveFailures,
      lastFailure,
    };
  }

  #holds({ id, delivery: of, target }: DeliveryClaim): boolean {
    return this.#lanes.get(target.endpoint)?.claims.get(of)?.id === id;
  }

  /**
   * The first pending rows that nobody has claimed. Claimed ones stand among the first, so few more are read.
   */
  #unclaimed({ target, claims }: Lane, limit: number): readonly Entry[] {
    const entries: readonly Entry[] = this.#waiting.all(target.endpoint, limit + claims.size);
    const taken = new Set([...claims.values()].map(({ seq }) => seq));
    return entries.filter(({ seq }) => !taken.has(seq)).slice(0, limit);
  }

  #oldest({ target }: Lane): number[] {
    const [first]: readonly Entry[] = this.#waiting.all(target.endpoint, 1);
    return first === undefined ? [] : [first.due];
  }

  #pageStatement(names: readonly (keyof DeliveryFilter)[]): Statement {
    const key = names.join();
    const known = this.#pages.get(key);
    if (known !== undefined) return known;
    const where = names.map((name) => ` and ${name} = ?`).join('');
    const statement = this.#database.prepare(
      `select * from deliveries where org = ? and seq < ?${where} order by seq desc limit ?`,
    );
    this.#pages.set(key, statement);
    return statement;
  }

  #publish(kind: DeliveryChange['kind'], ids: readonly DeliveryId[]): void {
    if (!this.#changes.hasWatchers) return;
    for (const id of ids) {
      const row: Row | undefined = this.#byId.get(id);
      if (row !== undefined && this.#changes.isWatched(row.org as OrganizationId))
        this.#changes.publish({ kind, delivery: delivery(row) });
    }
  }
}

const idsOf = (changed: readonly { readonly id: string }[]): readonly DeliveryId[] =>
  changed.map(({ id }) => id as DeliveryId);
