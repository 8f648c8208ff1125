import { DeliveryChanges } from '../../../application/delivery-changes.js';
import {
  DeliveriesUnavailable,
  type AttemptOutcome,
  type DeadLetterFilter,
  type Deliveries,
  type Delivery,
  type DeliveryAttempt,
  type DeliveryChange,
  type DeliveryClaim,
  type DeliveryEndpoint,
  type DeliveryFilter,
  type DeliveryId,
  type EndpointClaims,
  type EndpointHealth,
  type NewDelivery,
  type QueueDepth,
  type Recorded,
  type TrippedEndpoint,
} from '../../../application/ports/deliveries.js';
import type { Milliseconds, OrganizationId, Uuid } from '../../../domain/ids.js';
import type { WebhookEndpoints } from '../../../domain/webhook-endpoints.js';
import { numberFrom, type Database, type Statement } from '../database.js';
import { NotWritten } from '../errors.js';
import type { SqliteWriter } from '../writer/writer.js';
import { DeliveryClaims } from './delivery-claims.js';
import { deliveryOf, inputOf, type DeliveryRow } from './delivery-rows.js';

/** How many deliveries cross to the writer's thread in one request. */
const rowsPerRequest = 500;

/** Deliveries in events.db. Writes share the commits of the log; reads run on the calling thread. */
export class SqliteDeliveries implements Deliveries {
  readonly #writer: SqliteWriter;
  readonly #database: Database;
  readonly #claims: DeliveryClaims;
  readonly #changes = new DeliveryChanges();
  readonly #byId: Statement;
  /** By the names of the columns that they filter by. */
  readonly #pages = new Map<string, Statement>();

  constructor({ writer, database }: { readonly writer: SqliteWriter; readonly database: Database }) {
    this.#writer = writer;
    this.#database = database;
    this.#claims = new DeliveryClaims(database);
    this.#byId = database.prepare('select * from deliveries where id = ?');
  }

  async insert(deliveries: readonly NewDelivery[]): Promise<readonly DeliveryId[]> {
    const added = await this.#inRequests('insertDeliveries', deliveries);
    this.#publish('made', added);
    return added;
  }

