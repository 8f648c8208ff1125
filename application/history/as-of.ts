import { DomainError } from '../../domain/errors.js';
import { erasures, type RecordedEvent } from '../../domain/events.js';
import { type Instant, type StreamName } from '../../domain/ids.js';
import type { Projection } from '../../projections/projection.js';
import { erasedEvent, asStored } from '../personal/personal.js';
import { streamPages, type EventStore } from '../ports/event-store.js';
import { rawOf, verifies, whyDamaged } from '../log/hash-chain.js';
import { foldDocument } from '../projecting/read-your-writes.js';

/** A stream differs from what was recorded, so nothing of it is shown. */
export class DamagedStream extends DomainError {
  constructor({ stream, revision }: RecordedEvent, reason: string) {
    super('log_damaged', `The event log is not as it was written: at ${stream}@${revision}, ${reason}.`);
  }
}

/**
 * Makes sure that events of one stream follow the one before them (null: none), each with the hash that its
 * content gives. Throws DamagedStream.
 */
export const assertChained = (previous: RecordedEvent | null, events: readonly RecordedEvent[]): void => {
  let before = previous;
  for (const event of events) {
    if (event.revision !== (before?.revision ?? -1) + 1)
      throw new DamagedStream(event, `it follows revision ${before?.revision ?? -1}`);
    const raw = rawOf(asStored(event));
    if (!verifies(before?.metadata.hash ?? null, raw)) throw new DamagedStream(event, whyDamaged(raw));
    before = event;
  }
};

/**
 * A moment in the past, up to which streams are read. With a position: the events up to it. With a time: the
 * events of a stream before the first one that occurred later; clocks of several processes may run apart a
 * little.
 */
export type Moment =
  | { readonly position: bigint; readonly at: Instant | null }
  | { readonly position: null; readonly at: Instant };

/**
 * The moment of a position: that of an event, or 0. Throws `invalid_parameter`, with `param` as its name, for
 * one that is none of this log's. (decision 73: positions are opaque)
 */
export const momentOf = async (
  store: Pick<EventStore, 'head' | 'markAt'>,
  position: bigint,
  param: string,
): Promise<Moment & { readonly position: bigint }> => {
  const mark = position === 0n ? null : await store.markAt(position);
  if (mark !== null || position === 0n) return { position, at: mark?.at ?? null };
  const { position: head } = await store.head();
  const reason = position > head ? `the log ends at ${head}` : 'the log has no event there';
  throw new DomainError(
    'invalid_parameter',
    `${param} is ${position}, but ${reason}. If you have read that far, it was another log: compare the log's id with the one you know (GET /operator/v1/anchor).`,
    param,
  );
};

/**
 * Whether an event was in its stream at a moment. Throws `invalid_parameter` if the event store doesn't give
 * positions of a single stream (EventStoreDB before 22.6), and the moment is no event's.
 */
export const isBy = (moment: Moment, { position, metadata }: RecordedEvent): boolean => {
  if (moment.position !== null && position !== null) return position <= moment.position;
  if (moment.position === 0n) return false;
  if (moment.at === null)
    throw new DomainError(
      'invalid_parameter',
      'This event store tells no positions of a single stream: name the position of an event, or a time.',
    );
  return metadata.occurredAt <= moment.at;
};

/**
 * The events of a stream at a moment, a page at a time. Throws as `isBy`, DamagedStream,
 * EventStoreUnavailable.
 */
export async function* pagesAt(
  store: Pick<EventStore, 'readStream'>,
  stream: StreamName,
  moment: Moment,
): AsyncGenerator<readonly RecordedEvent[], void, undefined> {
  let previous: RecordedEvent | null = null;
  for await (const page of streamPages(store, stream, 0)) {
    assertChained(previous, page);
    const later = page.findIndex((event) => !isBy(moment, event));
    const before = later === -1 ? page : page.slice(0, later);
    if (before.length > 0) yield before;
    if (later !== -1) return;
    previous = page.at(-1) ?? previous;
  }
}

