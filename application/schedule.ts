import type { Milliseconds, Uuid } from '../domain/ids.js';

/** How often an endpoint's cap is halved at most. It never falls below one. */
const mostHalvings = 16;

/** What an attempt says of its endpoint. `neither`: it was not made, or can't be judged. */
export type Verdict = 'succeeded' | 'failed' | 'neither';

/**
 * Whose deliveries a worker attempts next, and how many at a time. It waits for nothing and reads no clock:
 * the worker tells it what has happened and when, and asks what to claim.
 */
export class Schedule {
  readonly #perEndpoint: number;
  /** Endpoints that may have something due, in the order in which they are served. */
  readonly #turns = new Set<Uuid>();
  /** When to look at an endpoint again, and the earliest of these times. */
  readonly #dueTimes = new Map<Uuid, Milliseconds>();
  #nextDue: Milliseconds = Infinity;
  readonly #running = new Map<Uuid, number>();
  /** Consecutive failures that this worker has seen. An endpoint that fails gets fewer attempts at a time. */
  readonly #failures = new Map<Uuid, number>();
  #total = 0;

  constructor({ perEndpoint }: { readonly perEndpoint: number }) {
    this.#perEndpoint = perEndpoint;
  }

  /** The attempts under way. */
  get running(): number {
    return this.#total;
  }

  /** Whether any endpoint waits for its turn. */
  get hasTurns(): boolean {
    return this.#turns.size > 0;
  }

  /** When an endpoint gets its turn next by the clock; Infinity if none does. */
  get nextDue(): Milliseconds {
    return this.#nextDue;
  }

  /** Something of the endpoint may be due at a time. */
  lookAt(endpoint: Uuid, due: Milliseconds, now: Milliseconds): void {
    if (due <= now) {
      this.#turns.add(endpoint);
      return;
    }
    const known = this.#dueTimes.get(endpoint);
    if (known === undefined || due < known) this.#dueTimes.set(endpoint, due);
    if (due < this.#nextDue) this.#nextDue = due;
  }

  /** Gives their turn to the endpoints whose time has come. */
  takeDue(now: Milliseconds): void {
    if (now < this.#nextDue) return;
    this.#nextDue = Infinity;
    for (const [endpoint, due] of this.#dueTimes) {
      if (due > now) this.#nextDue = Math.min(due, this.#nextDue);
      else {
        this.#dueTimes.delete(endpoint);
        this.#turns.add(endpoint);
      }
    }
  }

  /**
   * How many deliveries of which endpoints to claim, if `free` more attempts may start. The free attempts are
   * shared among the endpoints whose turn it is. One that is at its cap gets its next turn when one of its
   * attempts has ended.
   */
  nextTurns(free: number): ReadonlyMap<Uuid, number> {
    const limits = new Map<Uuid, number>();
    const share = Math.ceil(free / this.#turns.size);
    let left = free;
    for (const endpoint of this.#turns) {
      if (left === 0) break;
      this.#turns.delete(endpoint);
      const limit = Math.min(this.#capOf(endpoint) - this.#runningOf(endpoint), share, left);
      if (limit <= 0) continue;
      limits.set(endpoint, limit);
      left -= limit;
    }
    return limits;
  }

  started(endpoint: Uuid): void {
    this.#total++;
    this.#running.set(endpoint, this.#runningOf(endpoint) + 1);
  }

  /**
   * An attempt ended. The endpoint gets its next turn at `next`, which counts from here: a turn that came
   * earlier would find the endpoint at its cap, and no other would follow.
   */
  ended(endpoint: Uuid, verdict: Verdict, next: Milliseconds, now: Milliseconds): void {
    this.#total--;
    const left = this.#runningOf(endpoint) - 1;
    if (left > 0) this.#running.set(endpoint, left);
    else this.#running.delete(endpoint);
    if (verdict === 'succeeded') this.#failures.delete(endpoint);
    if (verdict === 'failed')
      this.#failures.set(endpoint, Math.min(mostHalvings, (this.#failures.get(endpoint) ?? 0) + 1));
    this.lookAt(endpoint, next, now);
  }

  #runningOf(endpoint: Uuid): number {
    return this.#running.get(endpoint) ?? 0;
  }

  #capOf(endpoint: Uuid): number {
    return Math.max(1, this.#perEndpoint >> (this.#failures.get(endpoint) ?? 0));
  }
}
