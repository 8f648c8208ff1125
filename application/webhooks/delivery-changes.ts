import type { DeliveryChange } from '../ports/delivery-log.js';
import type { OrganizationId } from '../../domain/ids.js';

/**
 * A watcher with more unread changes loses the oldest, so that a client that doesn't read can't fill the
 * memory.
 */
const maxBacklog = 1_000;

/** Passes changes of deliveries to the watchers in this process. */
export class DeliveryChanges {
  readonly #watchers = new Map<OrganizationId, Set<(change: DeliveryChange) => void>>();

  get hasWatchers(): boolean {
    return this.#watchers.size > 0;
  }

  /** Whether the organization is watched. If it isn't, its changes need not be read. */
  isWatched(org: OrganizationId): boolean {
    return this.#watchers.has(org);
  }

  publish(change: DeliveryChange): void {
    for (const notify of this.#watchers.get(change.delivery.org) ?? []) notify(change);
  }

  /** The changes from this call on, not only from the first step of the iteration. */
  watch(org: OrganizationId, signal: AbortSignal): AsyncIterable<DeliveryChange> {
    const unread: DeliveryChange[] = [];
    let wake = (): void => undefined;
    const notify = (change: DeliveryChange) => {
      if (unread.push(change) > maxBacklog) unread.shift();
      wake();
    };
    const watchers = this.#watchers.get(org) ?? new Set();
    this.#watchers.set(org, watchers.add(notify));
    const leave = () => {
      watchers.delete(notify);
      if (watchers.size === 0 && this.#watchers.get(org) === watchers) this.#watchers.delete(org);
      wake();
    };
    signal.addEventListener('abort', leave, { once: true });
    if (signal.aborted) leave();
    return (async function* () {
      while (!signal.aborted) {
        const next = unread.shift();
        if (next === undefined) await new Promise<void>((resolve) => (wake = resolve));
        else yield next;
      }
    })();
  }
}
