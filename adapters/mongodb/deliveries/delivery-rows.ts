import type { Collection, IndexDescription, UpdateFilter } from 'mongodb';
import { z } from 'zod';
import {
  deliveryStatuses,
  type DeliveryAttempt,
  type Delivery,
  type DeliveryChange,
  type DeliveryId,
  type DeliveryStatus,
  type NewDelivery,
} from '../../../application/ports/delivery-log.js';
import type {
  EndpointHealth,
  DeliveryEndpoint,
  TrippedEndpoint,
  WatchedEndpoint,
} from '../../../application/ports/endpoint-gates.js';
import { erasedPayload } from '../../../domain/delivery-payload.js';
import { OrganizationId, Uuid, type Milliseconds } from '../../../domain/ids.js';
import type { DatedSecret } from '../../../domain/webhook-endpoints.js';
import type { WebhookUrl } from '../../../domain/webhook-url.js';
import type { MongoDatabase } from '../client/database.js';

/** A note about an attempt that its endpoint may not have counted yet. */
export interface Uncounted {
  /**
   * The delivery and the claim: a delivery that was removed may be made again, and its attempts counted from
   * 1.
   */
  readonly attempt: string;
  /** The claim that it was made under. */
  readonly claim: string;
  readonly at: Milliseconds;
  /** Why it failed, in plain words; null if it succeeded. */
  readonly failure: string | null;
  readonly enabledAt: number;
  readonly disableAfter: number;
}

export interface DeliveryRow {
  readonly _id: string;
  /** Its place in the order of insertion. */
  readonly seq: number;
  readonly org: string;
  readonly endpoint: string;
  readonly event: string;
  readonly type: string;
  readonly card: string;
  readonly position: bigint;
  readonly occurredAt: Milliseconds;
  /** Absent if there is none. */
  readonly traceparent?: string;
  readonly body: string;
  /** Its card was erased: neither this body nor the bodies of attempts hold anything personal ever again. */
  readonly erased: boolean;
  readonly status: DeliveryStatus;
  readonly attempts: readonly DeliveryAttempt[];
  readonly made: number;
  readonly allowed: number;
  readonly due: Milliseconds | null;
  readonly expires: Milliseconds;
  readonly dropReason: string | null;
  /** When the server may remove it; null while it is pending. */
  readonly removeAt: Date | null;
  readonly claim: string | null;
  /** When the claim ends, unless it is recorded or released before. */
  readonly claimedUntil: Milliseconds;
  readonly uncounted?: Uncounted;
  /** Grows by one with every change. */
  readonly revision: number;
  readonly change: DeliveryChange['kind'];
  readonly changedAt: Milliseconds;
}

/**
 * `opening`: enabled, but rows whose window ended before are still being dropped. `off`: disabled. `tripped`:
 * failed so often that it remains to be disabled. `closed`: deleted, forever.
 */
export type EndpointState = 'open' | 'opening' | 'off' | 'tripped' | 'closed';

export interface EndpointRow {
  readonly _id: string;
  readonly org: string;
  readonly url: string;
  /** JSON. */
  readonly secrets: string;
  readonly state: EndpointState;
  readonly closedBecause: string | null;
  readonly version: number;
  readonly enabledAt: number;
  /** When it was last opened, disabled or deleted; 0 if it never was. */
  readonly changedAt: Milliseconds;
  /** Deleted, and nothing is pending for it. */
  readonly isClean?: boolean;
  readonly failures: number;
  readonly consecutive: number;
  readonly lastSuccess: Milliseconds | null;
  readonly lastFailure: string;
  /** The attempts that were counted last, so that none is counted twice. */
  readonly lastCount?: { readonly id: string; readonly attempts: readonly string[] };
}

/** Rows that are claimed: few, and found by an index. */
export const claimed = { claimedUntil: { $gt: 0 } } as const;

/** Dead letters, of all organizations. */
export const dead = { status: 'exhausted' } as const;

export const deliveryIndexes: readonly IndexDescription[] = [
  { key: { org: 1, seq: -1 }, name: 'by_org' },
  { key: { org: 1, status: 1, type: 1, seq: -1 }, name: 'by_kind' },
  { key: { endpoint: 1, status: 1, type: 1, seq: -1 }, name: 'of_endpoint' },
  { key: { card: 1, seq: -1 }, name: 'of_card' },
  { key: { endpoint: 1, status: 1, expires: 1 }, name: 'by_expiry' },
  { key: { org: 1, status: 1, occurredAt: 1, seq: 1 }, name: 'dead_letters' },
  { key: { seq: -1 }, name: 'all_dead_letters', partialFilterExpression: dead },
  { key: { removeAt: 1 }, name: 'ended', expireAfterSeconds: 0 },
  { key: { endpoint: 1, status: 1, due: 1, seq: 1 }, name: 'by_endpoint_and_due' },
  { key: { status: 1, endpoint: 1, due: 1 }, name: 'by_status' },
  { key: { org: 1, changedAt: 1 }, name: 'by_change' },
  { key: { 'uncounted.attempt': 1 }, name: 'uncounted', sparse: true },
  { key: { endpoint: 1 }, name: 'claimed', partialFilterExpression: claimed },
];

