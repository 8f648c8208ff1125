import type { Place } from './event-store.js';
import type { Page } from './read-models.js';
import type { AttemptResult } from './webhook-sender.js';
import type { Brand, Milliseconds, OrganizationId, Uuid } from '../../domain/ids.js';

/** One event for one endpoint. Derived from both, so it never changes. */
export type DeliveryId = Brand<string, 'DeliveryId'>;

/** `exhausted` is a dead letter: no attempt is left. (decision 61: how deliveries end) */
export const deliveryStatuses = ['pending', 'delivered', 'exhausted', 'dropped'] as const;
export type DeliveryStatus = (typeof deliveryStatuses)[number];

/** The content of a delivery, and the number of its attempts. */
export interface DeliveryContent {
  /** `evt_…` */
  readonly event: string;
  readonly type: string;
  readonly card: string;
  readonly occurredAt: Milliseconds;
  /** The place of the request that caused the event in a trace of its client or of an SDK; absent if none. */
  readonly traceparent?: string;
  /** The JSON that is sent: these characters in UTF-8, on every attempt. */
  readonly body: string;
  /** How many attempts may be made. */
  readonly allowed: number;
}

/** A delivery as the relay makes it. Times are milliseconds since 1970. */
export interface NewDelivery extends DeliveryContent {
  readonly id: DeliveryId;
  readonly org: OrganizationId;
  readonly endpoint: Uuid;
  /** Of the domain event in the log. */
  readonly position: bigint;
  readonly due: Milliseconds;
  /** The end of the retry window: if the endpoint is disabled then, the delivery is dropped. */
  readonly expires: Milliseconds;
  /** Why it is dropped without an attempt; null if it isn't. */
  readonly dropReason: string | null;
}

export interface DeliveryAttempt extends AttemptResult {
  readonly at: Milliseconds;
}

/** Why a delivery was dropped whose endpoint stayed disabled. (decision 61: the window's end drops it) */
export const expiredReason = 'the endpoint stayed disabled until the end of the retry window';

/** Why a delivery was dropped whose card was erased. */
export const erasedReason = 'personal data erased';

/** How many attempts of a delivery are kept: it may be retried by hand any number of times. */
export const attemptsKept = 50;

export interface Delivery extends Omit<NewDelivery, 'due'> {
  readonly status: DeliveryStatus;
  /** The last ones, at most `attemptsKept`. */
  readonly attempts: readonly DeliveryAttempt[];
  readonly made: number;
  /** Null once it has ended. */
  readonly due: Milliseconds | null;
}

export interface DeliveryFilter {
  readonly endpoint: string | null;
  readonly status: DeliveryStatus | null;
  readonly type: string | null;
  readonly card: string | null;
}

/** Dead letters of events from one place to another, both included. */
export interface DeadLetterFilter {
  readonly from: Place;
  readonly to: Place | null;
  readonly endpoint: string | null;
}

/** `counts`: how many there are, by endpoint. `more`: some of them become due in the background. */
export interface Redriven {
  readonly counts: ReadonlyMap<Uuid, number>;
  readonly more: boolean;
}

/** An adapter may count no further than 100,000. */
export interface QueueDepth {
  /** Pending deliveries, without endpoints that nothing is sent to. */
  readonly pending: number;
  readonly deadLetters: number;
  /** Of each organization, the due time of the oldest delivery that could be attempted now. */
  readonly oldestDue: ReadonlyMap<OrganizationId, Milliseconds>;
  /** Endpoints that failed so often, or were switched off, that nothing is sent to them. */
  readonly disabledEndpoints: number;
}

/** A delivery was made, attempted, or changed otherwise; with the row after the change. */
export interface DeliveryChange {
  readonly kind: 'made' | 'attempted' | 'changed';
  readonly delivery: Delivery;
}

/**
 * The deliveries: one row for each event and endpoint, `pending` until it is delivered, exhausted, or dropped
 * with a reason. The rows decide what is sent; queues only carry hints.
 */
export interface DeliveryLog {
  /**
   * Adds deliveries, each named once; existing ids are unchanged. Deliveries of deleted endpoints are added
   * as dropped. Returns the added ids.
   */
  insert(rows: readonly NewDelivery[]): Promise<readonly DeliveryId[]>;

  /**
   * Drops the pending rows of deleted endpoints, and of disabled ones after their window, some at a time; or
   * only those of one endpoint. Returns how many it dropped.
   */
  dropExpired(now: Milliseconds, of?: Uuid): Promise<number>;

  /**
   * Removes the deliveries that ended before a time, some at a time. Returns how many it removed. The time is
   * earlier than any claim that may still be recorded. Endpoints that were deleted before it, and cards that
   * were erased, may be forgotten: nothing of before is added or inserted for them any more.
   */
  removeEnded(before: Milliseconds): Promise<number>;

  /**
   * Continues redrives, also from before a restart, some rows at a time. Returns the endpoints to which
   * something became due.
   */
  continueRedrives(): Promise<ReadonlySet<Uuid>>;

  /**
   * Makes a delivery due now. An exhausted or dropped one gets one more attempt. Its window, or that of a
   * pending one if it has ended, ends at `expires`. `refused`: it was delivered, or its endpoint is deleted
   * or unknown. (decision 62: a retry makes a delivery due now)
   */
  retry(
    org: OrganizationId,
    id: string,
    now: Milliseconds,
    expires: Milliseconds,
  ): Promise<{ readonly endpoint: Uuid } | 'unknown' | 'refused'>;

  /**
   * Makes dead letters due now, each for one more attempt, except for deleted or unknown endpoints. Rows
   * beyond one step are left to `continueRedrives`.
   */
  redrive(
    org: OrganizationId,
    which: DeadLetterFilter,
    now: Milliseconds,
    expires: Milliseconds,
  ): Promise<Redriven>;

  /**
   * Adds the missing deliveries, each named once. Makes exhausted and dropped ones due as in `rows`, with at
   * least one more attempt. Returns how many it added or made due.
   */
  replay(rows: readonly NewDelivery[]): Promise<number>;

  /** Newest first, after the delivery `startingAfter`; null if that is no delivery of the organization. */
  page(org: OrganizationId, filter: DeliveryFilter, page: Page): Promise<readonly Delivery[] | null>;

  /** Dead letters of all organizations, newest first, after `startingAfter`; null if that is no delivery. */
  deadLetters(page: Page): Promise<readonly Delivery[] | null>;

  /** One delivery of the organization; null if it has none of that id. */
  get(org: OrganizationId, id: string): Promise<Delivery | null>;

  /**
   * Removes everything personal from a card's deliveries: from the bodies, and from the responses. Pending
   * ones are dropped. Deliveries that are stored or attempted later hold nothing personal, and once this
   * returns, no attempt starts that would send it.
   */
  erase(card: string, now: Milliseconds): Promise<void>;

  depth(now: Milliseconds): Promise<QueueDepth>;

  /**
   * Every change of an organization's deliveries from now on, until the signal aborts; changes of one
   * delivery come in their order. Of several changes by another process, or of erasures in an ended delivery,
   * a watcher may see only the last one, or none.
   */
  watch(org: OrganizationId, signal: AbortSignal): AsyncIterable<DeliveryChange>;
}
