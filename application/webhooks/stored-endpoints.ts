import type { DatedSecret } from '../../domain/webhook-endpoints.js';
import type { Milliseconds } from '../../domain/ids.js';
import { expiredReason } from '../ports/delivery-log.js';
import type {
  DeliveryEndpoint,
  EndpointHealth,
  TrippedEndpoint,
  WatchedEndpoint,
} from '../ports/endpoint-gates.js';

/**
 * `opening`: enabled, but rows whose window ended before are still being dropped. `off`: disabled. `tripped`:
 * failed so often that it remains to be disabled. `closed`: deleted, forever.
 */
export type GateState = 'open' | 'opening' | 'off' | 'tripped' | 'closed';

/** An endpoint as stores of deliveries keep it, with how its deliveries went. */
export interface StoredEndpoint extends Omit<DeliveryEndpoint, 'secrets' | 'active'> {
  /** JSON. */
  readonly secrets: string;
  readonly state: GateState;
  readonly closedBecause: string | null;
  /** When it was last opened, disabled or deleted; 0 if it never was. */
  readonly changedAt: Milliseconds;
  readonly failures: number;
  readonly consecutive: number;
  readonly lastSuccess: Milliseconds | null;
  /** In plain words; null or empty if no attempt has failed. */
  readonly lastFailure: string | null;
}

export const deliveryEndpointOf = (stored: StoredEndpoint): DeliveryEndpoint => {
  const { endpoint, org, url, version, enabledAt, state } = stored;
  const secrets = JSON.parse(stored.secrets) as readonly DatedSecret[];
  return { endpoint, org, url, version, enabledAt, active: state !== 'off' && state !== 'closed', secrets };
};

export const healthOf = ({ failures, consecutive, lastSuccess }: StoredEndpoint): EndpointHealth => ({
  failureCount: failures,
  consecutiveFailures: consecutive,
  lastSuccessAt: lastSuccess,
});

export const watchedOf = (stored: StoredEndpoint): WatchedEndpoint => {
  const { endpoint, org, url, state, lastFailure } = stored;
  const active = state === 'open' || state === 'opening';
  return { endpoint, org, url, active, lastFailure: lastFailure || null, ...healthOf(stored) };
};

export const trippedOf = (stored: StoredEndpoint): TrippedEndpoint => {
  const { org, endpoint, enabledAt, consecutive, lastFailure } = stored;
  return { org, endpoint, enabledAt, consecutiveFailures: consecutive, lastFailure: lastFailure ?? '' };
};

/** The state of an endpoint, not a closed one, once a later version of it is stored. */
export const stateAfter = (known: StoredEndpoint, later: DeliveryEndpoint): GateState => {
  if (!later.active) return 'off';
  const staysTripped = known.state === 'tripped' && known.enabledAt === later.enabledAt;
  return known.state === 'open' || staysTripped ? known.state : 'opening';
};

/** An endpoint's pending rows whose window ends by then must be dropped. Null: none of them. */
export const rowsToDrop = ({ state, closedBecause, changedAt }: StoredEndpoint, now: Milliseconds) => {
  if (state === 'closed')
    return { endingBy: Number.MAX_SAFE_INTEGER, reason: closedBecause ?? expiredReason };
  if (state === 'off') return { endingBy: now, reason: expiredReason };
  return state === 'opening' ? { endingBy: changedAt, reason: expiredReason } : null;
};
