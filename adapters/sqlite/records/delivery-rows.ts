import type {
  Delivery,
  DeliveryAttempt,
  DeliveryId,
  DeliveryStatus,
  NewDelivery,
} from '../../../application/ports/delivery-log.js';
import type { DeliveryEndpoint, EndpointHealth } from '../../../application/ports/endpoint-gates.js';
import type { OrganizationId, Uuid } from '../../../domain/ids.js';
import type { DatedSecret } from '../../../domain/webhook-endpoints.js';
import type { WebhookUrl } from '../../../domain/webhook-url.js';

/** How many rows one step of a large change touches: some 20 ms, for which other writes wait. */
export const rowsPerStep = 100;

export interface DeliveryRow {
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
  /** JSON. */
  readonly attempts: string;
  readonly made: number;
  readonly allowed: number;
  readonly due: number | null;
  readonly expires: number;
  readonly drop_reason: string | null;
  readonly traceparent: string | null;
}

/**
 * As the column `state` has it. `opening`: enabled, but rows whose window ended before are
 * still being dropped. `off`: disabled. `tripped`: failed so often that it is to be disabled.
 * `closed`: deleted.
 */
export type EndpointState = 'open' | 'opening' | 'off' | 'tripped' | 'closed';

export interface EndpointRow {
  readonly endpoint: string;
  readonly org: string;
  readonly url: string;
  /** JSON. */
  readonly secrets: string;
  readonly state: EndpointState;
  readonly closed_because: string | null;
  readonly version: number;
  readonly enabled_at: number;
  /** When it was last opened, disabled or deleted. */
  readonly changed_at: number;
  readonly failures: number;
  readonly consecutive: number;
  readonly last_success: number | null;
  readonly last_failure: string | null;
}

/** A delivery as it crosses to the writer's thread. Positions are exact as numbers. */
export type DeliveryInput = Omit<NewDelivery, 'position'> & { readonly position: number };

export const inputOf = ({ position, ...delivery }: NewDelivery): DeliveryInput => ({
  ...delivery,
  position: Number(position),
});

export const deliveryOf = (row: DeliveryRow): Delivery => ({
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
  made: row.made,
  allowed: row.allowed,
  due: row.due,
  expires: row.expires,
  dropReason: row.drop_reason,
  ...(row.traceparent !== null && { traceparent: row.traceparent }),
});

export const endpointOf = (row: EndpointRow): DeliveryEndpoint => ({
  endpoint: row.endpoint as Uuid,
  org: row.org as OrganizationId,
  url: row.url as WebhookUrl,
  secrets: JSON.parse(row.secrets) as readonly DatedSecret[],
  active: row.state !== 'off' && row.state !== 'closed',
  version: row.version,
  enabledAt: row.enabled_at,
});

export const healthOf = (row: EndpointRow): EndpointHealth => ({
  failureCount: row.failures,
  consecutiveFailures: row.consecutive,
  lastSuccessAt: row.last_success,
});

export interface RedriveInput {
  readonly org: string;
  readonly fromPosition: number;
  readonly toPosition: number;
  readonly fromTime: number;
  readonly toTime: number;
  readonly endpoint: string | null;
  readonly now: number;
  readonly expires: number;
  /** Where to go on: an event's time and a row. */
  readonly cursor: readonly [number, number] | null;
}

/** For `deadLettersQuery`. */
export const whichOf = (
  { org, fromPosition, toPosition, fromTime, toTime, endpoint, now, cursor }: RedriveInput,
  limit: number,
) => [org, ...(cursor ?? [fromTime, -1]), toTime, fromPosition, toPosition, endpoint, now, limit] as const;

/** The next dead letters of a redrive. The index has all that it reads. */
export const deadLettersQuery = `
  select seq, occurred_at, endpoint from deliveries indexed by deliveries_dead
  where org = ?1 and status = 'exhausted' and (occurred_at, seq) > (?2, ?3) and occurred_at <= ?4
    and position between ?5 and ?6 and endpoint = ifnull(?7, endpoint) and ifnull(ended_at, 0) <= ?8
  order by occurred_at, seq limit ?9`;

export interface DeadLetter {
  readonly seq: number;
  readonly occurred_at: number;
  readonly endpoint: string;
}
