import { messageOf } from '../../domain/errors.js';
import type { Milliseconds } from '../../domain/ids.js';
import type { Clock } from '../ports/system.js';

const usualWait: Milliseconds = 1_000;

/**
 * Whether a store takes writes. After a refusal it counts as failing until a write succeeds: if none has come
 * for a while, a small one is made when the health is asked for. No probe is made while all is well.
 */
export class WriteHealth {
  #failure: string | null = null;
  #triedAt: Milliseconds = 0;

  constructor(
    private readonly clock: Clock,
    private readonly probe: () => Promise<unknown>,
    private readonly wait = usualWait,
  ) {}

  /** A write was refused, or with null one succeeded. */
  wrote(error: unknown): void {
    this.#failure = error === null ? null : messageOf(error);
    this.#triedAt = this.clock.monotonic();
  }

  /** Why writes fail; null if they don't. */
  async failure(): Promise<string | null> {
    const now = this.clock.monotonic();
    if (this.#failure === null || now < this.#triedAt + this.wait) return this.#failure;
    this.#triedAt = now;
    this.#failure = await this.probe().then(() => null, messageOf);
    return this.#failure;
  }
}