  async upsertEndpoint(target: DeliveryEndpoint, now: Milliseconds): Promise<void> {
    const { secrets, ...rest } = target;
    const input = { ...rest, secrets: JSON.stringify(secrets), now };
    const { dropped } = await this.#write(() =>
      this.#writer.run('upsertEndpoint', input, ({ endpoint }) => {
        if (endpoint !== null) this.#claims.setEndpoint(endpoint);
      }),
    );
    this.#publish('changed', idsOf(dropped));
  }

  async resetFailures(endpoint: Uuid): Promise<void> {
    await this.#write(() =>
      this.#writer.run('resetFailures', endpoint, () => this.#claims.resetFailures(endpoint)),
    );
  }

  async deleteEndpoint(org: OrganizationId, endpoint: Uuid, reason: string): Promise<void> {
    this.#claims.deleteEndpoint(org, endpoint);
    const dropped = await this.#write(() => this.#writer.run('deleteEndpoint', { org, endpoint, reason }));
    this.#publish('changed', idsOf(dropped));
  }

  async dueTimes(): Promise<ReadonlyMap<Uuid, Milliseconds>> {
    return this.#claims.dueTimes();
  }

  async claim(
    limits: ReadonlyMap<Uuid, number>,
    now: Milliseconds,
  ): Promise<ReadonlyMap<Uuid, EndpointClaims>> {
    return new Map(
      [...limits].map(([endpoint, limit]) => [endpoint, this.#claims.claim(endpoint, now, limit)]),
    );
  }

  mayStart(claim: DeliveryClaim): boolean {
    return this.#claims.mayStart(claim);
  }

  async release(claim: DeliveryClaim): Promise<void> {
    if (this.#claims.holds(claim)) this.#claims.remove(claim);
  }

  async record(
    claim: DeliveryClaim,
    attempt: DeliveryAttempt,
    outcome: AttemptOutcome,
    disableAfter: number,
  ): Promise<Recorded> {
    if (!this.#claims.holds(claim)) return { recorded: false, tripped: null };
    const { delivery, number, target } = claim;
    const { endpoint, enabledAt } = target;
    const input = {
      delivery,
      endpoint,
      number,
      attempt: JSON.stringify(attempt),
      at: attempt.at,
      failure: attempt.error ?? `HTTP ${attempt.httpStatus}`,
      outcome,
      enabledAt,
      disableAfter,
    };
    const recorded = await this.#write(() =>
      this.#writer.run('recordAttempt', input, (row) => {
        this.#claims.remove(claim);
        if (row !== null) this.#claims.setEndpoint(row);
      }),
    );
    if (recorded === null) return { recorded: false, tripped: null };
    this.#publish('attempted', [delivery]);
    const tripped = recorded.state === 'tripped' ? this.#claims.trippedEndpoint(endpoint) : null;
    return { recorded: true, tripped };
  }

  async tripped(): Promise<readonly TrippedEndpoint[]> {
    return this.#claims.tripped();
  }

  async dropExpired(now: Milliseconds): Promise<number> {
    const dropped = await this.#write(() => this.#writer.run('dropExpiredDeliveries', now));
    this.#publish('changed', idsOf(dropped));
    return dropped.length;
  }

  async retry(
    org: OrganizationId,
    id: string,
    now: Milliseconds,
    expires: Milliseconds,
  ): Promise<{ readonly endpoint: Uuid } | 'unknown' | 'refused'> {
    const result = await this.#write(() => this.#writer.run('retryDelivery', { org, id, now, expires }));
    if (result === 'unknown' || result === 'refused') return result;
    this.#publish('changed', [result.id as DeliveryId]);
    return { endpoint: result.endpoint as Uuid };
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
    const revived = await this.#write(() =>
      this.#writer.run('redriveDeliveries', { org, ...first, ...last, endpoint, now, expires }),
    );
    this.#publish('changed', idsOf(revived));
    const counts = new Map<Uuid, number>();
    for (const { endpoint: of } of revived) counts.set(of as Uuid, (counts.get(of as Uuid) ?? 0) + 1);
    return counts;
  }

  async replay(deliveries: readonly NewDelivery[]): Promise<number> {
    const changed = await this.#inRequests('replayDeliveries', deliveries);
    this.#publish('changed', changed);
    return changed.length;
  }

  async page(
    org: OrganizationId,
    filter: DeliveryFilter,
    { startingAfter, limit }: { readonly startingAfter: string | null; readonly limit: number },
  ): Promise<readonly Delivery[] | null> {
    const last: DeliveryRow | undefined = startingAfter === null ? undefined : this.#byId.get(startingAfter);
    if (startingAfter !== null && last?.org !== org) return null;
    const wanted = Object.entries(filter).filter(
      (entry): entry is [keyof DeliveryFilter, string] => entry[1] !== null,
    );
    const rows: readonly DeliveryRow[] = this.#pageStatement(wanted.map(([name]) => name)).all(
      org,
      last?.seq ?? Number.MAX_SAFE_INTEGER,
      ...wanted.map(([, value]) => value),
      limit,
    );
    return rows.map(deliveryOf);
  }

  async health(org: OrganizationId): Promise<ReadonlyMap<Uuid, EndpointHealth>> {
    return this.#claims.health(org);
  }

  async depth(now: Milliseconds): Promise<QueueDepth> {
    const oldest = this.#claims.oldestDue();
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
    const input = { org, position: Number(position), endpoints: JSON.stringify(endpoints) };
    await this.#write(() => this.#writer.run('rememberEndpoints', input));
  }

  async rememberedEndpoints(): Promise<ReadonlyMap<OrganizationId, WebhookEndpoints>> {
    const rows: readonly { readonly org: string; readonly endpoints: string }[] = this.#database
      .prepare('select org, endpoints from relayed_endpoints')
      .all();
    return new Map(
      rows.map(({ org, endpoints }) => [org as OrganizationId, JSON.parse(endpoints) as WebhookEndpoints]),
    );
  }

  /** Writes deliveries in several requests. Returns the ids of those that were added or changed. */
  async #inRequests(
    operation: 'insertDeliveries' | 'replayDeliveries',
    deliveries: readonly NewDelivery[],
  ): Promise<readonly DeliveryId[]> {
    const changed: DeliveryId[] = [];
    for (let from = 0; from < deliveries.length; from += rowsPerRequest) {
      const inputs = deliveries.slice(from, from + rowsPerRequest).map(inputOf);
      const ids = await this.#write(() => this.#writer.run(operation, inputs));
      for (const id of ids) changed.push(id as DeliveryId);
    }
    return changed;
  }

  /** Throws DeliveriesUnavailable if nothing was written. */
  async #write<Output>(write: () => Promise<Output>): Promise<Output> {
    try {
      return await write();
    } catch (error) {
      if (error instanceof NotWritten)
        throw new DeliveriesUnavailable(`Nothing was written: ${error.message}`, { cause: error });
      throw error;
    }
  }

  #pageStatement(names: readonly (keyof DeliveryFilter)[]): Statement {
    const key = names.join();
    const known = this.#pages.get(key);
    if (known !== undefined) return known;
    const conditions = names.map((name) => ` and ${name} = ?`).join('');
    const statement = this.#database.prepare(
      `select * from deliveries where org = ? and seq < ?${conditions} order by seq desc limit ?`,
    );
    this.#pages.set(key, statement);
    return statement;
  }

  #publish(kind: DeliveryChange['kind'], ids: readonly DeliveryId[]): void {
    if (!this.#changes.hasWatchers) return;
    for (const id of ids) {
      const row: DeliveryRow | undefined = this.#byId.get(id);
      if (row !== undefined && this.#changes.isWatched(row.org as OrganizationId))
        this.#changes.publish({ kind, delivery: deliveryOf(row) });
    }
  }
}

const idsOf = (changed: readonly { readonly id: string }[]): readonly DeliveryId[] =>
  changed.map(({ id }) => id as DeliveryId);
