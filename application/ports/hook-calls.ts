import type { ErrorCode } from '../../domain/errors.js';
import type { Instant, OrganizationId, Uuid } from '../../domain/ids.js';

/**
 * One POST to a hook that exists or existed, and what came of it. The token is nowhere in it. (decision 50)
 */
export interface HookCall {
  readonly id: Uuid;
  readonly hook: Uuid;
  readonly org: OrganizationId;
  readonly at: Instant;
  /** The HTTP status of the answer. */
  readonly status: number;
  /** The refusal's code; null on success. */
  readonly code: ErrorCode | null;
  /** The card that was made; null on a refusal. */
  readonly card: string | null;
  readonly requestId: string;
}

/** How often a hook has made a card, and when it last did. */
export interface HookUse {
  readonly fireCount: number;
  readonly lastFiredAt: Instant | null;
}

export const unusedHook: HookUse = { fireCount: 0, lastFiredAt: null };

/** The status of an answer that counts as a fire. (decision 50) */
export const firedStatus = 201;

export class HookCallsUnavailable extends Error {
  override readonly name = 'HookCallsUnavailable';
}

/**
 * The call log of the inbound hooks: operational records, not domain events. A call that was recorded
 * survives a restart, and whoever asks next finds it. All throw HookCallsUnavailable.
 */
export interface HookCalls {
  /** Recording a call again, by its id, changes nothing. */
  record(call: HookCall): Promise<void>;
  /**
   * A hook's calls, newest first by the order of recording, after the call `startingAfter`. Null: that call
   * is not one of the hook's.
   */
  page(
    hook: Uuid,
    query: { readonly startingAfter: string | null; readonly limit: number },
  ): Promise<readonly HookCall[] | null>;
  /** What the hooks asked for have done. A hook that was never called is `unused` or missing. */
  use(hooks: readonly Uuid[]): Promise<ReadonlyMap<Uuid, HookUse>>;
}
