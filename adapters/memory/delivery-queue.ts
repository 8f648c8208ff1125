import type { DeliveryQueue, Hint } from '../../application/ports/delivery-queue.js';

/** Hints within one process. Every listener hears them at once. */
export class InProcessDeliveryQueue implements DeliveryQueue {
  readonly #listeners = new Set<(hint: Hint) => void>();

  async announce(hints: readonly Hint[]): Promise<void> {
    for (const hint of hints) for (const notify of this.#listeners) notify(hint);
  }

  async listen(notify: (hint: Hint) => void, signal: AbortSignal): Promise<void> {
    if (signal.aborted) return;
    this.#listeners.add(notify);
    await new Promise<void>((resolve) => signal.addEventListener('abort', () => resolve(), { once: true }));
    this.#listeners.delete(notify);
  }
}
