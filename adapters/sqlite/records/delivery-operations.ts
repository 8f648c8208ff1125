import { expiredReason } from '../../../application/ports/delivery-log.js';
import type { AttemptOutcome } from '../../../application/ports/delivery-claims.js';
import type { Database } from '../database.js';
import type { OperationSet } from '../writer/operation-set.js';
import type { DeliveryInput, EndpointRow, EndpointState } from './delivery-rows.js';

/** An endpoint as it crosses to the writer's thread. */
interface EndpointInput {
  readonly endpoint: string;
  readonly org: string;
  readonly url: string;
  readonly secrets: string;
  readonly active: boolean;
  readonly version: number;
  readonly enabledAt: number;
  readonly now: number;
}

interface AttemptInput {
  readonly delivery: string;
  readonly endpoint: string;
  readonly number: number;
  /** JSON. */
  readonly attempt: string;
  readonly at: number;
  readonly failure: string;
  readonly outcome: AttemptOutcome;
  readonly enabledAt: number;
  readonly disableAfter: number;
}

interface RedriveInput {
  readonly org: string;
  readonly fromPosition: number;
  readonly toPosition: number;
  readonly fromTime: number;
  readonly toTime: number;
  readonly endpoint: string | null;
  readonly now: number;
  readonly expires: number;
}

/** A delivery that an operation has changed. */
interface ChangedDelivery {
  readonly id: string;
  readonly endpoint: string;
}

const schema = `
  create table if not exists deliveries (
    seq integer primary key,
    id text not null unique,
    org text not null,
    endpoint text not null,
    event text not null,
    type text not null,
    card text not null,
    position integer not null,
    occurred_at integer not null,
    body text not null,
    status text not null,
    attempts text not null default '[]',
    made integer not null default 0,
    allowed integer not null,
    due integer,
    expires integer not null,
    drop_reason text
  ) strict;
  create index if not exists deliveries_of_organizations on deliveries (org, seq);
  create index if not exists deliveries_waiting on deliveries (endpoint, due) where status = 'pending';
  create index if not exists deliveries_dead on deliveries (org, occurred_at) where status = 'exhausted';
  create table if not exists delivery_targets (
    endpoint text primary key,
    org text not null,
    url text not null,
    secrets text not null,
    state text not null,
    closed_because text,
    version integer not null,
    enabled_at integer not null,
    failures integer not null default 0,
    consecutive integer not null default 0,
    last_success integer,
    last_failure text
  ) strict, without rowid;
  create table if not exists relayed_endpoints (org text primary key, position integer not null, endpoints text not null) strict, without rowid;
`;

