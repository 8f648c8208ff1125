import type { EventStore } from '../ports/event-store.js';

/** The store with other members in the place of some. */
export const storeWith = (store: EventStore, members: Partial<EventStore>): EventStore => ({
  append: (writes, completing) => store.append(writes, completing),
  readStream: (stream, from, limit) => store.readStream(stream, from, limit),
  readLast: (stream) => store.readLast(stream),
  readLog: (after, limit) => store.readLog(after, limit),
  head: () => store.head(),
  markAt: (position) => store.markAt(position),
  positionBefore: (place, signal) => store.positionBefore(place, signal),
  follow: (after, options) => store.follow(after, options),
  ...members,
});
