import type { KeyClaim } from '../../../application/ports/idempotency-store.js';
import type { CompletedKey } from '../writer/append.js';

interface Running {
  readonly claim: KeyClaim;
  /**
   * When the key was first accepted, in milliseconds since 1970: its 24 hours run from there, whoever takes
   * the claim over. (decision 40)
   */
  readonly acceptedAt: number;
}

const nameOf = ({ org, key }: KeyClaim): string => `${org}\n${key}`;
const sameHolder = (a: KeyClaim, b: KeyClaim): boolean => a.owner === b.owner && a.code === b.code;

/** The claims that requests of this process work on. They live in memory alone: a crash leaves none. */
export class RunningClaims {
  readonly #running = new Map<string, Running>();

  /** The claim that holds the key of `wanted`, whoever it belongs to. */
  holding(wanted: KeyClaim): KeyClaim | null {
    return this.#running.get(nameOf(wanted))?.claim ?? null;
  }

  start(claim: KeyClaim): void {
    this.#running.set(nameOf(claim), { claim, acceptedAt: Date.parse(claim.claimedAt) });
  }

  /** False where `held` is not the claim that holds its key. */
  replace(held: KeyClaim, next: KeyClaim): boolean {
    const found = this.#held(held);
    if (found === null) return false;
    this.#running.set(nameOf(held), { claim: next, acceptedAt: found.acceptedAt });
    return true;
  }

  holds(claim: KeyClaim): boolean {
    return this.#held(claim) !== null;
  }

  /** Forgets a claim that is completed or released; one that has changed hands stays. */
  settle(claim: KeyClaim): void {
    if (this.holds(claim)) this.#running.delete(nameOf(claim));
  }

  /** The key as it is to be remembered once the claim is completed. */
  completedKey(claim: KeyClaim): CompletedKey {
    const { org, key, body, code } = claim;
    return { org, key, body, code, acceptedAt: this.#held(claim)?.acceptedAt ?? Date.parse(claim.claimedAt) };
  }

  #held(claim: KeyClaim): Running | null {
    const found = this.#running.get(nameOf(claim));
    return found !== undefined && sameHolder(found.claim, claim) ? found : null;
  }
}
