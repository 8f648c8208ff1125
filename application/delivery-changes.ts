import type { DeliveryChange } from './ports/deliveries.js';
import type { OrganizationId } from '../domain/ids.js';

/**
 * A watcher that is this far behind loses the oldest changes: a client that reads nothing must not fill the
 * memory.
 */
const longestBacklog = 10_000;

/** Hands changes of deliveries to those who watch, within one process. */
export class DeliveryChanges {
  readonly #watchers = new Map<OrganizationId, Set<(change: DeliveryChange) => void>>();

  get anybody(): boolean {
    return this.#watchers.size > 0;
  }

  /** Whether anybody watches the organization: only then changes have to be put together. */
  watched(org: OrganizationId): boolean {
    return this.#watchers.has(org);
  }

  publish(change: DeliveryChange): void {
    for (const tell of this.#watchers.get(change.delivery.org) ?? []) tell(change);
  }

  /** Watches from the call on, not from the first turn of the iteration. */
  watch(org: OrganizationId, signal: AbortSignal): AsyncIterable<DeliveryChange> {
    const waiting: DeliveryChange[] = [];
    let wake = (): void => undefined;
    const tell = (change: DeliveryChange) => {
      if (waiting.push(change) > longestBacklog) waiting.shift();
      wake();
    };
    const watchers = this.#watchers.get(org) ?? new Set();
    this.#watchers.set(org, watchers.add(tell));
    const leave = () => {
      watchers.delete(tell);
      if (watchers.size === 0 && this.#watchers.get(org) === watchers) this.#watchers.delete(org);
      wake();
    };
    signal.addEventListener('abort', leave, { once: true });
    if (signal.aborted) leave();
    return (async function* () {
      while (!signal.aborted) {
        const next = waiting.shift();
        if (next === undefined) await new Promise<void>((resolve) => (wake = resolve));
        else yield next;
      }
    })();
  }
}
