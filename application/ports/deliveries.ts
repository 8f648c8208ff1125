import type { Brand, Milliseconds, OrganizationId, Uuid } from '../../domain/ids.js';
import type { DatedSecret, WebhookEndpoints } from '../../domain/webhook-endpoints.js';
import type { WebhookUrl } from '../../domain/webhook-url.js';

/** One event for one endpoint. Derived from both, so it never changes. */
export type DeliveryId = Brand<string, 'DeliveryId'>;

/** `exhausted` is a dead letter: no attempt is left. (decision 61: how deliveries end) */
export const deliveryStatuses = ['pending', 'delivered', 'exhausted', 'dropped'] as const;
export type DeliveryStatus = (typeof deliveryStatuses)[number];

/** A delivery as the relay makes it. Times are milliseconds since 1970. */
export interface NewDelivery {
  readonly id: DeliveryId;
  readonly org: OrganizationId;
  readonly endpoint: Uuid;
  /** `evt_…` */
  readonly event: string;
  readonly type: string;
  readonly card: string;
  /** Of the domain event in the log. */
  readonly position: bigint;
  readonly occurredAt: Milliseconds;
  /** The JSON that is sent: these characters in UTF-8, on every attempt. */
  readonly body: string;
  readonly due: Milliseconds;
  /** How many attempts may be made. */
  readonly allowed: number;
  /** The end of the retry window: if the endpoint is disabled then, the delivery is dropped. */
  readonly expires: Milliseconds;
  /** Why it is dropped without an attempt; null if it isn't. */
  readonly dropReason: string | null;
}

export interface DeliveryAttempt {
  readonly at: Milliseconds;
  readonly httpStatus: number | null;
  readonly error: string | null;
  readonly duration: Milliseconds;
  readonly body: string | null;
}

/** Why a delivery was dropped whose endpoint stayed disabled. (decision 61: the window's end drops it) */
export const expiredReason = 'the endpoint stayed disabled until the end of the retry window';

/** A row of the delivery log. */
export interface Delivery extends Omit<NewDelivery, 'due'> {
  readonly status: DeliveryStatus;
  readonly attempts: readonly DeliveryAttempt[];
  /** Null once it has ended. */
  readonly due: Milliseconds | null;
}

/** What attempts need to know of an endpoint. A larger version is a later one. */
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

/** The right to make one attempt. `number` counts from 1. */
export interface DeliveryClaim {
  readonly id: string;
  readonly delivery: DeliveryId;
  readonly type: string;
  readonly event: string;
  readonly card: string;
  readonly body: string;
  readonly occurredAt: Milliseconds;
  readonly number: number;
  readonly allowed: number;
  readonly target: DeliveryEndpoint;
}

export interface EndpointClaims {
  readonly claimed: readonly DeliveryClaim[];
  /**
   * When the next unclaimed delivery of the endpoint is due; null if there is none, or the endpoint is not
   * active.
   */
  readonly next: Milliseconds | null;
}
export const noClaims: EndpointClaims = { claimed: [], next: null };

/** What becomes of a delivery after an attempt. */
export type AttemptOutcome =
  | { readonly status: 'delivered' }
  | { readonly status: 'exhausted' }
  | { readonly status: 'pending'; readonly due: Milliseconds };

/**
 * An endpoint whose consecutive failures have reached the limit. Its deliveries can't be claimed any more,
 * and it remains to be disabled in its stream.
 */
export interface TrippedEndpoint {
  readonly org: OrganizationId;
  readonly endpoint: Uuid;
  readonly enabledAt: number;
  readonly consecutiveFailures: number;
  /** The last failure in plain words. */
  readonly lastFailure: string;
}

/** `tripped`: the endpoint if it has tripped, by this attempt or an earlier one. */
export interface Recorded {
  readonly recorded: boolean;
  readonly tripped: TrippedEndpoint | null;
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

export interface DeliveryFilter {
  readonly endpoint: string | null;
  readonly status: DeliveryStatus | null;
  readonly type: string | null;
  readonly card: string | null;
}

/** A place in the log: a position, or the time of an event. */
export type Place = { readonly position: bigint } | { readonly time: Milliseconds };

/** Dead letters of events from one place to another, both included. */
export interface DeadLetterFilter {
  readonly from: Place;
  readonly to: Place | null;
  readonly endpoint: string | null;
}

export interface QueueDepth {
  readonly pending: number;
  readonly deadLetters: number;
  /** The due time of the oldest delivery that could be attempted now. */
  readonly oldestDue: Milliseconds | null;
}

/** A delivery was made, attempted, or changed otherwise; with the row after the change. */
export interface DeliveryChange {
  readonly kind: 'made' | 'attempted' | 'changed';
  readonly delivery: Delivery;
}

/** The store can't be reached or written. Nothing changed. */
export class DeliveriesUnavailable extends Error {
  override readonly name = 'DeliveriesUnavailable';
}

/**
 * The deliveries and their log. The rows decide what is sent; queues only hint at them. Every change that was
 * acknowledged survives kill -9 and power loss. All members but `mayStart` throw DeliveriesUnavailable.
 *
 * A row is `pending` until it is delivered, exhausted, or dropped with a reason. A deleted endpoint never
 * comes back.
 */
export interface Deliveries {
  /**
   * Adds deliveries; one whose id exists stays as it is. Those of deleted endpoints are added as dropped.
   * Returns the ids of those that were added.
   */
  insert(rows: readonly NewDelivery[]): Promise<readonly DeliveryId[]>;

