import { expiredReason, type AttemptOutcome } from '../../../application/ports/deliveries.js';
import type { Database } from '../database.js';

/** A delivery as it crosses to the writer's thread. Positions are exact as numbers. */
export interface DeliveryInput {
  readonly id: string;
  readonly org: string;
  readonly endpoint: string;
  readonly event: string;
  readonly type: string;
  readonly card: string;
  readonly position: number;
  readonly occurredAt: number;
  readonly body: string;
  readonly due: number;
  readonly allowed: number;
  readonly expires: number;
  readonly dropReason: string | null;
}

/**
 * `off`: disabled. `tripped`: failed so often that somebody has to disable it. `closed`: deleted, for ever.
 */
export type LaneState = 'open' | 'off' | 'tripped' | 'closed';

/** An endpoint as it is stored. */
export interface LaneRow {
  readonly endpoint: string;
  readonly org: string;
  readonly url: string;
  /** JSON. */
  readonly secrets: string;
  readonly state: LaneState;
  readonly closed_because: string | null;
  readonly version: number;
  readonly enabled_at: number;
  readonly failures: number;
  readonly consecutive: number;
  readonly last_success: number | null;
  readonly last_failure: string | null;
}

export interface TargetInput {
  readonly endpoint: string;
  readonly org: string;
  readonly url: string;
  readonly secrets: string;
  readonly active: boolean;
  readonly version: number;
  readonly enabledAt: number;
  readonly now: number;
}

export interface AttemptInput {
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

export interface RedriveInput {
  readonly org: string;
  readonly fromPosition: number;
  readonly toPosition: number;
  readonly fromTime: number;
  readonly toTime: number;
  readonly endpoint: string | null;
  readonly now: number;
  readonly expires: number;
}

interface Changed {
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

/** Writes of the delivery store. They share transactions with the appends to the log. */
export const deliveryOperations = (database: Database) => {
  database.exec(schema);
  const insert = database.prepare(`
    insert into deliveries (id, org, endpoint, event, type, card, position, occurred_at, body, status, allowed, due, expires, drop_reason)
    values (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?) on conflict (id) do nothing`);
  const lane = database.prepare('select * from delivery_targets where endpoint = ?');
  const makeLane = database.prepare(`
    insert into delivery_targets (endpoint, org, url, secrets, state, closed_because, version, enabled_at) values (?, ?, ?, ?, ?, ?, ?, ?)`);
  const changeLane = database.prepare(`
    update delivery_targets set url = ?, secrets = ?, state = ?, version = ?, consecutive = iif(enabled_at = ?, consecutive, 0), enabled_at = ? where endpoint = ?`);
  const closeLane = database.prepare(
    `update delivery_targets set state = 'closed', closed_because = ? where endpoint = ?`,
  );
  const forgiveLane = database.prepare('update delivery_targets set consecutive = 0 where endpoint = ?');
  const dropPending = database.prepare(`
    update deliveries set status = 'dropped', due = null, drop_reason = ? where endpoint = ? and status = 'pending' and expires <= ? returning id, endpoint`);
  const dropExpired = database.prepare(`
    update deliveries set status = 'dropped', due = null, drop_reason = ?
    where status = 'pending' and expires <= ? and endpoint in (select endpoint from delivery_targets where state = 'off') returning id, endpoint`);
  const deliver = database.prepare(`
    update deliveries set attempts = json_insert(attempts, '$[#]', json(?)), made = made + 1, status = 'delivered', due = null, drop_reason = null
    where id = ? and made = ?`);
  const fail = database.prepare(`
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

  const laneOf = (endpoint: string): LaneRow | undefined => {
    const row: LaneRow | undefined = lane.get(endpoint);
    return row;
  };
  const changedBy = (rows: readonly Changed[]): readonly Changed[] => rows;

  const insertOne = (row: DeliveryInput): boolean => {
    const known = laneOf(row.endpoint);
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
      /** Answers the ids of those that were not there. */
      insertDeliveries: (rows: readonly DeliveryInput[]): readonly string[] =>
        rows.filter(insertOne).map(({ id }) => id),

      /**
       * Answers the target as it is now, and the deliveries that were dropped because their window was over.
       */
      putTarget: (
        input: TargetInput,
      ): { readonly lane: LaneRow | null; readonly dropped: readonly Changed[] } => {
        const { endpoint, org, url, secrets, active, version, enabledAt, now } = input;
        const known = laneOf(endpoint);
        const wanted: LaneState = active ? 'open' : 'off';
        if (known === undefined) makeLane.run(endpoint, org, url, secrets, wanted, null, version, enabledAt);
        else if (known.state === 'closed' || version <= known.version) return { lane: known, dropped: [] };
        const stays = known?.state === 'tripped' && active && known.enabled_at === enabledAt;
        if (known !== undefined)
          changeLane.run(url, secrets, stays ? 'tripped' : wanted, version, enabledAt, enabledAt, endpoint);
        const opens = known !== undefined && active && !stays && known.state !== 'open';
        return {
          lane: laneOf(endpoint) ?? null,
          dropped: opens ? changedBy(dropPending.all(expiredReason, endpoint, now)) : [],
        };
      },

      forgive: (endpoint: string): void => {
        forgiveLane.run(endpoint);
      },

      closeTarget: (input: {
        readonly org: string;
        readonly endpoint: string;
        readonly reason: string;
      }): readonly Changed[] => {
        const { org, endpoint, reason } = input;
        const known = laneOf(endpoint);
        if (known === undefined) makeLane.run(endpoint, org, '', '[]', 'closed', reason, 0, 0);
        else if (known.org !== org || known.state === 'closed') return [];
        else closeLane.run(reason, endpoint);
        return changedBy(dropPending.all(reason, endpoint, Number.MAX_SAFE_INTEGER));
      },

      /** Answers the target as it is now; null where the attempt was recorded before. */
      recordAttempt: (input: AttemptInput): LaneRow | null => {
        const { delivery, endpoint, number, attempt, at, failure, outcome, enabledAt, disableAfter } = input;
        if (outcome.status === 'delivered') {
          if (deliver.run(attempt, delivery, number - 1).changes === 0) return null;
          const counted: LaneRow | undefined = countSuccess.get(at, enabledAt, endpoint);
          return counted ?? null;
        }
        const due = outcome.status === 'pending' ? outcome.due : null;
        if (fail.run(attempt, due, outcome.status, delivery, number - 1).changes === 0) return null;
        const counted: LaneRow | undefined = countFailure.get(enabledAt, failure, disableAfter, endpoint);
        return counted ?? null;
      },

      expireDeliveries: (now: number): readonly Changed[] => changedBy(dropExpired.all(expiredReason, now)),

      retryDelivery: (input: {
        readonly org: string;
        readonly id: string;
        readonly now: number;
        readonly expires: number;
      }): Changed | 'unknown' | 'refused' => {
        const { org, id, now, expires } = input;
        const row: { readonly status: string; readonly endpoint: string; readonly org: string } | undefined =
          statusOf.get(id);
        if (row === undefined || row.org !== org) return 'unknown';
        if (row.status === 'delivered' || laneOf(row.endpoint)?.state === 'closed') return 'refused';
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
      }: RedriveInput): readonly Changed[] =>
        changedBy(redrive.all(now, expires, org, fromPosition, toPosition, fromTime, toTime, endpoint)),

      /** Answers those that were added or revived. */
      replayDeliveries: (rows: readonly DeliveryInput[]): readonly string[] =>
        rows
          .filter((row) => {
            if (laneOf(row.endpoint)?.state === 'closed') return false;
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
  };
};
