import { NamedError } from '../../domain/errors.js';
import type { LoggedEvent } from '../../domain/events.js';
import type { Uuid } from '../../domain/ids.js';

/** The broker can't be reached, or has not confirmed. The events may have been published nevertheless. */
export class PublicStreamUnavailable extends NamedError {}

/** One of the queues refuses events. The others may get them again, each time that they are published. */
export class PublicStreamRefused extends PublicStreamUnavailable {}

export interface PublicStream {
  /**
   * Publishes events in their order. When it resolves, the broker has stored them for all its queues. After a
   * PublicStreamUnavailable, all of them have to be published again. `log`: the id of the log that they are
   * of.
   */
  publish(events: readonly LoggedEvent[], log: Uuid | null): Promise<void>;
}
