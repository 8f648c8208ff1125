import { DomainError } from '../domain/errors.js';
import type { LoggedEvent } from '../domain/events.js';
import { categoryOf, type StreamName, type Uuid } from '../domain/ids.js';
import type { EventStore, LogReader } from './ports/event-store.js';

/** Null: any. */
export interface LogFilter {
  readonly category: string | null;
  readonly stream: StreamName | null;
}

/**
 * The JSON of an event that every program outside the service gets. `log`: the id of its log.
 * (docs/architecture.md#following-the-events)
 */
export const externalEvent = (
  { position, stream, revision, id, type, data, metadata }: LoggedEvent,
  log: Uuid | null,
) => ({
  log,
  position: String(position),
  stream,
  revision: String(revision),
  id,
  type,
  at: metadata.occurredAt,
  data,
  metadata,
});

/**
 * Refuses a position that is none of this log's: past its end, or, in EventStoreDB, between its events. Whoever
 * asks for it has read another log.
 */
export const assertInLog = async (
  log: Pick<LogReader, 'head' | 'markAt'>,
  position: bigint,
): Promise<void> => {
  if (position === 0n || (await log.markAt(position)) !== null) return;
  const { position: head } = await log.head();
  const reason = position > head ? `the log ends at ${head}` : 'the log has no event there';
  throw new DomainError(
    'invalid_parameter',
    `from is ${position}, but ${reason}. If you have read that far, it was another log: compare the log's id with the one you know (GET /operator/v1/anchor).`,
    'from',
  );
};

/** Small, because each event is written out before anybody else has a turn. */
const batchSize = 100;

/** The log after a position, then live, until the signal aborts. */
export async function* watchLog(
  store: EventStore,
  after: bigint,
  { category, stream }: LogFilter,
  signal: AbortSignal,
): AsyncGenerator<LoggedEvent> {
  for await (const batch of store.follow(after, { signal, batch: batchSize })) {
    for (const event of batch) {
      const wanted =
        (stream === null || event.stream === stream) &&
        (category === null || categoryOf(event.stream) === category);
      if (wanted) yield event;
    }
  }
}
