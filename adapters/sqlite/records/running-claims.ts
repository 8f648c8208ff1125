import type { KeyClaim } from '../../../application/ports/idempotency-store.js';
import type { Milliseconds } from '../../../domain/ids.js';
import type { CompletedKey } from '../writer/append.js';

interface RunningClaim {
  readonly claim: KeyClaim;
  /**
   * When the key was first accepted, in milliseconds since 1970. A take-over of the claim doesn't change it.
   * (decision 40: the 24 hours run from the first acceptance)
   */
  readonly acceptedAt: number;
}

const nameOf = ({ org, key }: KeyClaim): string => `${org}\n${key}`;
const sameHolder = (a: KeyClaim, b: KeyClaim): boolean => a.owner === b.owner && a.code === b.code;

/** The claims that requests of this process work under. They are only in memory: a crash leaves none. */
export class RunningClaims {
  readonly #running = new Map<string, RunningClaim>();

  /** The claim on the key of `wanted`, or null. */
  onKeyOf(wanted: KeyClaim): KeyClaim | null {
    return this.#running.get(nameOf(wanted))?.claim ?? null;
  }

  /**
   * `now`: by the machine's clock, by which the next process tells the age of the key. If that is ahead of
   * the claim's, the machine has slept, or began with a wrong clock: the key is kept for longer.
   */
  start(claim: KeyClaim, now: Milliseconds): void {
    this.#running.set(nameOf(claim), { claim, acceptedAt: Math.max(Date.parse(claim.claimedAt), now) });
  }

  /** Returns false if `held` is not the running claim on its key. */
  replace(held: KeyClaim, next: KeyClaim): boolean {
    const found = this.#find(held);
    if (found === null) return false;
    this.#running.set(nameOf(held), { claim: next, acceptedAt: found.acceptedAt });
    return true;
  }

  isRunning(claim: KeyClaim): boolean {
    return this.#find(claim) !== null;
  }

  /** Removes a claim that is completed or released, unless another owner has taken it over. */
  remove(claim: KeyClaim): void {
    if (this.isRunning(claim)) this.#running.delete(nameOf(claim));
  }

  /** The key as it is stored when the claim is completed. */
  completedKey(claim: KeyClaim): CompletedKey {
    const { org, key, body, code } = claim;
    const now = Date.parse(claim.claimedAt);
    return { org, key, body, code, now, acceptedAt: this.#find(claim)?.acceptedAt ?? now };
  }

  #find(claim: KeyClaim): RunningClaim | null {
    const found = this.#running.get(nameOf(claim));
    return found !== undefined && sameHolder(found.claim, claim) ? found : null;
  }
}
