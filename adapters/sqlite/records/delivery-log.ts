import type {
  DeadLetterFilter,
  Delivery,
  DeliveryChange,
  DeliveryFilter,
  Page,
  DeliveryId,
  DeliveryLog,
  NewDelivery,
  QueueDepth,
  Redriven,
} from '../../../application/ports/delivery-log.js';
import type { Milliseconds, OrganizationId, Uuid } from '../../../domain/ids.js';
import { numberFrom, type Database, type Statement } from '../database.js';
import { nextTurn } from '../../../application/timing/next-turn.js';
import type { ClaimBook } from './claim-book.js';
import { pageQuery } from './delivery-pages.js';
import {
  deadLettersQuery,
  deliveryOf,
  inputOf,
  rowsPerStep,
  whichOf,
  type DeadLetter,
  type DeliveryInput,
  type DeliveryRow,
  type RedriveInput,
} from './delivery-rows.js';
import { idsOf, type DeliveryWrites } from './delivery-writes.js';

/** How many rows are looked at before others get the thread. */
const looksPerTurn = 200;
/** How many dead letters are counted before others get the thread. */
const rowsPerCount = 2_000;
/** How many deliveries cross to the writer's thread in one request. */
const rowsPerRequest = 500;

function* inRequests(deliveries: readonly NewDelivery[]): Generator<readonly DeliveryInput[]> {
  for (let from = 0; from < deliveries.length; from += rowsPerRequest)
    yield deliveries.slice(from, from + rowsPerRequest).map(inputOf);
}

export class SqliteDeliveryLog implements DeliveryLog {
  readonly #byId: Statement;
  readonly #dead: Statement;
  readonly #deadOf: Statement;
  readonly #inactive: Statement;
  readonly #countPending: Statement;
  readonly #countDead: Statement;
  readonly #firstToExpire: Statement;
  /** By their SQL. */
  readonly #pages = new Map<string, Statement>();

