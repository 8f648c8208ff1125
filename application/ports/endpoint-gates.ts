import type { Page } from './read-models.js';
import type { Milliseconds, OrganizationId, Uuid } from '../../domain/ids.js';
import type { DatedSecret } from '../../domain/webhook-endpoints.js';
import type { WebhookUrl } from '../../domain/webhook-url.js';

/** The facts about an endpoint that attempts need. A larger version is a later one. */
export interface DeliveryEndpoint {
  readonly endpoint: Uuid;
  readonly org: OrganizationId;
  readonly url: WebhookUrl;
  readonly secrets: readonly DatedSecret[];
  readonly active: boolean;
  readonly version: number;
  /** The version at which it was last enabled. */
  readonly enabledAt: number;
}

/** The fields of an endpoint that never change. */
export type EndpointAddress = Pick<DeliveryEndpoint, 'org' | 'url'>;

/**
 * An endpoint whose consecutive failures have reached the limit. Its deliveries can't be claimed any more,
 * and it remains to be disabled in its stream.
 */
export interface TrippedEndpoint extends Pick<DeliveryEndpoint, 'org' | 'endpoint' | 'enabledAt'> {
  readonly consecutiveFailures: number;
  /** The last failure in plain words. */
  readonly lastFailure: string;
}

/** How an endpoint's deliveries went, for the list of endpoints. (docs/contract.md#webhooks) */
export interface EndpointHealth {
  readonly failureCount: number;
  readonly consecutiveFailures: number;
  readonly lastSuccessAt: Milliseconds | null;
}
export const unusedEndpoint: EndpointHealth = {
  failureCount: 0,
  consecutiveFailures: 0,
  lastSuccessAt: null,
};

/** An endpoint of any organization, as deliveries see it. */
export interface WatchedEndpoint
  extends EndpointHealth, Pick<DeliveryEndpoint, 'org' | 'url' | 'endpoint' | 'active'> {
  /** In plain words; null if no attempt has failed. */
  readonly lastFailure: string | null;
}

/**
 * Whether deliveries of an endpoint may be attempted: only while it is active and has not tripped. A deleted
 * endpoint never comes back.
 */
export interface EndpointGates {
  /**
   * Adds an endpoint, or replaces an older version of it; the same version again changes nothing. A new
   * `enabledAt` sets the consecutive failures to 0. If the endpoint becomes active, pending rows whose window
   * has ended by `now` are dropped; after that the others can be claimed. Rows beyond one step are left to
   * `dropExpired`.
   */
  upsertEndpoint(endpoint: DeliveryEndpoint, now: Milliseconds): Promise<void>;

  /** The owners and addresses of endpoints. Unknown and deleted ones are left out. */
  addresses(endpoints: readonly Uuid[]): Promise<ReadonlyMap<Uuid, EndpointAddress>>;

  /** Sets the consecutive failures to 0. */
  resetFailures(endpoint: Uuid): Promise<void>;

  /**
   * Deletes an endpoint and drops its pending deliveries; rows beyond one step are left to `dropExpired`.
   * When this resolves, no earlier claim can start any more. An attempt that has started is still recorded: a
   * success makes its delivery delivered.
   */
  deleteEndpoint(org: OrganizationId, endpoint: Uuid, reason: string, now: Milliseconds): Promise<void>;

  /** Endpoints that have tripped and are not disabled yet. */
  tripped(): Promise<readonly TrippedEndpoint[]>;

  /** By endpoint. One to which nothing was sent may be missing, and one that was deleted. */
  health(org: OrganizationId): Promise<ReadonlyMap<Uuid, EndpointHealth>>;

  /** Endpoints of all organizations, or only inactive ones, by id. Deleted ones are left out. */
  watched(inactiveOnly: boolean, page: Page): Promise<readonly WatchedEndpoint[]>;
}
