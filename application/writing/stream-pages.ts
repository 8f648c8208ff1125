import type { RecordedEvent } from '../../domain/events.js';
import type { StreamName } from '../../domain/ids.js';
import type { EventStore } from '../ports/event-store.js';

const pageSize = 500;

/** A stream's events from a revision on, a page at a time, for streams that grow without end. */
export async function* streamPages(
  store: Pick<EventStore, 'readStream'>,
  stream: StreamName,
  fromRevision: number,
): AsyncGenerator<readonly RecordedEvent[], void, undefined> {
  let from = fromRevision;
  for (;;) {
    const page = await store.readStream(stream, from, pageSize);
    if (page.length > 0) yield page;
    if (page.length < pageSize) return;
    from = (page.at(-1)?.revision ?? from) + 1;
  }
}
