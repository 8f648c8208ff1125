import type { LoggedEvent } from '../../../domain/events.js';

/**
 * Some batches of a follower. Many more would be copied by each collection of garbage while the service is
 * busy.
 */
const kept = 1024;

/** The newest events of the log, kept in memory so that live readers need not read them back. */
export class RecentEvents {
  readonly #events: (LoggedEvent | undefined)[] = Array.from({ length: kept });
  #first = 1;
  #last = 0;

  /** Events come in log order without a gap; where there is one, what came before it is forgotten. */
  add(event: LoggedEvent): void {
    const position = Number(event.position);
    if (position !== this.#last + 1) this.#first = position;
    this.#last = position;
    this.#first = Math.max(this.#first, position - kept + 1);
    this.#events[position % kept] = event;
  }

  /** Up to `limit` events after a position that is not the head, or null where they are not all here. */
  after(position: bigint, limit: number): readonly LoggedEvent[] | null {
    const from = Number(position) + 1;
    if (from < this.#first || from > this.#last) return null;
    const count = Math.min(limit, this.#last - from + 1);
    return Array.from({ length: count }, (_, index) => this.#at(from + index));
  }

  #at(position: number): LoggedEvent {
    const event = this.#events[position % kept];
    if (event === undefined) throw new Error(`position ${position} is not kept`);
    return event;
  }
}
