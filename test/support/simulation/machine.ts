import type { Clock } from '../../../application/ports/system.js';
import type { Milliseconds } from '../../../domain/ids.js';

/** What a process runs on. While it is suspended nothing of it goes on, not even its monotonic clock. */
export class Machine {
  #suspended: Milliseconds = 0;
  #since: Milliseconds | null = null;
  #resumed: Promise<void> | null = null;

  constructor(private readonly clock: Clock) {}

  /** For how long it has been suspended, in all. */
  get suspended(): Milliseconds {
    return this.#suspended + (this.#since === null ? 0 : this.clock.monotonic() - this.#since);
  }

  /** `resume` ends it early. */
  suspend(time: Milliseconds, resume: AbortSignal): void {
    if (this.#since !== null) return;
    this.#since = this.clock.monotonic();
    this.#resumed = this.clock.sleep(time, resume).then(() => {
      this.#suspended = this.suspended;
      this.#since = null;
      this.#resumed = null;
    });
  }

  /** Null if it is at work, so that nothing waits then. */
  awake(): Promise<void> | null {
    return this.#resumed;
  }
}
