import type {
  Delivery,
  DeliveryChange,
  DeliveryId,
  DeliveryLog,
  NewDelivery,
} from '../../../application/ports/delivery-log.js';
import type { Milliseconds, Uuid } from '../../../domain/ids.js';
import { numberFrom, rowFrom, rowsFrom, type Database, type Statement } from '../database.js';
import { nextTurn } from '../../../application/timing/next-turn.js';
import { DeliveryChanges } from '../../../application/webhooks/delivery-changes.js';
import type { StoredEndpoint } from '../../../application/webhooks/stored-endpoints.js';
import type { SqliteWriter } from '../writer/writer.js';
import type { ClaimBook } from './claim-book.js';
import { pageQuery } from './delivery-pages.js';
import {
  deadLettersQuery,
  deliveryOf,
  rowsPerStep,
  whichOf,
  type ChangedDelivery,
  type DeadLetter,
  type DeliveryRow,
  type RedriveInput,
} from './delivery-rows.js';

/** How many rows are looked at before others get the thread. */
const looksPerTurn = 200;
/** How many dead letters are counted before others get the thread. */
const rowsPerCount = 2_000;
/** Up to where rows are counted for the metrics. */
const maxCounted = 100_000;
/** How many deliveries cross to the writer's thread in one request. */
const rowsPerRequest = 500;

/** Tells watchers of changes in the delivery store. */
export const deliveryReports = (database: Database) => {
  const changes = new DeliveryChanges();
  const byId = database.prepare('select * from deliveries where id = ?');
  const publish = (kind: DeliveryChange['kind'], ids: Iterable<DeliveryId>): void => {
    if (!changes.hasWatchers) return;
    for (const id of ids) {
      const row = rowFrom<DeliveryRow>(byId, id);
      if (row !== undefined && changes.isWatched(row.org))
        changes.publish({ kind, delivery: deliveryOf(row) });
    }
  };
  const changed = (deliveries: readonly ChangedDelivery[]): void =>
    publish(
      'changed',
      deliveries.map(({ id }) => id),
    );
  return { changes, publish, changed };
};

/** Shared by the ports of the delivery store. */
export interface DeliveryStore {
  readonly writer: SqliteWriter;
  readonly database: Database;
  readonly book: ClaimBook;
  readonly reports: ReturnType<typeof deliveryReports>;
}

function* inRequests(deliveries: readonly NewDelivery[]): Generator<readonly NewDelivery[]> {
  for (let from = 0; from < deliveries.length; from += rowsPerRequest)
    yield deliveries.slice(from, from + rowsPerRequest);
}

const forgetEndpoints = `delete from delivery_targets where endpoint in (
    select endpoint from delivery_targets where state = 'closed' and changedAt between 1 and ?1
      and not exists (select 1 from deliveries where deliveries.endpoint = delivery_targets.endpoint and status = 'pending') limit ?2)`;
const forgetErased = 'delete from erased_cards where at <= ?';

