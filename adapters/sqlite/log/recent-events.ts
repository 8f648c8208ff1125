import type { LoggedEvent } from '../../../domain/events.js';

/** A few batches of a follower. Many more would make each garbage collection of a busy service dearer. */
const capacity = 1024;

/** The newest events of the log, kept in memory so that followers need not read them from the file. */
export class RecentEvents {
  readonly #events: (LoggedEvent | undefined)[] = Array.from({ length: capacity });
  #first = 1;
  #last = 0;

  /** Events come in log order. After a gap, the events before it are forgotten. */
  add(event: LoggedEvent): void {
    const position = Number(event.position);
    if (position !== this.#last + 1) this.#first = position;
    this.#last = position;
    this.#first = Math.max(this.#first, position - capacity + 1);
    this.#events[position % capacity] = event;
  }

  /** At most `limit` events after a position before the head, or null if the first of them is not kept. */
  after(position: bigint, limit: number): readonly LoggedEvent[] | null {
    const from = Number(position) + 1;
    if (from < this.#first || from > this.#last) return null;
    const count = Math.min(limit, this.#last - from + 1);
    return Array.from({ length: count }, (_, index) => this.#at(from + index));
  }

  #at(position: number): LoggedEvent {
    const event = this.#events[position % capacity];
    if (event === undefined) throw new Error(`the event at position ${position} is not kept`);
    return event;
  }
}
