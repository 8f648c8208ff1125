import {
  IdempotencyUnavailable,
  keptLonger,
  answerTtl,
  type KeyClaim,
  type ClaimOutcome,
  type IdempotencyStore,
} from '../../../application/ports/idempotency-store.js';
import type { Clock } from '../../../application/ports/system.js';
import type { Milliseconds } from '../../../domain/ids.js';

interface Entry {
  readonly claim: KeyClaim;
  readonly completed: boolean;
  readonly expires: Milliseconds;
}

const nameOf = ({ org, key }: Pick<KeyClaim, 'org' | 'key'>) => `${org} ${key}`;

/** Idempotency keys in memory. */
export class MemoryIdempotencyStore implements IdempotencyStore {
  /** While true, every call throws IdempotencyUnavailable. */
  away = false;
  readonly clock: Pick<Clock, 'now'>;
  readonly #entries = new Map<string, Entry>();

  constructor(clock: Pick<Clock, 'now'>) {
    this.clock = clock;
  }

  async claim(wanted: KeyClaim): Promise<ClaimOutcome> {
    this.#assertReachable();
    this.#forgetExpired();
    const name = nameOf(wanted);
    const entry = this.#entries.get(name);
    if (entry === undefined || entry.expires <= Date.parse(wanted.claimedAt)) {
      this.#entries.delete(name);
      this.#entries.set(name, {
        claim: wanted,
        completed: false,
        expires: Date.parse(wanted.claimedAt) + answerTtl,
      });
      return { kind: 'claimed' };
    }
    if (entry.claim.body !== wanted.body) return { kind: 'reused' };
    return entry.completed
      ? { kind: 'completed', code: entry.claim.code }
      : { kind: 'running', claim: entry.claim };
  }

  async replace(held: KeyClaim, next: KeyClaim): Promise<boolean> {
    return this.#replaceEntry(held, (entry) => ({ ...entry, claim: next }));
  }

  async complete(held: KeyClaim): Promise<boolean> {
    return this.completeNow(held);
  }

  async release(held: KeyClaim): Promise<void> {
    this.#replaceEntry(held, () => null);
  }

  /** `complete` in the same step as the caller's own writes: for an event store that completes claims. */
  completeNow(held: KeyClaim): boolean {
    return this.#replaceEntry(held, (entry) => ({ ...entry, completed: true }));
  }

  /** Forgets the claims that are not completed, as the embedded engine does when its process ends. */
  forgetRunning(): void {
    for (const [name, { completed }] of this.#entries) if (!completed) this.#entries.delete(name);
  }

  /**
   * Replaces the entry of a running claim, or removes it. Returns false if `held` is not the running claim.
   */
  #replaceEntry(held: KeyClaim, nextOf: (entry: Entry) => Entry | null): boolean {
    this.#assertReachable();
    const name = nameOf(held);
    const entry = this.#entries.get(name);
    if (entry === undefined || entry.completed || entry.expires <= this.clock.now()) return false;
    if (entry.claim.owner !== held.owner || entry.claim.code !== held.code) return false;
    const next = nextOf(entry);
    if (next === null) this.#entries.delete(name);
    else this.#entries.set(name, next);
    return true;
  }

  #assertReachable() {
    if (this.away) throw new IdempotencyUnavailable('the idempotency keys are away');
  }

  /** Entries are in the order of their claims, oldest first. */
  #forgetExpired() {
    for (const [name, { expires }] of this.#entries) {
      if (expires + keptLonger > this.clock.now()) return;
      this.#entries.delete(name);
    }
  }
}