  /**
   * Adds an endpoint, or replaces an older version of it; the same version again changes nothing. A new
   * `enabledAt` sets the consecutive failures to 0. If the endpoint becomes active, pending rows whose window
   * has ended by `now` are dropped, and the others can be claimed.
   */
  upsertEndpoint(target: DeliveryEndpoint, now: Milliseconds): Promise<void>;

  /** Sets the consecutive failures to 0. */
  resetFailures(endpoint: Uuid): Promise<void>;

  /**
   * Deletes an endpoint and drops what is pending for it. When this resolves, no earlier claim can start any
   * more. An attempt that has started is still recorded: a success makes its delivery delivered.
   */
  deleteEndpoint(org: OrganizationId, endpoint: Uuid, reason: string): Promise<void>;

  /**
   * Every active endpoint with pending rows, and when the first of them can be claimed. A claimed row is
   * either left out or counts with the end of its claim, because the process that claimed it may have died.
   */
  dueTimes(): Promise<ReadonlyMap<Uuid, Milliseconds>>;

  /**
   * Claims due deliveries of each endpoint up to its limit, those that were due first; none if the endpoint
   * is disabled, tripped or deleted. Returns an entry for every endpoint in `limits`.
   */
  claim(limits: ReadonlyMap<Uuid, number>, now: Milliseconds): Promise<ReadonlyMap<Uuid, EndpointClaims>>;

  /** Whether a claim still holds: asked at the last moment before an attempt starts. */
  mayStart(claim: DeliveryClaim): boolean;

  /** Gives an unused claim back: its delivery is due as before. */
  release(claim: DeliveryClaim): Promise<void>;

  /**
   * Records an attempt, its outcome and the endpoint's count of failures, all or nothing and once per claim:
   * if the claim doesn't hold any more, nothing changes, and `recorded` is false. The count changes only
   * while the endpoint has the claim's `enabledAt`. When it reaches `disableAfter`, the endpoint trips.
   */
  record(
    claim: DeliveryClaim,
    attempt: DeliveryAttempt,
    outcome: AttemptOutcome,
    disableAfter: number,
  ): Promise<Recorded>;

  /** Endpoints that have tripped and are not disabled yet. */
  tripped(): Promise<readonly TrippedEndpoint[]>;

  /** Drops the pending rows of disabled endpoints whose window has ended. Returns how many it dropped. */
  dropExpired(now: Milliseconds): Promise<number>;

  /**
   * Makes a delivery due now. An exhausted or dropped one gets one more attempt. Its window, or that of a
   * pending one if it has ended, ends at `expires`. `refused`: it was delivered, or its endpoint is deleted.
   * (decision 62: a retry makes a delivery due now)
   */
  retry(
    org: OrganizationId,
    id: string,
    now: Milliseconds,
    expires: Milliseconds,
  ): Promise<{ readonly endpoint: Uuid } | 'unknown' | 'refused'>;

  /**
   * Makes dead letters due now, each for one more attempt, but not those of deleted endpoints. Returns how
   * many there were for each endpoint.
   */
  redrive(
    org: OrganizationId,
    which: DeadLetterFilter,
    now: Milliseconds,
    expires: Milliseconds,
  ): Promise<ReadonlyMap<Uuid, number>>;

  /**
   * Adds the deliveries that are missing. Makes those that are exhausted or dropped due as in `rows`, with at
   * least one more attempt. Returns how many it added or made due.
   */
  replay(rows: readonly NewDelivery[]): Promise<number>;

  /** Newest first, after the delivery `startingAfter`; null if that is no delivery of the organization. */
  page(
    org: OrganizationId,
    filter: DeliveryFilter,
    page: { readonly startingAfter: string | null; readonly limit: number },
  ): Promise<readonly Delivery[] | null>;

  /** By endpoint. An endpoint to which nothing was sent may be missing. */
  health(org: OrganizationId): Promise<ReadonlyMap<Uuid, EndpointHealth>>;

  depth(now: Milliseconds): Promise<QueueDepth>;

  /** Every change of an organization's deliveries from now on, in order, until the signal aborts. */
  watch(org: OrganizationId, signal: AbortSignal): AsyncIterable<DeliveryChange>;

  /**
   * Keeps what the relay knows of an organization's endpoints after the event at `position`. An older
   * position changes nothing.
   */
  rememberEndpoints(org: OrganizationId, position: bigint, endpoints: WebhookEndpoints): Promise<void>;

  /** What the relay knew of every organization's endpoints. */
  rememberedEndpoints(): Promise<ReadonlyMap<OrganizationId, WebhookEndpoints>>;
}

/**
 * A worker should look at an endpoint at a time, because deliveries may be due then. A hint permits nothing:
 * when a worker hears it, rows and endpoint decide what is attempted, if anything. So a hint from before a
 * deletion, a change of the endpoint or a retry by hand does no harm. `delivery` and `attempt` are for people
 * who read the queues, and for the choice of a queue.
 */
export interface Hint {
  readonly endpoint: Uuid;
  readonly delivery: DeliveryId | null;
  /** The number of the attempt that is due. */
  readonly attempt: number;
  readonly due: Milliseconds;
}

/**
 * Tells workers, wherever they run, what to look at. Hints may repeat, come late or get lost: the rows
 * decide, and workers sweep them.
 */
export interface DeliveryQueue {
  /** Never rejects: a sweep finds what could not be announced. */
  announce(hints: readonly Hint[]): Promise<void>;
  /** Calls `notify` with every hint until the signal aborts. */
  listen(notify: (hint: Hint) => void, signal: AbortSignal): Promise<void>;
}
