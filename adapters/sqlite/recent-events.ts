import type { LoggedEvent } from '../../domain/events.js';
import { eventOf, type EventRow } from './log-reader.js';

const kept = 4096;

/** The newest rows of the log, kept in memory so that live readers need not read them back. Parsed once, when the first of them asks. */
export class RecentEvents {
  readonly #events: (EventRow | LoggedEvent | undefined)[] = Array.from({ length: kept });
  #first = 1;
  #last = 0;

  /** Rows come in log order without a gap; where there is one, what came before it is forgotten. */
  add(row: EventRow): void {
    const [position] = row;
    if (position !== this.#last + 1) this.#first = position;
    this.#last = position;
    this.#first = Math.max(this.#first, position - kept + 1);
    this.#events[position % kept] = row;
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
    if (!isRow(event)) return event;
    const parsed = eventOf(event);
    this.#events[position % kept] = parsed;
    return parsed;
  }
}

const isRow = (event: EventRow | LoggedEvent): event is EventRow => Array.isArray(event);
