import type { LoggedEvent } from '../domain/events.js';
import { categoryOf, type StreamName } from '../domain/ids.js';
import type { EventStore } from './ports/event-store.js';

/** Null: any. */
export interface LogFilter {
  readonly category: string | null;
  readonly stream: StreamName | null;
}

/**
 * The JSON of an event that every program outside the service gets.
 * (docs/architecture.md#following-the-events)
 */
export const externalEvent = ({ position, stream, revision, id, type, data, metadata }: LoggedEvent) => ({
  position: String(position),
  stream,
  revision: String(revision),
  id,
  type,
  at: metadata.occurredAt,
  data,
  metadata,
});

/** The log after a position, then live, until the signal aborts. */
export async function* watchLog(
  store: EventStore,
  after: bigint,
  { category, stream }: LogFilter,
  signal: AbortSignal,
): AsyncGenerator<LoggedEvent> {
  for await (const batch of store.follow(after, { signal })) {
    for (const event of batch) {
      const wanted =
        (stream === null || event.stream === stream) &&
        (category === null || categoryOf(event.stream) === category);
      if (wanted) yield event;
    }
  }
}
