import type { Milliseconds } from '../domain/ids.js';
import type { Clock } from './ports/system.js';
import { larger, smallest } from './positions.js';

/**
 * Where a projection stands. Until it is `live` it catches up with the log. `rebuilding`: the checkpoint of
 * the build that will take its place.
 */
export interface ProjectionStatus {
  readonly name: string;
  readonly version: number;
  readonly checkpoint: bigint;
  readonly live: boolean;
  readonly rebuilding: bigint | null;
}

/** `down`: why the projector does nothing at the moment; null while it works. */
export interface ProjectorStatus {
  readonly down: string | null;
  readonly projections: readonly ProjectionStatus[];
}

/** What a projector tells. */
export interface ProjectorReports {
  status(status: ProjectorStatus): void;
  /** The live projections have passed the position. */
  moved(position: bigint): void;
}

/**
 * How long anybody waits for the read models: from the call on, or since the projector went down. (decision
 * 34)
 */
export const longestWait: Milliseconds = 5_000;

interface Waiter {
  readonly position: bigint;
  readonly deadline: Milliseconds;
  readonly resolve: () => void;
}

/**
 * What is known of a projector, which may run in another thread: answers those who wait for it and those who
 * ask how it is.
 */
export class ProjectionBoard implements ProjectorReports {
  readonly #clock: Clock;
  readonly #closed = new AbortController();
  #status: ProjectorStatus = { down: 'The projector has not started yet.', projections: [] };
  /** Since when the projector does nothing; null while it works. */
  #downSince: Milliseconds | null;
  #moved = 0n;
  #checkpoint = 0n;
  /** The last position that somebody gave up waiting for. */
  #missed = 0n;
  /** Whether it has ever worked: at the start nobody has given up on it. */
  #hasWorked = false;
  /** When the projector went on after it was down: other processes may have given up meanwhile. */
  #wentOnAt: Milliseconds | null = null;
  /** By position. */
  #waiters: Waiter[] = [];
  #watching = false;
  readonly #listeners = new Set<() => void>();

  constructor(clock: Clock) {
    this.#clock = clock;
    this.#downSince = clock.monotonic();
  }

  current(): ProjectorStatus {
    const { down, projections } = this.#status;
    return {
      down,
      projections: projections.map((known) =>
        known.live && known.checkpoint < this.#moved ? { ...known, checkpoint: this.#moved } : known,
      ),
    };
  }

  /** No projection catches up with the log: all follow it. */
  isLive(): boolean {
    return this.#status.projections.every(({ live }) => live);
  }

  /** Whether a write may have been acknowledged that the projections have not passed yet. */
  isLate(): boolean {
    const isCatchingUp = this.#wentOnAt !== null && this.#clock.monotonic() < this.#wentOnAt + longestWait;
    return this.#status.down !== null || isCatchingUp || !this.isLive() || this.#missed > this.#checkpoint;
  }

  /**
   * Resolves when every active projection has passed the position; after `longestWait` at the latest, and at
   * once if the projector has been down for that long.
   */
  waitUntilProjected(position: bigint): Promise<void> {
    const now = this.#clock.monotonic();
    const deadline = (this.#downSince ?? now) + longestWait;
    if (position <= this.#checkpoint || this.#closed.signal.aborted) return Promise.resolve();
    if (deadline <= now) {
      this.#missed = larger(this.#missed, position);
      return Promise.resolve();
    }
    return new Promise((resolve) => {
      const place = this.#waiters.findLastIndex((waiter) => waiter.position <= position) + 1;
      this.#waiters.splice(place, 0, { position, deadline, resolve });
      for (const listener of this.#listeners) listener();
      if (!this.#watching) void this.#watch();
    });
  }

  isAwaited(): boolean {
    return this.#waiters.length > 0;
  }

  /** Calls `listener` whenever somebody begins to wait. Answers how to stop that. */
  onAwaited(listener: () => void): () => void {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  }

  status(status: ProjectorStatus): void {
    if (this.#status.down !== null && status.down === null && this.#hasWorked)
      this.#wentOnAt = this.#clock.monotonic();
    if (status.down === null) this.#hasWorked = true;
    this.#status = status;
    this.#downSince = status.down === null ? null : (this.#downSince ?? this.#clock.monotonic());
    this.#moved = 0n;
    if (status.projections.length > 0)
      this.#checkpoint = smallest(status.projections.map(({ checkpoint }) => checkpoint));
    this.#releasePassed();
  }

  moved(position: bigint): void {
    this.#moved = position;
    const behind = this.#status.projections.filter(({ live }) => !live);
    this.#checkpoint =
      behind.length === 0 ? position : smallest([position, ...behind.map(({ checkpoint }) => checkpoint)]);
    this.#releasePassed();
  }

  /** Nobody waits any longer. */
  close(): void {
    this.#closed.abort();
    this.status({ ...this.#status, down: 'The projector is closed.' });
    this.#release(this.#waiters.splice(0));
  }

  #releasePassed(): void {
    const passed = this.#waiters.findIndex(({ position }) => position > this.#checkpoint);
    this.#release(this.#waiters.splice(0, passed === -1 ? this.#waiters.length : passed));
  }

  #release(waiters: readonly Waiter[]): void {
    for (const { resolve } of waiters) resolve();
  }

  async #watch(): Promise<void> {
    this.#watching = true;
    while (this.#waiters.length > 0 && !this.#closed.signal.aborted) {
      const next = Math.min(...this.#waiters.map(({ deadline }) => deadline));
      await this.#clock.sleep(Math.max(1, next - this.#clock.monotonic()), this.#closed.signal);
      const now = this.#clock.monotonic();
      const impatient = this.#waiters.filter(({ deadline }) => deadline <= now);
      this.#waiters = this.#waiters.filter(({ deadline }) => deadline > now);
      this.#missed = impatient.reduce((last, { position }) => larger(last, position), this.#missed);
      this.#release(impatient);
    }
    this.#watching = false;
  }
}
