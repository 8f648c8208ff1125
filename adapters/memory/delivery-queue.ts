import type { DeliveryQueue, Hint } from '../../application/ports/deliveries.js';

/** Hints within one process: heard at once by everybody who listens. */
export class InProcessDeliveryQueue implements DeliveryQueue {
  readonly #listeners = new Set<(hint: Hint) => void>();

  async announce(hints: readonly Hint[]): Promise<void> {
    for (const hint of hints) for (const hear of this.#listeners) hear(hint);
  }

  async listen(hear: (hint: Hint) => void, signal: AbortSignal): Promise<void> {
    if (signal.aborted) return;
    this.#listeners.add(hear);
    await new Promise<void>((resolve) => signal.addEventListener('abort', () => resolve(), { once: true }));
    this.#listeners.delete(hear);
  }
}
