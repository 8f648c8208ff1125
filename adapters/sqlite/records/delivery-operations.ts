import { attemptsKept, erasedReason, expiredReason } from '../../../application/ports/delivery-log.js';
import { erasedPayload } from '../../../domain/delivery-payload.js';
import type { AttemptOutcome } from '../../../application/ports/delivery-claims.js';
import type { DeliveryEndpoint } from '../../../application/ports/endpoint-gates.js';
import type { Milliseconds } from '../../../domain/ids.js';
import type { Database } from '../database.js';
import type { OperationSet } from '../writer/operation-set.js';
import {
  deadLettersQuery,
  rowsPerStep,
  whichOf,
  type DeadLetter,
  type DeliveryInput,
  type EndpointRow,
  type EndpointState,
  type RedriveInput,
} from './delivery-rows.js';

/** An endpoint as it crosses to the writer's thread. */
type EndpointInput = Omit<DeliveryEndpoint, 'secrets'> & {
  readonly secrets: string;
  readonly now: Milliseconds;
};

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

interface OldRow {
  readonly seq: number;
  readonly status: string;
  readonly occurred_at: number;
  readonly ended_at: number | null;
}

/** A delivery that an operation has changed. */
interface ChangedDelivery {
  readonly id: string;
  readonly endpoint: string;
}

/** For the metrics. */
const countedStatuses = "('pending', 'exhausted')";

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
    drop_reason text,
    ended_at integer,
    traceparent text
  ) strict;
  create index if not exists deliveries_of_organizations on deliveries (org, seq);
  create index if not exists deliveries_by_kind on deliveries (org, status, type, seq);
  create index if not exists deliveries_of_endpoints on deliveries (endpoint, status, type, seq);
  create index if not exists deliveries_of_cards on deliveries (card, seq);
  create index if not exists deliveries_expiring on deliveries (endpoint, expires) where status = 'pending';
  create index if not exists deliveries_waiting on deliveries (endpoint, due) where status = 'pending';
  create index if not exists deliveries_dead on deliveries (org, occurred_at, seq, endpoint, position, ended_at) where status = 'exhausted';
  create index if not exists dead_letters on deliveries (seq) where status = 'exhausted';
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
    last_failure text,
    changed_at integer not null default 0
  ) strict, without rowid;
  create index if not exists delivery_targets_by_state on delivery_targets (state);
  create table if not exists delivery_counts (
    endpoint text not null,
    status text not null,
    count integer not null,
    primary key (endpoint, status)
  ) strict, without rowid;
  create trigger if not exists deliveries_inserted after insert on deliveries when new.status in ${countedStatuses} begin
    insert into delivery_counts values (new.endpoint, new.status, 1) on conflict do update set count = count + 1;
  end;
  create trigger if not exists deliveries_changed after update of status on deliveries when old.status <> new.status begin
    update delivery_counts set count = count - 1 where endpoint = old.endpoint and status = old.status;
    insert into delivery_counts select new.endpoint, new.status, 1 where new.status in ${countedStatuses}
      on conflict do update set count = count + 1;
  end;
  create trigger if not exists deliveries_removed after delete on deliveries begin
    update delivery_counts set count = count - 1 where endpoint = old.endpoint and status = old.status;
  end;
  create table if not exists erased_cards (card text primary key, at integer not null) strict, without rowid;
  create table if not exists redrives (id integer primary key, input text not null) strict;
  create table if not exists relayed_endpoints (org text primary key, position integer not null, endpoints text not null) strict, without rowid;