/** The events of a stream at a moment. Throws as `pagesAt`. */
export const streamAt = async (
  store: Pick<EventStore, 'readStream'>,
  stream: StreamName,
  moment: Moment,
): Promise<readonly RecordedEvent[]> => {
  const events: RecordedEvent[] = [];
  for await (const page of pagesAt(store, stream, moment)) events.push(...page);
  return events;
};

/**
 * The last event of a stream at a moment, found by halving, for streams of which the last event is the state.
 */
export const lastAt = async (
  store: Pick<EventStore, 'readStream' | 'readLast'>,
  stream: StreamName,
  moment: Moment,
): Promise<RecordedEvent | null> => {
  const newest = await store.readLast(stream);
  if (newest === null || isBy(moment, newest)) return newest;
  let before: RecordedEvent | null = null;
  let low = 0;
  let high = newest.revision;
  while (low < high) {
    const middle = Math.floor((low + high) / 2);
    const [event] = await store.readStream(stream, middle, 1);
    if (event === undefined || !isBy(moment, event)) high = middle;
    else {
      before = event;
      low = middle + 1;
    }
  }
  return before;
};

/** Which event an answer as of a moment stopped at. */
export interface AsOf {
  readonly position: bigint | null;
  readonly revision: number;
  readonly at: Instant;
}

export const asOf = ({ position, revision, metadata }: RecordedEvent): AsOf => ({
  position,
  revision,
  at: metadata.occurredAt,
});

/** Something as it was, and the last event of it. */
export interface Past<Thing> {
  readonly was: Thing;
  readonly asOf: AsOf;
}

/**
 * The events of a stream at a moment (null: now), and when their personal data was erased after it;
 * null if it wasn't. The stream is read to its end: what is erased stays so at every moment. Throws as
 * `pagesAt`.
 */
export const recordAt = async (
  store: Pick<EventStore, 'readStream'>,
  stream: StreamName,
  moment: Moment | null,
): Promise<{ readonly events: readonly RecordedEvent[]; readonly erasedAt: Instant | null }> => {
  const read: RecordedEvent[] = [];
  for await (const page of streamPages(store, stream, 0)) {
    assertChained(read.at(-1) ?? null, page);
    read.push(...page);
  }
  const isErasure = ({ type }: RecordedEvent): boolean => erasures.has(type);
  // The erasure may be on a later page than what it covers, and the keys may still be there.
  const erased = read.findLastIndex(isErasure);
  const all = read.map((event, at) =>
    at < erased && event.metadata.keyId !== null ? erasedEvent(event) : event,
  );
  const end = moment === null ? -1 : all.findIndex((event) => !isBy(moment, event));
  if (end === -1) return { events: all, erasedAt: null };
  const erasure = all.slice(Math.max(end - 1, 0)).find(isErasure);
  const isLater = erasure !== undefined && erasure.revision >= end;
  return { events: all.slice(0, end), erasedAt: isLater ? erasure.metadata.occurredAt : null };
};

/** The document of a stream at a moment, by a projection that keeps one per stream; null if there is none. */
export const documentAt = async <Document>(
  store: Pick<EventStore, 'readStream'>,
  projection: Projection<Document>,
  stream: StreamName,
  moment: Moment,
): Promise<Past<Document> | null> => {
  const { events, erasedAt } = await recordAt(store, stream, moment);
  const last = events.at(-1);
  const document = await foldDocument(projection, events);
  if (last === undefined || document === null) return null;
  return { was: erasedAt === null ? document : { ...document, erasedAt }, asOf: asOf(last) };
};

/** The latest of several. */
export const latest = (pasts: readonly Past<unknown>[]): AsOf | null =>
  pasts.reduce<AsOf | null>(
    (last, { asOf: next }) => (last === null || isLater(next, last) ? next : last),
    null,
  );

const isLater = (one: AsOf, other: AsOf): boolean =>
  one.position !== null && other.position !== null ? one.position > other.position : one.at > other.at;
