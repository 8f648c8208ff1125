import type { NewDelivery } from '../ports/delivery-log.js';
import type { DeliveryQueue } from '../ports/delivery-queue.js';

/** How many hints may be on their way to the workers before there is only one per endpoint. */
const mostHints = 5_000;

/**
 * Tells workers of deliveries without waiting for it: a sweep finds what a hint should have told. Deliveries
 * that existed already are announced too, because a crash may have lost their hints.
 */
export class Hints {
  readonly #underWay = new Set<Promise<void>>();
  #count = 0;

  constructor(private readonly queue: DeliveryQueue) {}

  announce(rows: readonly NewDelivery[]): void {
    const waiting = rows.filter(({ dropReason }) => dropReason === null);
    const all = waiting.map(({ id: delivery, endpoint, due }) => ({ delivery, endpoint, attempt: 1, due }));
    const hints =
      this.#count + all.length <= mostHints
        ? all
        : [...new Map(all.map((hint) => [hint.endpoint, hint])).values()];
    if (hints.length === 0) return;
    this.#count += hints.length;
    const announced = this.queue.announce(hints).finally(() => {
      this.#count -= hints.length;
      this.#underWay.delete(announced);
    });
    this.#underWay.add(announced);
  }

  async arrived(): Promise<void> {
    await Promise.all(this.#underWay);
  }
}
