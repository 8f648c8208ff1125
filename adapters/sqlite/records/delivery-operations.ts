import {
  attemptsKept,
  erasedReason,
  type DeliveryAttempt,
  type DeliveryId,
  type NewDelivery,
} from '../../../application/ports/delivery-log.js';
import { erasedPayload } from '../../../domain/delivery-payload.js';
import type { AttemptOutcome, DeliveryClaim } from '../../../application/ports/delivery-claims.js';
import type { DeliveryEndpoint } from '../../../application/ports/endpoint-gates.js';
import {
  rowsToDrop,
  stateAfter,
  type StoredEndpoint,
} from '../../../application/webhooks/stored-endpoints.js';
import type { Milliseconds } from '../../../domain/ids.js';
import { numberFrom, rowFrom, rowsFrom, type Database } from '../database.js';
import {
  deadLettersQuery,
  rowsPerStep,
  whichOf,
  type ChangedDelivery,
  type DeadLetter,
  type DeliveryRow,
  type RedriveInput,
} from './delivery-rows.js';

interface AttemptInput
  extends Pick<DeliveryClaim, 'delivery' | 'number'>, Pick<DeliveryEndpoint, 'endpoint' | 'enabledAt'> {
  readonly attempt: DeliveryAttempt;
  readonly outcome: AttemptOutcome;
  readonly disableAfter: number;
}

interface EndpointDeletion extends Pick<DeliveryEndpoint, 'org' | 'endpoint'> {
  readonly reason: string;
  readonly now: Milliseconds;
}

interface ChangedEndpoint {
  readonly endpoint: StoredEndpoint | null;
  readonly dropped: readonly ChangedDelivery[];
}

type Retry = Pick<RedriveInput, 'org' | 'now' | 'expires'> & { readonly id: string };

type RowOfCard = Pick<DeliveryRow, 'seq' | 'id' | 'endpoint' | 'body' | 'attempts'>;

type OldRow = Pick<DeliveryRow, 'seq' | 'status' | 'occurredAt' | 'endedAt'>;

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
    occurredAt integer not null,
    body text not null,
    status text not null,
    attempts text not null default '[]',
    made integer not null default 0,
    allowed integer not null,
    due integer,
    expires integer not null,
    dropReason text,
    endedAt integer,
    traceparent text
  ) strict;
  create index if not exists deliveries_of_organizations on deliveries (org, seq);
  create index if not exists deliveries_by_kind on deliveries (org, status, type, seq);
  create index if not exists deliveries_of_endpoints on deliveries (endpoint, status, type, seq);
  create index if not exists deliveries_of_cards on deliveries (card, seq);
  create index if not exists deliveries_expiring on deliveries (endpoint, expires) where status = 'pending';
  create index if not exists deliveries_waiting on deliveries (endpoint, due) where status = 'pending';
  create index if not exists deliveries_dead on deliveries (org, occurredAt, seq, endpoint, position, endedAt) where status = 'exhausted';
  create index if not exists dead_letters on deliveries (seq) where status = 'exhausted';
  create table if not exists delivery_targets (
    endpoint text primary key,
    org text not null,
    url text not null,
    secrets text not null,
    state text not null,
    closedBecause text,
    version integer not null,
    enabledAt integer not null,
    failures integer not null default 0,
    consecutive integer not null default 0,
    lastSuccess integer,
    lastFailure text,
    changedAt integer not null default 0
  ) strict, without rowid;
  create index if not exists delivery_targets_by_state on delivery_targets (state);
  create table if not exists erased_cards (card text primary key, at integer not null) strict, without rowid;
  create table if not exists redrives (id integer primary key, input text not null) strict;