/** The writes of SqliteDeliveries. They share transactions with the appends to the log. */
export const deliveryOperations = (database: Database) => {
  database.exec(schema);
  const insert = database.prepare(`
    insert into deliveries (id, org, endpoint, event, type, card, position, occurred_at, body, status, allowed, due, expires, drop_reason)
    values (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?) on conflict (id) do nothing`);
  const endpointById = database.prepare('select * from delivery_targets where endpoint = ?');
  const insertEndpoint = database.prepare(`
    insert into delivery_targets (endpoint, org, url, secrets, state, closed_because, version, enabled_at) values (?, ?, ?, ?, ?, ?, ?, ?)`);
  const updateEndpoint = database.prepare(`
    update delivery_targets set url = ?, secrets = ?, state = ?, version = ?, consecutive = iif(enabled_at = ?, consecutive, 0), enabled_at = ? where endpoint = ?`);
  const closeEndpoint = database.prepare(
    `update delivery_targets set state = 'closed', closed_because = ? where endpoint = ?`,
  );
  const resetConsecutive = database.prepare('update delivery_targets set consecutive = 0 where endpoint = ?');
  const dropPending = database.prepare(`
    update deliveries set status = 'dropped', due = null, drop_reason = ? where endpoint = ? and status = 'pending' and expires <= ? returning id, endpoint`);
  const dropExpired = database.prepare(`
    update deliveries set status = 'dropped', due = null, drop_reason = ?
    where status = 'pending' and expires <= ? and endpoint in (select endpoint from delivery_targets where state = 'off') returning id, endpoint`);
  const recordSuccess = database.prepare(`
    update deliveries set attempts = json_insert(attempts, '$[#]', json(?)), made = made + 1, status = 'delivered', due = null, drop_reason = null
    where id = ? and made = ?`);
  const recordFailure = database.prepare(`
    update deliveries set attempts = json_insert(attempts, '$[#]', json(?)), made = made + 1,
      due = iif(status = 'pending', ?, due), status = iif(status = 'pending', ?, status)
    where id = ? and made = ?`);
  const countSuccess = database.prepare(`
    update delivery_targets set last_success = ?, consecutive = iif(enabled_at = ?, 0, consecutive) where endpoint = ? returning *`);
  const countFailure = database.prepare(`
    update delivery_targets set failures = failures + 1,
      consecutive = consecutive + (enabled_at = ?1), last_failure = iif(enabled_at = ?1, ?2, last_failure),
      state = iif(state = 'open' and enabled_at = ?1 and consecutive + 1 >= ?3, 'tripped', state)
    where endpoint = ?4 returning *`);
  const statusOf = database.prepare('select status, made, endpoint, org from deliveries where id = ?');
  const dueNow = database.prepare(
    'update deliveries set due = ?1, expires = iif(expires <= ?1, ?2, expires) where id = ?3',
  );
  const revive = database.prepare(`
    update deliveries set status = 'pending', due = ?, expires = ?, allowed = max(?, made + 1), drop_reason = null where id = ?`);
  const redrive = database.prepare(`
    update deliveries set status = 'pending', due = ?1, expires = ?2, allowed = made + 1, drop_reason = null
    where org = ?3 and status = 'exhausted' and position between ?4 and ?5 and occurred_at between ?6 and ?7 and (?8 is null or endpoint = ?8)
      and endpoint not in (select endpoint from delivery_targets where state = 'closed')
    returning id, endpoint`);
  const remember = database.prepare(`
    insert into relayed_endpoints (org, position, endpoints) values (?, ?, ?)
    on conflict (org) do update set position = excluded.position, endpoints = excluded.endpoints where position < excluded.position`);

  const endpointRow = (endpoint: string): EndpointRow | undefined => {
    const row: EndpointRow | undefined = endpointById.get(endpoint);
    return row;
  };
  const changedBy = (rows: readonly ChangedDelivery[]): readonly ChangedDelivery[] => rows;

  const insertOne = (row: DeliveryInput): boolean => {
    const known = endpointRow(row.endpoint);
    const dropReason = row.dropReason ?? (known?.state === 'closed' ? known.closed_because : null);
    const dropped = dropReason !== null;
    const { id, org, endpoint, event, type, card, position, occurredAt, body, due, allowed, expires } = row;
    const status = dropped ? 'dropped' : 'pending';
    return (
      insert.run(
        id,
        org,
        endpoint,
        event,
        type,
        card,
        position,
        occurredAt,
        body,
        status,
        allowed,
        dropped ? null : due,
        expires,
        dropReason,
      ).changes > 0
    );
  };

  return {
    operations: {
      /** Returns the ids of those that did not exist. */
      insertDeliveries: (rows: readonly DeliveryInput[]): readonly string[] =>
        rows.filter(insertOne).map(({ id }) => id),

      /**
       * Returns the endpoint as it is now, and the deliveries that were dropped because their window was
       * over.
       */
      upsertEndpoint: (
        input: EndpointInput,
      ): { readonly endpoint: EndpointRow | null; readonly dropped: readonly ChangedDelivery[] } => {
        const { endpoint, org, url, secrets, active, version, enabledAt, now } = input;
        const known = endpointRow(endpoint);
        const wanted: EndpointState = active ? 'open' : 'off';
        if (known === undefined) {
          insertEndpoint.run(endpoint, org, url, secrets, wanted, null, version, enabledAt);
          return { endpoint: endpointRow(endpoint) ?? null, dropped: [] };
        }
        if (known.state === 'closed' || version <= known.version) return { endpoint: known, dropped: [] };
        const staysTripped = known.state === 'tripped' && active && known.enabled_at === enabledAt;
        const state = staysTripped ? 'tripped' : wanted;
        updateEndpoint.run(url, secrets, state, version, enabledAt, enabledAt, endpoint);
        const opens = state === 'open' && known.state !== 'open';
        return {
          endpoint: endpointRow(endpoint) ?? null,
          dropped: opens ? changedBy(dropPending.all(expiredReason, endpoint, now)) : [],
        };
      },

      resetFailures: (endpoint: string): void => {
        resetConsecutive.run(endpoint);
      },

      deleteEndpoint: (input: {
        readonly org: string;
        readonly endpoint: string;
        readonly reason: string;
      }): readonly ChangedDelivery[] => {
        const { org, endpoint, reason } = input;
        const known = endpointRow(endpoint);
        if (known === undefined) insertEndpoint.run(endpoint, org, '', '[]', 'closed', reason, 0, 0);
        else if (known.org !== org || known.state === 'closed') return [];
        else closeEndpoint.run(reason, endpoint);
        return changedBy(dropPending.all(reason, endpoint, Number.MAX_SAFE_INTEGER));
      },

      /** Returns the endpoint as it is now, or null if the attempt was recorded before. */
      recordAttempt: (input: AttemptInput): EndpointRow | null => {
        const { delivery, endpoint, number, attempt, at, failure, outcome, enabledAt, disableAfter } = input;
        if (outcome.status === 'delivered') {
          if (recordSuccess.run(attempt, delivery, number - 1).changes === 0) return null;
          const counted: EndpointRow | undefined = countSuccess.get(at, enabledAt, endpoint);
          return counted ?? null;
        }
        const due = outcome.status === 'pending' ? outcome.due : null;
        if (recordFailure.run(attempt, due, outcome.status, delivery, number - 1).changes === 0) return null;
        const counted: EndpointRow | undefined = countFailure.get(enabledAt, failure, disableAfter, endpoint);
        return counted ?? null;
      },

      dropExpiredDeliveries: (now: number): readonly ChangedDelivery[] =>
        changedBy(dropExpired.all(expiredReason, now)),

      retryDelivery: (input: {
        readonly org: string;
        readonly id: string;
        readonly now: number;
        readonly expires: number;
      }): ChangedDelivery | 'unknown' | 'refused' => {
        const { org, id, now, expires } = input;
        const row: { readonly status: string; readonly endpoint: string; readonly org: string } | undefined =
          statusOf.get(id);
        if (row === undefined || row.org !== org) return 'unknown';
        if (row.status === 'delivered' || endpointRow(row.endpoint)?.state === 'closed') return 'refused';
        if (row.status === 'pending') dueNow.run(now, expires, id);
        else revive.run(now, expires, 0, id);
        return { id, endpoint: row.endpoint };
      },

      redriveDeliveries: ({
        now,
        expires,
        org,
        fromPosition,
        toPosition,
        fromTime,
        toTime,
        endpoint,
      }: RedriveInput): readonly ChangedDelivery[] =>
        changedBy(redrive.all(now, expires, org, fromPosition, toPosition, fromTime, toTime, endpoint)),

      /** Returns the ids of those that were added or revived. */
      replayDeliveries: (rows: readonly DeliveryInput[]): readonly string[] =>
        rows
          .filter((row) => {
            if (endpointRow(row.endpoint)?.state === 'closed') return false;
            const known: { readonly status: string } | undefined = statusOf.get(row.id);
            if (known === undefined) return insertOne(row);
            if (known.status !== 'exhausted' && known.status !== 'dropped') return false;
            revive.run(row.due, row.expires, row.allowed, row.id);
            return true;
          })
          .map(({ id }) => id),

      rememberEndpoints: (input: {
        readonly org: string;
        readonly position: number;
        readonly endpoints: string;
      }): void => {
        remember.run(input.org, input.position, input.endpoints);
      },
    },
  } satisfies OperationSet;
};
