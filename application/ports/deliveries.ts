import { NamedError } from '../../domain/errors.js';
import type { OrganizationId } from '../../domain/ids.js';
import type { WebhookEndpoints } from '../../domain/webhook-endpoints.js';
import type { DeliveryClaims } from './delivery-claims.js';
import type { DeliveryLog } from './delivery-log.js';
import type { EndpointGates } from './endpoint-gates.js';

/** The store can't be reached or written. Nothing changed. */
export class DeliveriesUnavailable extends NamedError {}

/**
 * The four ports of one delivery store. Every change that was acknowledged survives kill -9 and power loss.
 * Every promise of theirs may reject with DeliveriesUnavailable.
 */
export interface Deliveries {
  readonly log: DeliveryLog;
  readonly gates: EndpointGates;
  readonly claims: DeliveryClaims;
  readonly relayMemory: RelayMemory;
}

/** The state of an organization's endpoints after the event at a position. */
export interface RelayedEndpoints {
  readonly position: bigint;
  readonly state: WebhookEndpoints;
}

/** The relay's state of the endpoints, which saves it reading their streams. */
export interface RelayMemory {
  /**
   * Keeps the relay's state of an organization's endpoints after the event at `position`. An older position
   * changes nothing.
   */
  rememberEndpoints(org: OrganizationId, position: bigint, endpoints: WebhookEndpoints): Promise<void>;

  /** The relay's state of every organization's endpoints. */
  rememberedEndpoints(): Promise<ReadonlyMap<OrganizationId, RelayedEndpoints>>;
}