`;

/** The columns of a delivery that have no default. */
const inserted = [
  'id', 'org', 'endpoint', 'event', 'type', 'card', 'position', 'occurredAt', 'body', 'status', 'allowed', 'due', 'expires', 'dropReason', 'endedAt', 'traceparent',
] as const satisfies readonly (keyof DeliveryRow)[]; // prettier-ignore

/** The last attempts with one more; of an erased card without the receiver's response. */
const withAttempt = `json_insert(iif(made < ${attemptsKept}, attempts, json_remove(attempts, '$[0]')), '$[#]', json(
  iif(exists (select 1 from erased_cards where erased_cards.card = deliveries.card), json_set(?1, '$.body', null), ?1)))`;

const withoutBodies = (attempts: string): string =>
  JSON.stringify((JSON.parse(attempts) as readonly object[]).map((attempt) => ({ ...attempt, body: null })));

/** The writes of sqliteDeliveries. They share transactions with the appends to the log. */
export const deliveryOperations = (database: Database) => {
  database.exec(schema);
  const rowsOfCard = database.prepare(
    'select seq, id, endpoint, body, attempts from deliveries where card = ?',
  );
  const rememberErased = database.prepare('insert or ignore into erased_cards values (?, ?)');
  const erasedCard = database.prepare('select 1 from erased_cards where card = ?');
  const eraseRow = database.prepare('update deliveries set body = ?, attempts = ? where seq = ?');
  const dropOfCard = database.prepare(
    "update deliveries set status = 'dropped', due = null, dropReason = ?, endedAt = ? where card = ? and status = 'pending'",
  );
  const insert = database.prepare(
    `insert into deliveries (${inserted.join()}) values (${inserted.map(() => '?').join()}) on conflict (id) do nothing`,
  );
  const endpointById = database.prepare('select * from delivery_targets where endpoint = ?');
  const insertEndpoint = database.prepare(`
    insert into delivery_targets (endpoint, org, url, secrets, state, closedBecause, version, enabledAt, changedAt) values (?, ?, ?, ?, ?, ?, ?, ?, ?)`);
  const updateEndpoint = database.prepare(`
    update delivery_targets set url = ?, secrets = ?, state = ?, changedAt = ?, version = ?, consecutive = iif(enabledAt = ?, consecutive, 0), enabledAt = ? where endpoint = ?`);
  const closeEndpoint = database.prepare(
    `update delivery_targets set state = 'closed', closedBecause = ?, changedAt = ? where endpoint = ?`,
  );
  const openEndpoint = database.prepare(
    `update delivery_targets set state = 'open' where endpoint = ? and state = 'opening' returning *`,
  );
  const dropPending = database.prepare(`
    update deliveries set status = 'dropped', due = null, dropReason = ?, endedAt = ? where seq in (
      select seq from deliveries indexed by deliveries_expiring where endpoint = ? and status = 'pending' and expires <= ? order by expires limit ?)
    returning id, endpoint`);
  const recordSuccess = database.prepare(`
    update deliveries set attempts = ${withAttempt}, made = made + 1, status = 'delivered', due = null, dropReason = null, endedAt = ?
    where id = ? and made = ?`);
  const recordFailure = database.prepare(`
    update deliveries set attempts = ${withAttempt}, made = made + 1,
      due = iif(status = 'pending', ?, due), endedAt = iif(status = 'pending', ?, endedAt), status = iif(status = 'pending', ?, status)
    where id = ? and made = ?`);
  const countSuccess = database.prepare(`
    update delivery_targets set lastSuccess = max(?1, ifnull(lastSuccess, ?1)), consecutive = iif(enabledAt = ?2, 0, consecutive) where endpoint = ?3 returning *`);
  const countFailure = database.prepare(`
    update delivery_targets set failures = failures + 1,
      consecutive = consecutive + (enabledAt = ?1), lastFailure = iif(enabledAt = ?1, ?2, lastFailure),
      state = iif(state = 'open' and enabledAt = ?1 and consecutive + 1 >= ?3, 'tripped', state)
    where endpoint = ?4 returning *`);
  const statusOf = database.prepare('select id, status, endpoint, org from deliveries where id = ?');
  const dueNow = database.prepare(
    'update deliveries set due = ?1, expires = iif(expires <= ?1, ?2, expires) where id = ?3',
  );
  const revive = database.prepare(`
    update deliveries set status = 'pending', due = ?, expires = ?, allowed = max(?, made + 1), dropReason = null, endedAt = null where id = ?`);
  const redrive = database.prepare(`
    update deliveries set status = 'pending', due = ?, expires = ?, allowed = made + 1, dropReason = null, endedAt = null
    where seq = ? and status = 'exhausted' returning id, endpoint`);
  const deadLetters = database.prepare(deadLettersQuery);
  const saveRedrive = database.prepare('insert or replace into redrives (id, input) values (?, ?)');
  const firstRedrive = database.prepare('select id, input from redrives order by id limit 1');
  const removeRedrive = database.prepare('delete from redrives where id = ?');
  const oldRows = database.prepare(
    'select seq, status, occurredAt, endedAt from deliveries where seq > ? order by seq limit ?',
  );
  const newestRow = database.prepare(
    'select occurredAt from deliveries where seq = (select max(seq) from deliveries)',
  );
  const removeRow = database.prepare('delete from deliveries where seq = ?');

  const endpointRow = (endpoint: string) => rowFrom<StoredEndpoint>(endpointById, endpoint);

  /** Drops the first pending rows of an endpoint that must not be sent. */
  const dropSome = (endpoint: string, now: number): readonly ChangedDelivery[] => {
    const known = endpointRow(endpoint);
    const which = known === undefined ? null : rowsToDrop(known, now);
    if (which === null) return [];
    return rowsFrom(dropPending, which.reason, now, endpoint, which.endingBy, rowsPerStep);
  };

  /** `cursor`: where to go on; null at the end. Nothing that became a dead letter since is made due again. */
  const redriveSome = (input: RedriveInput) => {
    const rows = rowsFrom<DeadLetter>(deadLetters, ...whichOf(input, rowsPerStep));
    const revived = rows
      .filter((row) => !isDeleted(row.endpoint))
      .flatMap((row) => rowsFrom<ChangedDelivery>(redrive, input.now, input.expires, row.seq));
    const last = rows.length < rowsPerStep ? undefined : rows.at(-1);
    const cursor: RedriveInput['cursor'] = last === undefined ? null : [last.occurredAt, last.seq];
    return { revived, cursor };
  };

  /** A deleted endpoint is forgotten in the end; its deliveries may be there a little longer. */
  const isDeleted = (endpoint: string): boolean =>
    [undefined, 'closed'].includes(endpointRow(endpoint)?.state);

  const insertOne = (delivery: NewDelivery): boolean => {
    const { card, body, occurredAt, position, traceparent = null } = delivery;
    const known = endpointRow(delivery.endpoint);
    const dropReason = delivery.dropReason ?? (known?.state === 'closed' ? known.closedBecause : null);
    const row = {
      ...delivery,
      position: Number(position),
      body: erasedCard.get(card) === undefined ? body : erasedPayload(body),
      traceparent,
      dropReason,
      ...(dropReason === null
        ? { status: 'pending', endedAt: null }
        : { status: 'dropped', due: null, endedAt: occurredAt }),
    };
    return insert.run(...inserted.map((column) => row[column])).changes > 0;
  };

  return {
    /** Returns the deliveries that it changed. */
    eraseDeliveries: ({ card, now }: { readonly card: string; readonly now: Milliseconds }) => {
      rememberErased.run(card, now);
      const rows = rowsFrom<RowOfCard>(rowsOfCard, card);
      for (const { seq, body, attempts } of rows)
        eraseRow.run(erasedPayload(body), withoutBodies(attempts), seq);
      dropOfCard.run(erasedReason, now, card);
      return rows.map(({ id, endpoint }): ChangedDelivery => ({ id, endpoint }));
    },

    /** Returns the ids that did not exist. */
    insertDeliveries: (rows: readonly NewDelivery[]) => rows.filter(insertOne).map(({ id }) => id),

    /**
     * Returns the endpoint as it is now, and the deliveries that were dropped because their window was
     * over.
     */
    upsertEndpoint: (input: DeliveryEndpoint & { readonly now: Milliseconds }): ChangedEndpoint => {
      const { endpoint, org, url, active, version, enabledAt, now } = input;
      const secrets = JSON.stringify(input.secrets);
      const known = endpointRow(endpoint);
      if (known === undefined) {
        const state = active ? 'open' : 'off';
        insertEndpoint.run(endpoint, org, url, secrets, state, null, version, enabledAt, now);
        return { endpoint: endpointRow(endpoint) ?? null, dropped: [] };
      }
      if (known.state === 'closed' || version <= known.version) return { endpoint: known, dropped: [] };
      const state = stateAfter(known, input);
      updateEndpoint.run(url, secrets, state, now, version, enabledAt, enabledAt, endpoint);
      const dropped = state === 'opening' ? dropSome(endpoint, now) : [];
      if (dropped.length < rowsPerStep) openEndpoint.run(endpoint);
      return { dropped, endpoint: endpointRow(endpoint) ?? null };
    },

    deleteEndpoint: ({ org, endpoint, reason, now }: EndpointDeletion): readonly ChangedDelivery[] => {
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
    dropSomeDeliveries: (input: Pick<EndpointDeletion, 'endpoint' | 'now'>): ChangedEndpoint => {
      const dropped = dropSome(input.endpoint, input.now);
      if (dropped.length === rowsPerStep) return { endpoint: null, dropped };
      return { endpoint: rowFrom<StoredEndpoint>(openEndpoint, input.endpoint) ?? null, dropped };
    },

    /**
     * Removes ended deliveries after `seq`; returns the last one that was looked at, or null at the end.
     */
    removeEndedDeliveries: ({ seq, before }: { readonly seq: number; readonly before: Milliseconds }) => {
      const rows = rowsFrom<OldRow>(oldRows, seq, rowsPerStep);
      const ended = rows.filter(
        ({ status, endedAt, occurredAt }) => status !== 'pending' && (endedAt ?? occurredAt) <= before,
      );
      for (const row of ended) removeRow.run(row.seq);
      const last = rows.at(-1);
      const newest = numberFrom(newestRow);
      // Later rows are younger, but for those that were made while the clock was ahead.
      const isYoung = (at: Milliseconds): boolean => at > before && at <= (newest ?? at);
      const isLast = last === undefined || rows.length < rowsPerStep || isYoung(last.occurredAt);
      return { removed: ended.length, last: isLast ? null : last.seq };
    },

    /** Returns the endpoint as it is now, or null if the attempt was recorded before. */
    recordAttempt: (input: AttemptInput): StoredEndpoint | null => {
      const { delivery, endpoint, number, attempt, outcome, enabledAt, disableAfter } = input;
      const { at } = attempt;
      const json = JSON.stringify(attempt);
      if (outcome.status === 'delivered') {
        if (recordSuccess.run(json, at, delivery, number - 1).changes === 0) return null;
        return rowFrom<StoredEndpoint>(countSuccess, at, enabledAt, endpoint) ?? null;
      }
      const due = outcome.status === 'pending' ? outcome.due : null;
      const endedAt = due === null ? at : null;
      const { changes } = recordFailure.run(json, due, endedAt, outcome.status, delivery, number - 1);
      if (changes === 0) return null;
      const failure = attempt.error ?? `HTTP ${attempt.httpStatus}`;
      return rowFrom<StoredEndpoint>(countFailure, enabledAt, failure, disableAfter, endpoint) ?? null;
    },

    retryDelivery: ({ org, id, now, expires }: Retry): ChangedDelivery | 'unknown' | 'refused' => {
      const row = rowFrom<Pick<DeliveryRow, 'id' | 'status' | 'endpoint' | 'org'>>(statusOf, id);
      if (row === undefined || row.org !== org) return 'unknown';
      if (row.status === 'delivered' || isDeleted(row.endpoint)) return 'refused';
      if (row.status === 'pending') dueNow.run(now, expires, id);
      else revive.run(now, expires, 0, id);
      return { id: row.id, endpoint: row.endpoint };
    },

    /** Makes some dead letters due; those after `cursor` with `continueRedrive`, unless it is null. */
    redriveDeliveries: (input: RedriveInput) => {
      const { revived, cursor } = redriveSome(input);
      if (cursor !== null) saveRedrive.run(null, JSON.stringify({ ...input, cursor }));
      return { revived, cursor };
    },

    /** Goes on with the oldest redrive that is not finished; null if there is none. */
    continueRedrive: (): readonly ChangedDelivery[] | null => {
      const first = rowFrom<{ readonly id: number; readonly input: string }>(firstRedrive);
      if (first === undefined) return null;
      const input = JSON.parse(first.input) as RedriveInput;
      const { revived, cursor } = redriveSome(input);
      if (cursor === null) removeRedrive.run(first.id);
      else saveRedrive.run(first.id, JSON.stringify({ ...input, cursor }));
      return revived;
    },

    /** Returns the ids of added rows, and of revived ones. */
    replayDeliveries: (rows: readonly NewDelivery[]) => {
      const added: DeliveryId[] = [];
      const revived: DeliveryId[] = [];
      for (const row of rows) {
        if (endpointRow(row.endpoint)?.state === 'closed') continue;
        const known = rowFrom<{ readonly status: string }>(statusOf, row.id);
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
  };
};
