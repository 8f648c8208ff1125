import type { LoggedEvent } from '../../domain/events.js';
import type { OrganizationId } from '../../domain/ids.js';
import type { DeliveryLog, NewDelivery } from '../ports/delivery-log.js';
import type { Hints } from './hints.js';

/** Events of which somebody may still want a delivery. */
export interface Planned {
  readonly events: readonly LoggedEvent[];
  /** Of each event. */
  readonly rows: Promise<readonly (readonly NewDelivery[])[]>;
}

/** How many deliveries are stored together. One that comes meanwhile waits for these at most. */
const storedTogether = 100;
/** Events that are handled before a save while others wait, since each save is a commit. */
const mostUnsaved = 1_000;
/** How many events may wait for the store. */
const mostWaiting = 1_000;

/** An event, and how many of its deliveries are yet to be stored. */
interface Unfinished {
  readonly event: LoggedEvent;
  left: number;
}

interface Row {
  readonly delivery: NewDelivery;
  readonly of: Unfinished;
}

/** Rows of organizations that take turns, so that none waits for all rows of another. */
class Turns {
  readonly #waiting = new Map<OrganizationId, Row[]>();

  add(row: Row): void {
    const { org } = row.delivery;
    const rows = this.#waiting.get(org);
    if (rows === undefined) this.#waiting.set(org, [row]);
    else rows.push(row);
  }

  /** The next rows, those of an organization in order. Who had a turn comes last the next time. */
  take(most: number): readonly Row[] {
    const taken: Row[] = [];
    // Who is put back comes again, until there are enough.
    for (const [org, rows] of this.#waiting) {
      const share = Math.ceil((most - taken.length) / this.#waiting.size);
      taken.push(...rows.splice(0, share));
      this.#waiting.delete(org);
      if (rows.length > 0) this.#waiting.set(org, rows);
      if (taken.length === most) break;
    }
    return taken;
  }
}

export interface OutboxDeps {
  readonly log: Pick<DeliveryLog, 'insert'>;
  readonly hints: Hints;
  /** Saves that all events up to this one are handled. */
  readonly save: (event: LoggedEvent) => Promise<void>;
  /** That the events up to here are handled is saved at once: others wait for it. */
  readonly awaited: bigint;
  readonly onFailure: () => void;
}

/**
 * Stores deliveries, those of each organization in the order of the log, and then the last event up to which
 * nothing is missing. After a failure it does nothing more.
 */
export class Outbox {
  #planned: Planned[] = [];
  #waitingEvents = 0;
  /** In the order of the log. */
  #unfinished: Unfinished[] = [];
  readonly #turns = new Turns();
  /** The last event up to which all are handled. */
  #handled: LoggedEvent | null = null;
  #unsavedEvents = 0;
  #hasUnsavedRows = false;
  #working: Promise<void> | null = null;
  #round: Promise<void> = Promise.resolve();

  constructor(private readonly deps: OutboxDeps) {}

  /** Resolves when there is room for more. Rejects if deliveries could not be stored. */
  async add(planned: Planned): Promise<void> {
    if (planned.events.length === 0) return;
    planned.rows.catch(() => undefined); // The round that stores them fails.
    this.#planned.push(planned);
    this.#waitingEvents += planned.events.length;
    if (this.#working === null) {
      this.#working = this.#work();
      this.#working.catch(this.deps.onFailure);
    }
    while (this.#waitingEvents >= mostWaiting) await this.#round;
  }

  /** Resolves when all deliveries are stored. Rejects if they could not be. */
  async emptied(): Promise<void> {
    await this.#working;
  }

  /** Stores everything, with the checkpoint at the last event. */
  async flush(): Promise<void> {
    await this.emptied();
    await this.#save();
  }

  async #work(): Promise<void> {
    while (this.#waitingEvents > 0) {
      this.#round = this.#store();
      await this.#round;
    }
    this.#working = null;
  }

  /** Stores some of what waits. */
  async #store(): Promise<void> {
    await this.#queuePlanned();
    const rows = this.#turns.take(storedTogether);
    if (rows.length > 0) {
      const deliveries = rows.map(({ delivery }) => delivery);
      await this.deps.log.insert(deliveries);
      this.deps.hints.announce(deliveries);
      this.#hasUnsavedRows = true;
    }
    for (const { of } of rows) of.left -= 1;
    const before = this.#handled?.position ?? 0n;
    this.#finish();
    const position = this.#handled?.position ?? 0n;
    const isAwaited = before < this.deps.awaited && position >= this.deps.awaited;
    const isLast = this.#waitingEvents === 0 && this.#hasUnsavedRows;
    if (isLast || isAwaited || this.#unsavedEvents >= mostUnsaved) await this.#save();
  }

  async #queuePlanned(): Promise<void> {
    const planned = this.#planned;
    this.#planned = [];
    for (const { events, rows } of planned)
      for (const [index, deliveries] of (await rows).entries()) {
        const event = events[index];
        if (event === undefined) throw new TypeError('there are deliveries of no event');
        const of = { event, left: deliveries.length };
        this.#unfinished.push(of);
        for (const delivery of deliveries) this.#turns.add({ delivery, of });
      }
  }

  /** Takes off the events that nothing is missing of, up to the first other one. */
  #finish(): void {
    const first = this.#unfinished.findIndex(({ left }) => left > 0);
    const finished = this.#unfinished.splice(0, first === -1 ? this.#unfinished.length : first);
    this.#handled = finished.at(-1)?.event ?? this.#handled;
    this.#waitingEvents -= finished.length;
    this.#unsavedEvents += finished.length;
  }

  async #save(): Promise<void> {
    if (this.#handled === null || this.#unsavedEvents === 0) return;
    this.#unsavedEvents = 0;
    this.#hasUnsavedRows = false;
    await this.deps.save(this.#handled);
  }
}
