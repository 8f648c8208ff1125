import type { DeliveryClaims } from './delivery-claims.js';
import type { DeliveryLog } from './delivery-log.js';
import type { EndpointGates } from './endpoint-gates.js';
import type { RelayMemory } from './relay-memory.js';

/** The store can't be reached or written. Nothing changed. */
export class DeliveriesUnavailable extends Error {
  override readonly name = 'DeliveriesUnavailable';
}

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
