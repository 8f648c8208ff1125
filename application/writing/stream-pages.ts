import type { RecordedEvent } from '../../domain/events.js';
import type { StreamName } from '../../domain/ids.js';
import type { EventStore } from '../ports/event-store.js';

const pageSize = 500;

/** A stream's events between two revisions, a page at a time, for streams that grow without end. */
export async function* streamPages(
  store: Pick<EventStore, 'readStream'>,
  stream: StreamName,
  fromRevision: number,
  until = Infinity,
): AsyncGenerator<readonly RecordedEvent[], void, undefined> {
  let from = fromRevision;
  for (;;) {
    const limit = Math.min(pageSize, until - from);
    const page = limit > 0 ? await store.readStream(stream, from, limit) : [];
    if (page.length > 0) yield page;
    if (page.length < pageSize) return;
    from = (page.at(-1)?.revision ?? from) + 1;
  }
}

const logPage = 1_000;

/** The events of the log after a position, a page at a time. */
export async function* logPages(log: Pick<EventStore, 'readLog'>, after: bigint) {
  for (let position = after; ;) {
    const page = await log.readLog(position, logPage);
    if (page.length > 0) yield page;
    if (page.length < logPage) return;
    position = page.at(-1)?.position ?? position;
  }
}