export const endpointIndexes: readonly IndexDescription[] = [
  { key: { org: 1 }, name: 'by_org' },
  { key: { state: 1, changedAt: 1 }, name: 'by_state' },
];

/**
 * The deliveries, with their indexes and the endpoints'. Throws a MongoError while the server is known to be
 * away.
 */
export const deliveryRows = async (database: MongoDatabase): Promise<Collection<DeliveryRow>> => {
  await database.indexed<EndpointRow>('delivery_targets', endpointIndexes);
  return database.indexed<DeliveryRow>('deliveries', deliveryIndexes);
};

export const endpointRows = (database: MongoDatabase): Collection<EndpointRow> =>
  database.collection<EndpointRow>('delivery_targets');

export const unclaimed = { claim: null, claimedUntil: 0 } as const;

/** An update that watchers are shown. */
export const changed = (
  change: DeliveryChange['kind'],
  set: Partial<DeliveryRow>,
  now: Milliseconds,
): UpdateFilter<DeliveryRow> => ({
  $set: { ...set, change, changedAt: now },
  $inc: { revision: 1 },
});

const status = z.enum(deliveryStatuses);

export const newDeliveryRow = (
  delivery: NewDelivery,
  seq: number,
  dropReason: string | null,
  erased: boolean,
  now: Milliseconds,
  keep: Milliseconds,
): DeliveryRow => {
  const { id, due, org, endpoint, event, type, card, position, occurredAt, traceparent } = delivery;
  const { body, allowed, expires } = delivery;
  return {
    _id: id,
    seq,
    org,
    endpoint,
    event,
    type,
    card,
    position,
    occurredAt,
    ...(traceparent !== undefined && { traceparent }),
    body: erased ? erasedPayload(body) : body,
    erased,
    allowed,
    expires,
    dropReason,
    status: dropReason === null ? 'pending' : 'dropped',
    attempts: [],
    made: 0,
    due: dropReason === null ? due : null,
    removeAt: dropReason === null ? null : new Date(occurredAt + keep),
    claim: null,
    claimedUntil: 0,
    revision: 0,
    change: 'made',
    changedAt: now,
  };
};

export const deliveryOf = (row: DeliveryRow): Delivery => ({
  id: row._id as DeliveryId,
  org: OrganizationId.parse(row.org),
  endpoint: Uuid.parse(row.endpoint),
  event: row.event,
  type: row.type,
  card: row.card,
  position: row.position,
  occurredAt: row.occurredAt,
  ...(row.traceparent !== undefined && { traceparent: row.traceparent }),
  body: row.body,
  status: status.parse(row.status),
  attempts: row.attempts.map(({ at, httpStatus, error, duration, body }) => ({
    at,
    httpStatus,
    error,
    duration,
    body,
  })),
  made: row.made,
  allowed: row.allowed,
  due: row.due,
  expires: row.expires,
  dropReason: row.dropReason,
});

export const deliveryEndpointOf = (row: EndpointRow): DeliveryEndpoint => {
  const secrets: readonly DatedSecret[] = JSON.parse(row.secrets);
  return {
    endpoint: Uuid.parse(row._id),
    org: OrganizationId.parse(row.org),
    url: row.url as WebhookUrl,
    secrets,
    active: row.state !== 'off' && row.state !== 'closed',
    version: row.version,
    enabledAt: row.enabledAt,
  };
};

export const newEndpointRow = ({
  endpoint,
  org,
  url,
  secrets,
  active,
  version,
  enabledAt,
}: DeliveryEndpoint): EndpointRow => ({
  _id: endpoint,
  org,
  url,
  secrets: JSON.stringify(secrets),
  state: active ? 'open' : 'off',
  closedBecause: null,
  version,
  enabledAt,
  changedAt: 0,
  failures: 0,
  consecutive: 0,
  lastSuccess: null,
  lastFailure: '',
});

export const healthOf = ({ failures, consecutive, lastSuccess }: EndpointRow): EndpointHealth => ({
  failureCount: failures,
  consecutiveFailures: consecutive,
  lastSuccessAt: lastSuccess,
});

export const watchedOf = (row: EndpointRow): WatchedEndpoint => ({
  endpoint: Uuid.parse(row._id),
  org: OrganizationId.parse(row.org),
  url: row.url as WebhookUrl,
  active: row.state === 'open' || row.state === 'opening',
  lastFailure: row.lastFailure === '' ? null : row.lastFailure,
  ...healthOf(row),
});

export const trippedOf = ({
  _id,
  org,
  enabledAt,
  consecutive,
  lastFailure,
}: EndpointRow): TrippedEndpoint => ({
  org: OrganizationId.parse(org),
  endpoint: Uuid.parse(_id),
  enabledAt,
  consecutiveFailures: consecutive,
  lastFailure,
});
