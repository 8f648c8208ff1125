import type {
  DeadLetterFilter,
  Delivery,
  DeliveryChange,
  DeliveryFilter,
  DeliveryId,
  DeliveryLog,
  NewDelivery,
  QueueDepth,
} from '../../../application/ports/delivery-log.js';
import type { Milliseconds, OrganizationId, Uuid } from '../../../domain/ids.js';
import { numberFrom, type Database, type Statement } from '../database.js';
import type { ClaimBook } from './claim-book.js';
import { deliveryOf, inputOf, type DeliveryRow } from './delivery-rows.js';
import { idsOf, type DeliveryWrites } from './delivery-writes.js';

/** How many deliveries cross to the writer's thread in one request. */
const rowsPerRequest = 500;

/** The rows of deliveries in events.db. */
export class SqliteDeliveryLog implements DeliveryLog {
  readonly #writes: DeliveryWrites;
  readonly #database: Database;
  readonly #book: ClaimBook;
  readonly #byId: Statement;
  /** By the names of the columns that they filter by. */
  readonly #pages = new Map<string, Statement>();

  constructor(database: Database, writes: DeliveryWrites, book: ClaimBook) {
    this.#writes = writes;
    this.#database = database;
    this.#book = book;
    this.#byId = database.prepare('select * from deliveries where id = ?');
  }

  async insert(deliveries: readonly NewDelivery[]): Promise<readonly DeliveryId[]> {
    const added = await this.#inRequests('insertDeliveries', deliveries);
    this.#writes.publish('made', added);
    return added;
  }

  async dropExpired(now: Milliseconds): Promise<number> {
    const dropped = await this.#writes.run('dropExpiredDeliveries', now);
    this.#writes.publish('changed', idsOf(dropped));
    return dropped.length;
  }

  async retry(
    org: OrganizationId,
    id: string,
    now: Milliseconds,
    expires: Milliseconds,
  ): Promise<{ readonly endpoint: Uuid } | 'unknown' | 'refused'> {
    const result = await this.#writes.run('retryDelivery', { org, id, now, expires });
    if (result === 'unknown' || result === 'refused') return result;
    this.#writes.publish('changed', [result.id as DeliveryId]);
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
    const revived = await this.#writes.run('redriveDeliveries', {
      org,
      ...first,
      ...last,
      endpoint,
      now,
      expires,
    });
    this.#writes.publish('changed', idsOf(revived));
    const counts = new Map<Uuid, number>();
    for (const { endpoint: of } of revived) counts.set(of as Uuid, (counts.get(of as Uuid) ?? 0) + 1);
    return counts;
  }

  async replay(deliveries: readonly NewDelivery[]): Promise<number> {
    const changed = await this.#inRequests('replayDeliveries', deliveries);
    this.#writes.publish('changed', changed);
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

  async depth(now: Milliseconds): Promise<QueueDepth> {
    const oldest = this.#book.oldestDue();
    return {
      pending:
        numberFrom(this.#database.prepare(`select count(*) from deliveries where status = 'pending'`)) ?? 0,
      deadLetters:
        numberFrom(this.#database.prepare(`select count(*) from deliveries where status = 'exhausted'`)) ?? 0,
      oldestDue: oldest <= now ? oldest : null,
    };
  }

  watch(org: OrganizationId, signal: AbortSignal): AsyncIterable<DeliveryChange> {
    return this.#writes.changes.watch(org, signal);
  }

  /** Writes deliveries in several requests. Returns the ids of those that were added or changed. */
  async #inRequests(
    operation: 'insertDeliveries' | 'replayDeliveries',
    deliveries: readonly NewDelivery[],
  ): Promise<readonly DeliveryId[]> {
    const changed: DeliveryId[] = [];
    for (let from = 0; from < deliveries.length; from += rowsPerRequest) {
      const inputs = deliveries.slice(from, from + rowsPerRequest).map(inputOf);
      const ids = await this.#writes.run(operation, inputs);
      for (const id of ids) changed.push(id as DeliveryId);
    }
    return changed;
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
}