export const sqliteDeliveryLog = ({ writer, database, book, reports }: DeliveryStore): DeliveryLog => {
  const byId = database.prepare('select * from deliveries where id = ?');
  const dead = database.prepare(
    "select * from deliveries indexed by dead_letters where status = 'exhausted' and seq < ? order by seq desc limit ?",
  );
  const deadOf = database.prepare(deadLettersQuery);
  // One lookup for each endpoint with pending rows, which may be millions.
  const countPending = database.prepare(`
    with recursive waiting (endpoint) as (
      select min(endpoint) from deliveries indexed by deliveries_waiting where status = 'pending'
      union all
      select (select min(endpoint) from deliveries indexed by deliveries_waiting
        where status = 'pending' and endpoint > waiting.endpoint) from waiting where endpoint is not null)
    select count(*) from (
      select 1 from waiting w cross join deliveries d indexed by deliveries_waiting
      where not exists (select 1 from delivery_targets where endpoint = w.endpoint and state in ('off', 'tripped'))
        and d.endpoint = w.endpoint and d.status = 'pending' limit ${maxCounted})`);
  const countDead = database.prepare(`
    select count(*) from (select 1 from deliveries indexed by dead_letters where status = 'exhausted' and seq > 0 limit ${maxCounted})`);
  const inactive = database.prepare(
    `select endpoint, state from delivery_targets where state in ('off', 'opening', 'closed')`,
  );
  const firstToExpire = database.prepare(
    `select expires from deliveries where endpoint = ? and status = 'pending' order by expires limit 1`,
  );
  /** By their SQL. */
  const pages = new Map<string, Statement>();

  const rowOf = (id: string) => rowFrom<DeliveryRow>(byId, id);

  async function* deadLettersOf(which: RedriveInput): AsyncGenerator<DeadLetter> {
    for (let { cursor } = which; ;) {
      const rows = rowsFrom<DeadLetter>(deadOf, ...whichOf({ ...which, cursor }, rowsPerCount));
      yield* rows;
      const last = rows.at(-1);
      if (last === undefined || rows.length < rowsPerCount) return;
      cursor = [last.occurredAt, last.seq];
      await nextTurn();
    }
  }

  /** Endpoints with pending rows that must not be sent any more. Looks at the first row of each. */
  async function* endpointsToDropFor(now: Milliseconds): AsyncGenerator<Uuid> {
    const rows = rowsFrom<Pick<StoredEndpoint, 'endpoint' | 'state'>>(inactive);
    for (const [index, { endpoint, state }] of rows.entries()) {
      if (index % looksPerTurn === looksPerTurn - 1) await nextTurn();
      const expires = numberFrom(firstToExpire, endpoint);
      if (state === 'opening' || (expires !== null && (state === 'closed' || expires <= now))) yield endpoint;
    }
  }

  return {
    insert: async (deliveries) => {
      const added: DeliveryId[] = [];
      for (const rows of inRequests(deliveries)) added.push(...(await writer.run('insertDeliveries', rows)));
      reports.publish('made', added);
      return added;
    },

    erase: async (card, now) =>
      reports.changed(await writer.run('eraseDeliveries', { card, now }, (erased) => book.revoke(erased))),

    dropExpired: async (now, of) => {
      let count = 0;
      for await (const endpoint of of === undefined ? endpointsToDropFor(now) : [of]) {
        for (let dropped = rowsPerStep; dropped === rowsPerStep;) {
          const done = await writer.run('dropSomeDeliveries', { endpoint, now }, (output) =>
            book.setEndpoint(output.endpoint),
          );
          dropped = done.dropped.length;
          count += dropped;
          reports.changed(done.dropped);
        }
      }
      return count;
    },

    removeEnded: async (before) => {
      let count = 0;
      for (let seq: number | null = 0; seq !== null;) {
        const step: { readonly removed: number; readonly last: number | null } = await writer.run(
          'removeEndedDeliveries',
          { seq, before },
        );
        count += step.removed;
        seq = step.last;
      }
      while ((await writer.write([forgetEndpoints, before, rowsPerStep])) === rowsPerStep);
      await writer.write([forgetErased, before]);
      return count;
    },

    continueRedrives: async () => {
      const endpoints = new Set<Uuid>();
      for (;;) {
        const revived = await writer.run('continueRedrive', undefined);
        if (revived === null) return endpoints;
        for (const { endpoint } of revived) endpoints.add(endpoint);
        reports.changed(revived);
      }
    },

    retry: async (org, id, now, expires) => {
      const result = await writer.run('retryDelivery', { org, id, now, expires });
      if (result === 'unknown' || result === 'refused') return result;
      reports.changed([result]);
      return { endpoint: result.endpoint };
    },

    redrive: async (org, { from, to, endpoint }, now, expires) => {
      const first =
        'position' in from
          ? { fromPosition: Number(from.position), fromTime: 0 }
          : { fromPosition: 0, fromTime: from.time };
      const last = {
        toPosition: to !== null && 'position' in to ? Number(to.position) : Number.MAX_SAFE_INTEGER,
        toTime: to !== null && 'time' in to ? to.time : Number.MAX_SAFE_INTEGER,
      };
      const input = { org, ...first, ...last, endpoint, now, expires, cursor: null };
      const { revived, cursor } = await writer.run('redriveDeliveries', input);
      reports.changed(revived);
      const counts = new Map<Uuid, number>();
      const add = (of: Uuid): void => void counts.set(of, (counts.get(of) ?? 0) + 1);
      for (const { endpoint: of } of revived) add(of);
      if (cursor !== null)
        for await (const { endpoint: of } of deadLettersOf({ ...input, cursor }))
          if (book.endpoint(of) !== null) add(of);
      return { counts, more: cursor !== null };
    },

    replay: async (deliveries) => {
      let count = 0;
      for (const rows of inRequests(deliveries)) {
        const { added, revived } = await writer.run('replayDeliveries', rows);
        reports.publish('made', added);
        reports.publish('changed', revived);
        count += added.length + revived.length;
      }
      return count;
    },

    page: async (org, filter, { startingAfter, limit }) => {
      const last = startingAfter === null ? undefined : rowOf(startingAfter);
      if (startingAfter !== null && last?.org !== org) return null;
      const { sql, parameters } = pageQuery(org, filter, last?.seq ?? Number.MAX_SAFE_INTEGER, limit);
      const statement = pages.get(sql) ?? database.prepare(sql);
      pages.set(sql, statement);
      return rowsFrom<DeliveryRow>(statement, ...parameters).map(deliveryOf);
    },

    deadLetters: async ({ startingAfter, limit }) => {
      const last = startingAfter === null ? undefined : rowOf(startingAfter);
      if (startingAfter !== null && last === undefined) return null;
      return rowsFrom<DeliveryRow>(dead, last?.seq ?? Number.MAX_SAFE_INTEGER, limit).map(deliveryOf);
    },

    get: async (org, id): Promise<Delivery | null> => {
      const row = rowOf(id);
      return row?.org === org ? deliveryOf(row) : null;
    },

    depth: async (now) => ({
      pending: numberFrom(countPending) ?? 0,
      deadLetters: numberFrom(countDead) ?? 0,
      oldestDue: await book.oldestDue(now),
      disabledEndpoints: book.disabled(),
    }),

    watch: (org, signal) => reports.changes.watch(org, signal),
  };
};
