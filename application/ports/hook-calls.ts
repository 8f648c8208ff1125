import { type ErrorCode, NamedError } from '../../domain/errors.js';
import type { Instant, Milliseconds, OrganizationId, Uuid } from '../../domain/ids.js';
import type { Page } from './read-models.js';

/**
 * One call of a hook that exists or existed, and its result, without the token. (decision 50: the call log)
 */
export interface HookCall {
  readonly id: Uuid;
  readonly hook: Uuid;
  readonly org: OrganizationId;
  readonly at: Instant;
  /** The HTTP status of the response; 0 if there was none, because the outcome is unknown. */
  readonly status: number;
  /** Why the call was refused; null if it wasn't. */
  readonly code: ErrorCode | null;
  /** The card that was made, or null. */
  readonly card: string | null;
  readonly requestId: string;
}

/** How many cards a hook has made, and when it made the last one. */
export interface HookUse {
  readonly fireCount: number;
  readonly lastFiredAt: Instant | null;
}

export const unusedHook: HookUse = { fireCount: 0, lastFiredAt: null };

export class HookCallsUnavailable extends NamedError {}

/**
 * The call log of the inbound hooks: operational records, not domain events. A recorded call survives a
 * restart, and the next query shows it, until it is old. All throw HookCallsUnavailable.
 */
export interface HookCalls {
  /** Recording a call with the same id again changes nothing. */
  record(call: HookCall): Promise<void>;
  /** Last recorded first, after the call `startingAfter`; null if that is no call of the hook. */
  page(hook: Uuid, page: Page): Promise<readonly HookCall[] | null>;
  /** By hook. One that was never called has `unusedHook`, or is missing. Counts outlive the calls. */
  use(hooks: readonly Uuid[]): Promise<ReadonlyMap<Uuid, HookUse>>;
  /**
   * Removes calls from before a time that are not among the newest 1,000 of their hook (or a few more), in
   * small steps, until the signal aborts. Does nothing if the store removes them by itself.
   */
  removeOld(before: Milliseconds, signal: AbortSignal): Promise<void>;
}

/** How many calls of a hook are kept, however old they are. */
export const newestKept = 1_000;