  constructor(
    private readonly database: Database,
    private readonly writes: DeliveryWrites,
    private readonly book: ClaimBook,
  ) {
    this.#byId = database.prepare('select * from deliveries where id = ?');
    this.#dead = database.prepare(
      "select * from deliveries indexed by dead_letters where status = 'exhausted' and seq < ? order by seq desc limit ?",
    );
    this.#deadOf = database.prepare(deadLettersQuery);
    this.#countPending = database.prepare(`
      select sum(count) from delivery_counts where status = 'pending'
        and endpoint not in (select endpoint from delivery_targets where state in ('off', 'tripped'))`);
    this.#countDead = database.prepare("select sum(count) from delivery_counts where status = 'exhausted'");
    this.#inactive = database.prepare(
      `select endpoint, state from delivery_targets where state in ('off', 'opening', 'closed')`,
    );
    this.#firstToExpire = database.prepare(
      `select expires from deliveries where endpoint = ? and status = 'pending' order by expires limit 1`,
    );
  }

  async insert(deliveries: readonly NewDelivery[]): Promise<readonly DeliveryId[]> {
    const added: DeliveryId[] = [];
    for (const inputs of inRequests(deliveries))
      for (const id of await this.writes.run('insertDeliveries', inputs)) added.push(id as DeliveryId);
    this.writes.publish('made', added);
    return added;
  }

  async erase(card: string, now: Milliseconds): Promise<void> {
    const changed = await this.writes.run('eraseDeliveries', { card, now }, (erased) =>
      this.book.revoke(erased),
    );
    this.writes.publish('changed', idsOf(changed));
  }

  async dropExpired(now: Milliseconds, of?: Uuid): Promise<number> {
    let count = 0;
    for await (const endpoint of of === undefined ? this.#endpointsToDropFor(now) : [of]) {
      for (let dropped = rowsPerStep; dropped === rowsPerStep;) {
        const done = await this.writes.run('dropSomeDeliveries', { endpoint, now }, (output) => {
          if (output.endpoint !== null) this.book.setEndpoint(output.endpoint);
        });
        dropped = done.dropped.length;
        count += dropped;
        this.writes.publish('changed', idsOf(done.dropped));
      }
    }
    return count;
  }

  async removeEnded(before: Milliseconds): Promise<number> {
    let count = 0;
    for (let seq: number | null = 0; seq !== null;) {
      const step: { readonly removed: number; readonly last: number | null } = await this.writes.run(
        'removeEndedDeliveries',
        { seq, before },
      );
      count += step.removed;
      seq = step.last;
    }
    while ((await this.writes.run('forgetEndpoints', before)) === rowsPerStep);
    return count;
  }

  async continueRedrives(): Promise<ReadonlySet<Uuid>> {
    const endpoints = new Set<Uuid>();
    for (;;) {
      const revived = await this.writes.run('continueRedrive', undefined);
      if (revived === null) return endpoints;
      for (const { endpoint } of revived) endpoints.add(endpoint as Uuid);
      this.writes.publish('changed', idsOf(revived));
    }
  }

  async retry(
    org: OrganizationId,
    id: string,
    now: Milliseconds,
    expires: Milliseconds,
  ): Promise<{ readonly endpoint: Uuid } | 'unknown' | 'refused'> {
    const result = await this.writes.run('retryDelivery', { org, id, now, expires });
    if (result === 'unknown' || result === 'refused') return result;
    this.writes.publish('changed', [result.id as DeliveryId]);
    return { endpoint: result.endpoint as Uuid };
  }

  async redrive(
    org: OrganizationId,
    { from, to, endpoint }: DeadLetterFilter,
    now: Milliseconds,
    expires: Milliseconds,
  ): Promise<Redriven> {
    const first =
      'position' in from
        ? { fromPosition: Number(from.position), fromTime: 0 }
        : { fromPosition: 0, fromTime: from.time };
    const last = {
      toPosition: to !== null && 'position' in to ? Number(to.position) : Number.MAX_SAFE_INTEGER,
      toTime: to !== null && 'time' in to ? to.time : Number.MAX_SAFE_INTEGER,
    };
    const input = { org, ...first, ...last, endpoint, now, expires, cursor: null };
    const { revived, cursor } = await this.writes.run('redriveDeliveries', input);
    this.writes.publish('changed', idsOf(revived));
    const counts = new Map<Uuid, number>();
    const add = (endpoint: string): void =>
      void counts.set(endpoint as Uuid, (counts.get(endpoint as Uuid) ?? 0) + 1);
    for (const { endpoint: of } of revived) add(of);
    if (cursor !== null)
      for await (const { endpoint: of } of this.#deadLettersOf({ ...input, cursor }))
        if (this.book.endpoint(of as Uuid) !== null) add(of);
    return { counts, more: cursor !== null };
  }

  async replay(deliveries: readonly NewDelivery[]): Promise<number> {
    let count = 0;
    for (const inputs of inRequests(deliveries)) {
      const { added, revived } = await this.writes.run('replayDeliveries', inputs);
      this.writes.publish('made', added as readonly DeliveryId[]);
      this.writes.publish('changed', revived as readonly DeliveryId[]);
      count += added.length + revived.length;
    }
    return count;
  }

  async page(
    org: OrganizationId,
    filter: DeliveryFilter,
    { startingAfter, limit }: Page,
  ): Promise<readonly Delivery[] | null> {
    const last: DeliveryRow | undefined = startingAfter === null ? undefined : this.#byId.get(startingAfter);
    if (startingAfter !== null && last?.org !== org) return null;
    const { sql, parameters } = pageQuery(org, filter, last?.seq ?? Number.MAX_SAFE_INTEGER, limit);
    const statement = this.#pages.get(sql) ?? this.database.prepare(sql);
    this.#pages.set(sql, statement);
    const rows: readonly DeliveryRow[] = statement.all(...parameters);
    return rows.map(deliveryOf);
  }

  async deadLetters({ startingAfter, limit }: Page): Promise<readonly Delivery[] | null> {
    const last: DeliveryRow | undefined = startingAfter === null ? undefined : this.#byId.get(startingAfter);
    if (startingAfter !== null && last === undefined) return null;
    const rows: readonly DeliveryRow[] = this.#dead.all(last?.seq ?? Number.MAX_SAFE_INTEGER, limit);
    return rows.map(deliveryOf);
  }

  async get(org: OrganizationId, id: string): Promise<Delivery | null> {
    const row: DeliveryRow | undefined = this.#byId.get(id);
    return row?.org === org ? deliveryOf(row) : null;
  }

  async depth(now: Milliseconds): Promise<QueueDepth> {
    return {
      pending: numberFrom(this.#countPending) ?? 0,
      deadLetters: numberFrom(this.#countDead) ?? 0,
      oldestDue: await this.book.oldestDue(now),
      disabledEndpoints: this.book.disabled(),
    };
  }

  watch(org: OrganizationId, signal: AbortSignal): AsyncIterable<DeliveryChange> {
    return this.writes.changes.watch(org, signal);
  }

  async *#deadLettersOf(which: RedriveInput): AsyncGenerator<DeadLetter> {
    for (let { cursor } = which; ;) {
      const rows: readonly DeadLetter[] = this.#deadOf.all(...whichOf({ ...which, cursor }, rowsPerCount));
      yield* rows;
      const last = rows.at(-1);
      if (last === undefined || rows.length < rowsPerCount) return;
      cursor = [last.occurred_at, last.seq];
      await nextTurn();
    }
  }

  /** Endpoints with pending rows that must not be sent any more. Looks at the first row of each. */
  async *#endpointsToDropFor(now: Milliseconds): AsyncGenerator<string> {
    const inactive: readonly { readonly endpoint: string; readonly state: string }[] = this.#inactive.all();
    for (const [index, { endpoint, state }] of inactive.entries()) {
      if (index % looksPerTurn === looksPerTurn - 1) await nextTurn();
      const expires = numberFrom(this.#firstToExpire, endpoint);
      if (state === 'opening' || (expires !== null && (state === 'closed' || expires <= now))) yield endpoint;
    }
  }
}
