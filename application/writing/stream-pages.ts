import type { RecordedEvent } from '../../domain/events.js';
import type { StreamName } from '../../domain/ids.js';
import type { EventStore } from '../ports/event-store.js';

/** So few are checked, opened and folded at once. */
const pageSize = 200;

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

/** All events of a stream, read a page at a time. */
export const wholeStream = async (
  store: Pick<EventStore, 'readStream'>,
  stream: StreamName,
): Promise<readonly RecordedEvent[]> => {
  const events: RecordedEvent[] = [];
  for await (const page of streamPages(store, stream, 0)) events.push(...page);
  return events;
};

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
