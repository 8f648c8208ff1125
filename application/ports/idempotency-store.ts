import { NamedError } from '../../domain/errors.js';
import type { CommandId, Instant, OrganizationId } from '../../domain/ids.js';
import type { Clock } from './system.js';

/**
 * A key in use: the card code that it will get, the command that works under it, and the ledger's revision
 * before anything could be spent for it.
 */
export interface KeyClaim {
  readonly org: OrganizationId;
  /**
   * The keyed hash of the organization and the Idempotency-Key: no store and no event holds the key itself.
   */
  readonly key: string;
  /** The keyed hash of the canonical JSON of the body. */
  readonly body: string;
  readonly code: string;
  readonly owner: CommandId;
  readonly ledgerRevision: number;
  readonly claimedAt: Instant;
}

export type ClaimOutcome =
  | { readonly kind: 'claimed' }
  /** The first request with this key and body made this card. */
  | { readonly kind: 'completed'; readonly code: string }
  /** Another request holds the key. It may be taken over once it is older than the claim timeout. */
  | { readonly kind: 'running'; readonly claim: KeyClaim }
  /** The key was used with another body. */
  | { readonly kind: 'reused' };

/** The store can't be reached. The request is refused, because a replay could make a second card. */
export class IdempotencyUnavailable extends NamedError {}

/**
 * Idempotency keys, remembered for at least 24 hours from `claimedAt`, per organization: a claim is answered
 * as of its own `claimedAt`, however late it comes here. Every change is a compare-and-set on (owner, code,
 * running); it returns false if the claim has changed hands. (docs/money.md, rule 6: claims are compared and
 * set) All methods throw IdempotencyUnavailable.
 */
export interface IdempotencyStore {
  /** By this clock keys age, and `claimedAt` is told. No jump of this machine's clock changes it. */
  readonly clock: Pick<Clock, 'now' | 'isAgreed'>;
  claim(wanted: KeyClaim): Promise<ClaimOutcome>;
  /**
   * Replaces a running claim by that of the next owner, with a new code or the same one. The claim timeout
   * starts over at the next owner's `claimedAt`; the 24 hours are not extended.
   */
  replace(held: KeyClaim, next: KeyClaim): Promise<boolean>;
  complete(held: KeyClaim): Promise<boolean>;
  release(held: KeyClaim): Promise<void>;
}

/** How long keys are remembered. (docs/contract.md#idempotency) */
export const answerTtl = 24 * 60 * 60 * 1000;

/** How much longer keys are kept, for claims that come here late. */
export const keptLonger = 60_000;
