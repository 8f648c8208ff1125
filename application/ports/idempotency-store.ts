import type { CommandId, Instant, OrganizationId } from '../../domain/ids.js';

/**
 * A key in use: the card code it will get, who works on it, and the ledger's revision before anything could
 * have been spent for it.
 */
export interface KeyClaim {
  readonly org: OrganizationId;
  /** The Idempotency-Key as the client sent it, trimmed. */
  readonly key: string;
  /** SHA-256 of the canonical JSON of the body, hex. */
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
  /** Another request holds the key. Older than the claim timeout, it may be taken over. */
  | { readonly kind: 'running'; readonly claim: KeyClaim }
  /** The key belongs to another body. */
  | { readonly kind: 'reused' };

/** The store can't be reached: the request is refused. (spec: Idempotency, "replay cache unreachable") */
export class IdempotencyUnavailable extends Error {
  override readonly name = 'IdempotencyUnavailable';
}

/**
 * Idempotency keys, remembered for 24 hours from `claimedAt`, scoped to the organization.
 * Every change is a compare-and-set on (owner, code, running): it answers false where the claim has changed
 * hands. (money.md, rule 6) All throw IdempotencyUnavailable.
 */
export interface IdempotencyStore {
  claim(wanted: KeyClaim): Promise<ClaimOutcome>;
  /**
   * Replaces a running claim by the next owner's, with a new code or the same one. `claimedAt` of the answer
   * is the next owner's; the 24 hours are not extended.
   */
  replace(held: KeyClaim, next: KeyClaim): Promise<boolean>;
  complete(held: KeyClaim): Promise<boolean>;
  release(held: KeyClaim): Promise<void>;
}

/** Keys are remembered this long. (spec: Idempotency) */
export const rememberedFor = 24 * 60 * 60 * 1000;
