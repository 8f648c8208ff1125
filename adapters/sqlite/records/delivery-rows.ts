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
