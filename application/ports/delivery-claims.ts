import type { Milliseconds, Uuid } from '../../domain/ids.js';
import type { DeliveryAttempt, DeliveryContent, DeliveryId } from './delivery-log.js';
import type { DeliveryEndpoint, TrippedEndpoint } from './endpoint-gates.js';
import type { Clock } from './system.js';

/**
 * The right to make one attempt. `number` counts from 1. It ends when it is recorded or released; if its
 * process has died, at once or some time later. From then on others may claim the delivery, and until one
 * does, the claim can still be recorded.
 */
export interface DeliveryClaim extends DeliveryContent {
  readonly id: string;
  readonly delivery: DeliveryId;
  readonly number: number;
  readonly endpoint: DeliveryEndpoint;
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

/** The state of a delivery after an attempt. */
export type AttemptOutcome =
  | { readonly status: 'delivered' }
  | { readonly status: 'exhausted' }
  | { readonly status: 'pending'; readonly due: Milliseconds };

/** `tripped`: the endpoint if it has tripped, by this attempt or an earlier one. */
export interface Recorded {
  readonly recorded: boolean;
  readonly tripped: TrippedEndpoint | null;
}

/** Permission for attempts, and their results. Each delivery is claimed by one worker at a time. */
export interface DeliveryClaims {
  /**
   * Every active endpoint with pending rows, and when the first of them can be claimed. A claimed row is
   * either left out or counts with the end of its claim, because the process that claimed it may have died.
   */
  dueTimes(): Promise<ReadonlyMap<Uuid, Milliseconds>>;

  /**
   * Makes due what would be due later than `within` from now: it was stored while a clock was ahead. A claim
   * of then lasts no longer than one that is made now. What is due by right stays, however long this takes.
   */
  hasten(clock: Pick<Clock, 'now'>, within: Milliseconds): Promise<void>;

  /**
   * Claims due deliveries of each endpoint up to its limit, earliest due first, then earliest made first;
   * none if the endpoint is disabled, tripped or deleted. Returns an entry for every endpoint in `limits`.
   * Where several processes share the store, a delivery that was found due by an earlier call keeps its place
   * if it is changed, and there may be fewer than are due: `next` is not later than `now` then.
   */
  claim(limits: ReadonlyMap<Uuid, number>, now: Milliseconds): Promise<ReadonlyMap<Uuid, EndpointClaims>>;

  /**
   * Whether a claim still holds and its endpoint is open: asked at the last moment before an attempt starts.
   * Where several processes share the store, changes by another process are known a second after the claim at
   * the latest, because it may not start any later. Never throws.
   */
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
}
