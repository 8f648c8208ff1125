import type { EventStore } from './ports/event-store.js';

/** The store with another way to append. */
export const withAppend = (store: EventStore, append: EventStore['append']): EventStore => ({
  atomic: store.atomic,
  append,
  readStream: (stream, from, limit) => store.readStream(stream, from, limit),
  readLast: (stream) => store.readLast(stream),
  readLog: (after, limit) => store.readLog(after, limit),
  head: () => store.head(),
  markAt: (position) => store.markAt(position),
  positionBefore: (place, signal) => store.positionBefore(place, signal),
  follow: (after, options) => store.follow(after, options),
});
