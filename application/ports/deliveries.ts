import type { Brand, Milliseconds, OrganizationId, Uuid } from '../../domain/ids.js';
import type { DatedSecret, WebhookEndpoints } from '../../domain/webhook-endpoints.js';
import type { WebhookUrl } from '../../domain/webhook-url.js';

/** One event for one endpoint: derived from both, the same for ever. */
export type DeliveryId = Brand<string, 'DeliveryId'>;

/** `exhausted` is a dead letter. (decision 61) */
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
  /** How many attempts are made. */
  readonly allowed: number;
  /**
   * The end of the retry window: pending deliveries of an endpoint that is still switched off then are
   * dropped.
   */
  readonly expires: Milliseconds;
  /** Why it is never attempted; null: it is. */
  readonly dropReason: string | null;
}

export interface DeliveryAttempt {
  readonly at: Milliseconds;
  readonly httpStatus: number | null;
  readonly error: string | null;
  readonly duration: Milliseconds;
  readonly body: string | null;
}

/** Why a delivery ended whose endpoint stayed switched off. (decision 61) */
export const expiredReason = 'the endpoint stayed disabled until the end of the retry window';

/** A row of the delivery log. */
export interface Delivery extends Omit<NewDelivery, 'due'> {
  readonly status: DeliveryStatus;
  readonly attempts: readonly DeliveryAttempt[];
  /** Null once it has ended. */
  readonly due: Milliseconds | null;
}

/**
 * What attempts need to know of an endpoint. Of two targets of an endpoint the one with the larger version is
 * the later one.
 */
export interface DeliveryEndpoint {
  readonly endpoint: Uuid;
  readonly org: OrganizationId;
  readonly url: WebhookUrl;
  readonly secrets: readonly DatedSecret[];
  readonly active: boolean;
  readonly version: number;
  readonly enabledAt: number;
}

/** A right to make one attempt. `number` counts from 1. */
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
   * When the next of the endpoint's deliveries that nobody has claimed is due; null where none waits, or the
   * endpoint is switched off.
   */
  readonly next: Milliseconds | null;
}
export const noClaims: EndpointClaims = { claimed: [], next: null };

/** What an attempt makes of its delivery. */
export type AttemptOutcome =
  | { readonly status: 'delivered' }
  | { readonly status: 'exhausted' }
  | { readonly status: 'pending'; readonly due: Milliseconds };

/**
 * An endpoint whose failures in a row have reached the limit. Nothing of it is claimed any more, and somebody
 * has to switch it off.
 */
export interface TrippedEndpoint {
  readonly org: OrganizationId;
  readonly endpoint: Uuid;
  readonly enabledAt: number;
  readonly consecutiveFailures: number;
  /** The last failure in plain words. */
  readonly lastFailure: string;
}

/** `tripped`: the endpoint has failed too often, with this attempt or before it. */
export interface Recorded {
  readonly recorded: boolean;
  readonly tripped: TrippedEndpoint | null;
}

/** What the list of endpoints says of an endpoint's deliveries. (decision 57) */
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

/** Dead letters of events from a place on (included), up to a place (included). */
export interface DeadLetterFilter {
  readonly from: Place;
  readonly to: Place | null;
  readonly endpoint: string | null;
}

export interface QueueDepth {
  readonly pending: number;
  readonly deadLetters: number;
  /** Of the deliveries that could be attempted now, the time of the one that waits longest. */
  readonly oldestDue: Milliseconds | null;
}

/** A delivery was made, attempted, or changed otherwise; the row is as it is after that. */
export interface DeliveryChange {
  readonly kind: 'made' | 'attempted' | 'changed';
  readonly delivery: Delivery;
}

/** The store can't be reached or written. Nothing changed. */
export class DeliveriesUnavailable extends Error {
  override readonly name = 'DeliveriesUnavailable';
}

/**
 * The deliveries and their log, the one truth about both; queues only hint at it. Every change that was
 * answered survives kill -9 and power loss. Everything throws DeliveriesUnavailable.
 *
 * A row is `pending` until it is delivered, exhausted or dropped with a reason. Endpoints are known by their
 * targets; a closed one never opens again.
 */
export interface Deliveries {
  /**
   * Adds deliveries; one that is there already, by its id, stays as it is. Those of closed endpoints are
   * dropped with the reason. Answers those added.
   */
  insert(rows: readonly NewDelivery[]): Promise<readonly DeliveryId[]>;

  /**
   * Makes a target known, or replaces an older version of it; the same version again changes nothing. A new
   * `enabledAt` sets the failures in a row to 0. Becoming active: pending rows whose window is over by `now`
   * are dropped first, the others go on.
   */
  upsertEndpoint(target: DeliveryEndpoint, now: Milliseconds): Promise<void>;

  /** Sets the failures in a row to 0. */
  resetFailures(endpoint: Uuid): Promise<void>;

  /**
   * Closes an endpoint for ever and drops what is pending for it. When this settles, no claim of before can
   * start any more. An attempt that has started is still recorded: a success makes its delivery delivered.
   */
  deleteEndpoint(org: OrganizationId, endpoint: Uuid, reason: string): Promise<void>;