`;

/** The last attempts with one more; of an erased card without the receiver's response. */
const withAttempt = `json_insert(iif(made < ${attemptsKept}, attempts, json_remove(attempts, '$[0]')), '$[#]', json(
  iif(exists (select 1 from erased_cards where erased_cards.card = deliveries.card), json_set(?1, '$.body', null), ?1)))`;

const withoutBodies = (attempts: string): string =>
  JSON.stringify((JSON.parse(attempts) as readonly object[]).map((attempt) => ({ ...attempt, body: null })));

/** The writes of SqliteDeliveries. They share transactions with the appends to the log. */
export const deliveryOperations = (database: Database) => {
  database.exec(schema);
  const rowsOfCard = database.prepare(
    'select seq, id, endpoint, body, attempts from deliveries where card = ?',
  );
  const rememberErased = database.prepare('insert or ignore into erased_cards values (?, ?)');
  const erasedCard = database.prepare('select 1 from erased_cards where card = ?');
  const forgetErased = database.prepare('delete from erased_cards where at <= ?');
  const eraseRow = database.prepare('update deliveries set body = ?, attempts = ? where seq = ?');
  const dropOfCard = database.prepare(
    "update deliveries set status = 'dropped', due = null, drop_reason = ?, ended_at = ? where card = ? and status = 'pending'",
  );
  const insert = database.prepare(`
    insert into deliveries (id, org, endpoint, event, type, card, position, occurred_at, body, status, allowed, due, expires, drop_reason, ended_at, traceparent)
    values (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?) on conflict (id) do nothing`);
  const endpointById = database.prepare('select * from delivery_targets where endpoint = ?');
  const insertEndpoint = database.prepare(`
    insert into delivery_targets (endpoint, org, url, secrets, state, closed_because, version, enabled_at, changed_at) values (?, ?, ?, ?, ?, ?, ?, ?, ?)`);
  const updateEndpoint = database.prepare(`
    update delivery_targets set url = ?, secrets = ?, state = ?, changed_at = ?, version = ?, consecutive = iif(enabled_at = ?, consecutive, 0), enabled_at = ? where endpoint = ?`);
  const closeEndpoint = database.prepare(
    `update delivery_targets set state = 'closed', closed_because = ?, changed_at = ? where endpoint = ?`,
  );
  const openEndpoint = database.prepare(
    `update delivery_targets set state = 'open' where endpoint = ? and state = 'opening' returning *`,
  );
  const forgetEndpoint = database.prepare(`
    delete from delivery_targets where endpoint in (
      select endpoint from delivery_targets where state = 'closed' and changed_at between 1 and ?1
        and not exists (select 1 from deliveries where deliveries.endpoint = delivery_targets.endpoint and status = 'pending') limit ?2)`);
  const forgetCounts = database.prepare(
    'delete from delivery_counts where count = 0 and endpoint not in (select endpoint from delivery_targets)',
  );
  const resetConsecutive = database.prepare('update delivery_targets set consecutive = 0 where endpoint = ?');
  const dropPending = database.prepare(`
    update deliveries set status = 'dropped', due = null, drop_reason = ?, ended_at = ? where seq in (
      select seq from deliveries indexed by deliveries_expiring where endpoint = ? and status = 'pending' and expires <= ? order by expires limit ?)
    returning id, endpoint`);
  const recordSuccess = database.prepare(`
    update deliveries set attempts = ${withAttempt}, made = made + 1, status = 'delivered', due = null, drop_reason = null, ended_at = ?
    where id = ? and made = ?`);
  const recordFailure = database.prepare(`
    update deliveries set attempts = ${withAttempt}, made = made + 1,
      due = iif(status = 'pending', ?, due), ended_at = iif(status = 'pending', ?, ended_at), status = iif(status = 'pending', ?, status)
    where id = ? and made = ?`);
  const countSuccess = database.prepare(`
    update delivery_targets set last_success = max(?1, ifnull(last_success, ?1)), consecutive = iif(enabled_at = ?2, 0, consecutive) where endpoint = ?3 returning *`);
  const countFailure = database.prepare(`
    update delivery_targets set failures = failures + 1,
      consecutive = consecutive + (enabled_at = ?1), last_failure = iif(enabled_at = ?1, ?2, last_failure),
      state = iif(state = 'open' and enabled_at = ?1 and consecutive + 1 >= ?3, 'tripped', state)
    where endpoint = ?4 returning *`);
  const statusOf = database.prepare('select status, made, endpoint, org from deliveries where id = ?');
  const dueNow = database.prepare(
    'update deliveries set due = ?1, expires = iif(expires <= ?1, ?2, expires) where id = ?3',
  );
  const hasten = database.prepare(`
    update deliveries set due = ? where seq in (
      select seq from delivery_targets t cross join deliveries d indexed by deliveries_waiting
      where d.endpoint = t.endpoint and d.status = 'pending' and d.due > ? limit ?)`);
  const revive = database.prepare(`
    update deliveries set status = 'pending', due = ?, expires = ?, allowed = max(?, made + 1), drop_reason = null, ended_at = null where id = ?`);
  const redrive = database.prepare(`
    update deliveries set status = 'pending', due = ?, expires = ?, allowed = made + 1, drop_reason = null, ended_at = null
    where seq = ? and status = 'exhausted' returning id, endpoint`);
  const deadLetters = database.prepare(deadLettersQuery);
  const saveRedrive = database.prepare('insert or replace into redrives (id, input) values (?, ?)');
  const firstRedrive = database.prepare('select id, input from redrives order by id limit 1');
  const removeRedrive = database.prepare('delete from redrives where id = ?');
  const oldRows = database.prepare(
    'select seq, status, occurred_at, ended_at from deliveries where seq > ? order by seq limit ?',
  );
  const removeRow = database.prepare('delete from deliveries where seq = ?');
  const remember = database.prepare(`
    insert into relayed_endpoints (org, position, endpoints) values (?, ?, ?)
    on conflict (org) do update set position = excluded.position, endpoints = excluded.endpoints where position < excluded.position`);

  const endpointRow = (endpoint: string): EndpointRow | undefined => {
    const row: EndpointRow | undefined = endpointById.get(endpoint);
    return row;
  };
  /**
   * Drops the first pending rows of a deleted endpoint; of a disabled one, the rows whose window has ended;
   * of one that opens, the rows whose window had ended then.
   */
  const dropSome = (endpoint: string, now: number): readonly ChangedDelivery[] => {
    const known = endpointRow(endpoint);
    const until =
      known?.state === 'closed'
        ? Number.MAX_SAFE_INTEGER
        : known?.state === 'off'
          ? now
          : known?.state === 'opening'
            ? known.changed_at
            : null;
    if (until === null) return [];
    const reason = known?.state === 'closed' ? (known.closed_because ?? expiredReason) : expiredReason;
    const dropped: readonly ChangedDelivery[] = dropPending.all(reason, now, endpoint, until, rowsPerStep);
    return dropped;
  };

  /** `cursor`: where to go on; null at the end. Nothing that became a dead letter since is made due again. */
  const redriveSome = (
    input: RedriveInput,
  ): { readonly revived: readonly ChangedDelivery[]; readonly cursor: RedriveInput['cursor'] } => {
    const rows: readonly DeadLetter[] = deadLetters.all(...whichOf(input, rowsPerStep));
    const revived = rows
      .filter((row) => !isDeleted(row.endpoint))
      .flatMap((row) => {
        const changed: readonly ChangedDelivery[] = redrive.all(input.now, input.expires, row.seq);
        return changed;
      });
    const last = rows.length < rowsPerStep ? undefined : rows.at(-1);
    return { revived, cursor: last === undefined ? null : [last.occurred_at, last.seq] };
  };

  /** A deleted endpoint is forgotten in the end; its deliveries may be there a little longer. */
  const isDeleted = (endpoint: string): boolean =>
    [undefined, 'closed'].includes(endpointRow(endpoint)?.state);

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
        erasedCard.get(card) === undefined ? body : erasedPayload(body),
        status,
        allowed,
        dropped ? null : due,
        expires,
        dropReason,
        dropped ? occurredAt : null,
        row.traceparent ?? null,
      ).changes > 0
    );
  };

  return {
    operations: {
      /** Returns the deliveries that it changed. */
      eraseDeliveries: ({
        card,
        now,
      }: {
        readonly card: string;
        readonly now: number;
      }): readonly ChangedDelivery[] => {
        rememberErased.run(card, now);
        const rows: readonly (ChangedDelivery & {
          readonly seq: number;
          readonly body: string;
          readonly attempts: string;
        })[] = rowsOfCard.all(card);
        for (const { seq, body, attempts } of rows)
          eraseRow.run(erasedPayload(body), withoutBodies(attempts), seq);
        dropOfCard.run(erasedReason, now, card);
        return rows.map(({ id, endpoint }) => ({ id, endpoint }));
      },

      /** Returns the ids that did not exist. */
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
          insertEndpoint.run(endpoint, org, url, secrets, wanted, null, version, enabledAt, now);
          return { endpoint: endpointRow(endpoint) ?? null, dropped: [] };
        }
        if (known.state === 'closed' || version <= known.version) return { endpoint: known, dropped: [] };
        const staysTripped = known.state === 'tripped' && active && known.enabled_at === enabledAt;
        const opens = active && known.state !== 'open' && !staysTripped;
        const state: EndpointState = staysTripped ? 'tripped' : opens ? 'opening' : wanted;
        updateEndpoint.run(url, secrets, state, now, version, enabledAt, enabledAt, endpoint);
        const dropped = opens ? dropSome(endpoint, now) : [];
        if (dropped.length < rowsPerStep) openEndpoint.run(endpoint);
        return { dropped, endpoint: endpointRow(endpoint) ?? null };
      },

      resetFailures: (endpoint: string): void => {
        resetConsecutive.run(endpoint);
      },

      deleteEndpoint: (input: {
        readonly org: string;
        readonly endpoint: string;
        readonly reason: string;
        readonly now: number;
      }): readonly ChangedDelivery[] => {
        const { org, endpoint, reason, now } = input;
        const known = endpointRow(endpoint);
        if (known === undefined) insertEndpoint.run(endpoint, org, '', '[]', 'closed', reason, 0, 0, now);
        else if (known.org !== org || known.state === 'closed') return [];
        else closeEndpoint.run(reason, now, endpoint);
        return dropSome(endpoint, now);
      },

      /**
       * Drops some of the pending rows of an endpoint that must not be sent any more. `endpoint`: as it is
       * now, if it has become open.
       */
      dropSomeDeliveries: (input: {
        readonly endpoint: string;
        readonly now: number;
      }): { readonly endpoint: EndpointRow | null; readonly dropped: readonly ChangedDelivery[] } => {
        const dropped = dropSome(input.endpoint, input.now);
        const opened: EndpointRow | undefined =
          dropped.length < rowsPerStep ? openEndpoint.get(input.endpoint) : undefined;
        return { endpoint: opened ?? null, dropped };
      },

      /**
       * Removes ended deliveries after `seq`; returns the last one that was looked at, or null at the end.
       */
      removeEndedDeliveries: ({
        seq,
        before,
      }: {
        readonly seq: number;
        readonly before: number;
      }): { readonly removed: number; readonly last: number | null } => {
        const rows: readonly OldRow[] = oldRows.all(seq, rowsPerStep);
        const ended = rows.filter(
          ({ status, ended_at, occurred_at }) => status !== 'pending' && (ended_at ?? occurred_at) <= before,
        );
        for (const row of ended) removeRow.run(row.seq);
        const last = rows.at(-1);
        // Rows are in the order in which they were made: later ones are younger.
        const isLast = last === undefined || rows.length < rowsPerStep || last.occurred_at > before;
        return { removed: ended.length, last: isLast ? null : last.seq };
      },

      /** Forgets endpoints that were deleted before a time and have nothing pending. Returns how many. */
      forgetEndpoints: (before: number): number => {
        const { changes } = forgetEndpoint.run(before, rowsPerStep);
        forgetCounts.run();
        forgetErased.run(before);
        return Number(changes);
      },

      /** Returns the endpoint as it is now, or null if the attempt was recorded before. */
      recordAttempt: (input: AttemptInput): EndpointRow | null => {
        const { delivery, endpoint, number, attempt, at, failure, outcome, enabledAt, disableAfter } = input;
        if (outcome.status === 'delivered') {
          if (recordSuccess.run(attempt, at, delivery, number - 1).changes === 0) return null;
          const counted: EndpointRow | undefined = countSuccess.get(at, enabledAt, endpoint);
          return counted ?? null;
        }
        const due = outcome.status === 'pending' ? outcome.due : null;
        if (
          recordFailure.run(attempt, due, due === null ? at : null, outcome.status, delivery, number - 1)
            .changes === 0
        )
          return null;
        const counted: EndpointRow | undefined = countFailure.get(enabledAt, failure, disableAfter, endpoint);
        return counted ?? null;
      },

      /** Makes some due; returns whether there may be more. */
      hastenDeliveries: ({ now, latest }: { readonly now: number; readonly latest: number }): boolean =>
        hasten.run(now, latest, rowsPerStep).changes === rowsPerStep,

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
        if (row.status === 'delivered' || isDeleted(row.endpoint)) return 'refused';
        if (row.status === 'pending') dueNow.run(now, expires, id);
        else revive.run(now, expires, 0, id);
        return { id, endpoint: row.endpoint };
      },

      /** Makes some dead letters due; those after `cursor` with `continueRedrive`, unless it is null. */
      redriveDeliveries: (
        input: RedriveInput,
      ): { readonly revived: readonly ChangedDelivery[]; readonly cursor: RedriveInput['cursor'] } => {
        const { revived, cursor } = redriveSome(input);
        if (cursor !== null) saveRedrive.run(null, JSON.stringify({ ...input, cursor }));
        return { revived, cursor };
      },

      /** Goes on with the oldest redrive that is not finished; null if there is none. */
      continueRedrive: (): readonly ChangedDelivery[] | null => {
        const first: { readonly id: number; readonly input: string } | undefined = firstRedrive.get();
        if (first === undefined) return null;
        const input = JSON.parse(first.input) as RedriveInput;
        const { revived, cursor } = redriveSome(input);
        if (cursor === null) removeRedrive.run(first.id);
        else saveRedrive.run(first.id, JSON.stringify({ ...input, cursor }));
        return revived;
      },

      /** Returns the ids of added rows, and of revived ones. */
      replayDeliveries: (
        rows: readonly DeliveryInput[],
      ): { readonly added: readonly string[]; readonly revived: readonly string[] } => {
        const added: string[] = [];
        const revived: string[] = [];
        for (const row of rows) {
          if (endpointRow(row.endpoint)?.state === 'closed') continue;
          const known: { readonly status: string } | undefined = statusOf.get(row.id);
          if (known === undefined) {
            insertOne(row);
            added.push(row.id);
          } else if (known.status === 'exhausted' || known.status === 'dropped') {
            revive.run(row.due, row.expires, row.allowed, row.id);
            revived.push(row.id);
          }
        }
        return { added, revived };
      },

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
