import type { Milliseconds, Uuid } from '../../domain/ids.js';
import type { DeliveryId } from './delivery-log.js';

/**
 * Asks a worker to look at an endpoint at a time, because deliveries may be due then. A hint permits nothing:
 * when it arrives, rows and endpoint decide what is attempted, if anything. So a hint from before a deletion,
 * a change of the endpoint or a retry by hand does no harm. `delivery` and `attempt` are for people who
 * inspect the queues, and for the choice of a queue.
 */
export interface Hint {
  readonly endpoint: Uuid;
  readonly delivery: DeliveryId | null;
  /** The number of the attempt that is due; 0 for one asked for by hand, which ends the endpoint's rest. */
  readonly attempt: number;
  readonly due: Milliseconds;
}

/**
 * Tells workers in any process where to look. Hints may repeat, come late or get lost: the rows decide, and
 * workers sweep them.
 */
export interface DeliveryQueue {
  /** Never rejects: a sweep finds deliveries that could not be announced. */
  announce(hints: readonly Hint[]): Promise<void>;
  /** Calls `notify` with every hint until the signal aborts. */
  listen(notify: (hint: Hint) => void, signal: AbortSignal): Promise<void>;
}