  /**
   * Every endpoint that is active and has pending rows, with the time at which the first of them can be
   * claimed. A row that somebody has claimed is missing, or there with the time at which the claim is over: a
   * process may have died with it.
   */
  dueTimes(): Promise<ReadonlyMap<Uuid, Milliseconds>>;

  /**
   * Claims due deliveries of each endpoint up to its number, those that are due longest first; none of an
   * endpoint that is switched off, tripped or closed. Answers every endpoint that was asked for.
   */
  claim(rooms: ReadonlyMap<Uuid, number>, now: Milliseconds): Promise<ReadonlyMap<Uuid, EndpointClaims>>;

  /** Whether a claim still holds: asked at the last moment before an attempt starts. */
  mayStart(claim: DeliveryClaim): boolean;

  /** Gives a claim back unused: its delivery is due as before. */
  release(claim: DeliveryClaim): Promise<void>;

  /**
   * Records an attempt, its outcome and the endpoint's count of failures, all or nothing. Once per claim: an
   * attempt of a claim that does not hold any more changes nothing (false). The count belongs to the claim's
   * `enabledAt`: it changes only while the target has that one. When it reaches `disableAfter`, the endpoint
   * trips.
   */
  record(
    claim: DeliveryClaim,
    attempt: DeliveryAttempt,
    outcome: AttemptOutcome,
    disableAfter: number,
  ): Promise<Recorded>;

  /** Endpoints that have tripped and are not switched off yet. */
  tripped(): Promise<readonly TrippedEndpoint[]>;

  /** Drops the pending rows of endpoints that are switched off, whose window is over. Answers how many. */
  dropExpired(now: Milliseconds): Promise<number>;

  /**
   * Makes a delivery due now. One that was exhausted or dropped gets one more attempt, and the window given;
   * one whose window is over before it was dropped, the window given. `refused`: it is delivered, or its
   * endpoint is closed.
   * (decisions 61, 62)
   */
  retry(
    org: OrganizationId,
    id: string,
    now: Milliseconds,
    expires: Milliseconds,
  ): Promise<{ readonly endpoint: Uuid } | 'unknown' | 'refused'>;

  /**
   * Makes dead letters due now, each for one more attempt; those of closed endpoints stay. Answers the
   * endpoints and how many deliveries it was for each.
   */
  redrive(
    org: OrganizationId,
    which: DeadLetterFilter,
    now: Milliseconds,
    expires: Milliseconds,
  ): Promise<ReadonlyMap<Uuid, number>>;

  /**
   * Adds those deliveries that are missing, and makes those that are exhausted or dropped due as the row
   * given says, with at least one more attempt. Answers how many of either there were.
   */
  replay(rows: readonly NewDelivery[]): Promise<number>;

  /** Newest first, after the delivery `startingAfter`. Null: that is no delivery of the organization. */
  page(
    org: OrganizationId,
    filter: DeliveryFilter,
    page: { readonly startingAfter: string | null; readonly limit: number },
  ): Promise<readonly Delivery[] | null>;

  /** By endpoint; one that nothing was sent to may be missing. */
  health(org: OrganizationId): Promise<ReadonlyMap<Uuid, EndpointHealth>>;

  depth(now: Milliseconds): Promise<QueueDepth>;

  /** Every change of an organization's deliveries from now on, in order, until the signal aborts. */
  watch(org: OrganizationId, signal: AbortSignal): AsyncIterable<DeliveryChange>;

  /**
   * What the relay knows of an organization's endpoints after the log's event at `position`; an older one
   * changes nothing.
   */
  rememberEndpoints(org: OrganizationId, position: bigint, endpoints: WebhookEndpoints): Promise<void>;

  /** What the relay knew of every organization's endpoints. */
  rememberedEndpoints(): Promise<ReadonlyMap<OrganizationId, WebhookEndpoints>>;
}

/**
 * Somebody should look at an endpoint at a time: deliveries may be due then. It permits nothing. What is
 * attempted, as which attempt and whether at all, the rows and the target say when it is heard: a hint from
 * before a deletion, a switching off or on, or a retry by hand needs no generation to be told from a newer
 * one, it finds what is due now or nothing. `delivery` and `attempt` are for people who read the queues, and
 * for the choice of a lane.
 */
export interface Hint {
  readonly endpoint: Uuid;
  readonly delivery: DeliveryId | null;
  /** The number of the attempt that is due. */
  readonly attempt: number;
  readonly due: Milliseconds;
}

/**
 * Tells workers, wherever they run, what to look at. Hints may repeat, come late or get lost: the rows are
 * the truth, and workers sweep them.
 */
export interface DeliveryQueue {
  /** Never rejects: what can't be told is found by the sweep. */
  announce(hints: readonly Hint[]): Promise<void>;
  /** Calls `hear` for every hint until the signal aborts. */
  listen(hear: (hint: Hint) => void, signal: AbortSignal): Promise<void>;
}
