import type { LoggedEvent } from '../../domain/events.js';

/** The broker can't be reached or did not confirm. The events may have been published all the same. */
export class PublicStreamUnavailable extends Error {
  override readonly name = 'PublicStreamUnavailable';
}

/** The events as other services get them. */
export interface PublicStream {
  /**
   * Publishes events in their order. When it resolves all of them are durable with whoever listens. Throws
   * PublicStreamUnavailable: then all are to be published again.
   */
  publish(events: readonly LoggedEvent[]): Promise<void>;
}
