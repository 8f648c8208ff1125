import { SystemClock } from '../../../adapters/system/clock.js';
import { SystemEntropy } from '../../../adapters/system/entropy.js';
import type { EventStoreDbTimes } from '../../../adapters/eventstoredb/context.js';
import { EventStoreDbEventStore } from '../../../adapters/eventstoredb/event-store.js';
import type { ForeignEvent } from '../../../adapters/eventstoredb/events.js';
import type { NewEvent, StreamWrite, WriteOutcome } from '../../../application/ports/event-store.js';
import { noStream } from '../../../application/ports/event-store.js';
import { EventStoreDbStandIn } from '../../engines/eventstoredb-stand-in.js';
import type { EventMetadata, LoggedEvent } from '../../../domain/events.js';
import { derivedUuid, Instant, streamName, type StreamName } from '../../../domain/ids.js';

export const clock = new SystemClock();

/**
 * Pauses that are short enough for tests, and limits that no busy machine comes near: a test of what happens
 * at a limit shortens that one.
 */
export const shortTimes: EventStoreDbTimes = {
  append: 5_000,
  settle: 20_000,
  patience: 10_000,
  read: 5_000,
  watchdog: 150,
  replace: 10,
  backoff: { first: 5, max: 40 },
};

const metadata = (hash: string): EventMetadata => ({
  org: null,
  actor: { kind: 'system', id: null },
  requestId: null,
  correlationId: 'c',
  causationId: 'c',
  schemaVersion: 1,
  occurredAt: Instant.parse('2026-03-01T12:00:00.000Z'),
  subject: null,
  keyId: null,
  chain: 2,
  personal: null,
  hash,
});

export const card = (code: string): StreamName => streamName('card', code);

/** An event whose id and hash are derived from its stream and name. */
export const event = (
  stream: StreamName,
  name: string,
  data: object = { name, personal: { email: 'ada@example.com' } },
): NewEvent => ({
  id: derivedUuid(stream, name),
  type: 'CardQueued',
  data,
  metadata: metadata(`hash of ${name}`),
});

export const write = (stream: StreamName, expected: number, ...names: string[]): StreamWrite => ({
  stream,
  expected,
  events: names.map((name) => event(stream, name)),
});

export const first = (code: string, ...names: string[]): StreamWrite => write(card(code), noStream, ...names);

export const kinds = (outcomes: readonly WriteOutcome[]): string[] => outcomes.map(({ kind }) => kind);

/** The names of events, in order. */
export const names = (events: readonly Pick<LoggedEvent, 'data'>[]): unknown[] =>
  events.map(({ data }) => ('name' in data ? data.name : null));

/** Randomness that remembers the limits it was asked for: the upper bounds of the jitter. */
class RecordingEntropy extends SystemEntropy {
  readonly limits: number[] = [];

  override below(limit: number): number {
    this.limits.push(limit);
    return super.below(limit);
  }
}

export interface Rig {
  readonly server: EventStoreDbStandIn;
  readonly store: EventStoreDbEventStore;
  readonly errors: unknown[];
  /** What the store has reported of events that other programs wrote. */
  readonly foreign: ForeignEvent[];
  readonly entropy: RecordingEntropy;
}

/** Runs a test with a stand-in and a store of its own, and closes both. */
export const withRig = async (
  run: (rig: Rig) => Promise<void>,
  times: Partial<EventStoreDbTimes> = {},
  hasBatchAppend = true,
  prefix = '',
): Promise<void> => {
  const server = await EventStoreDbStandIn.start(clock);
  server.hasBatchAppend = hasBatchAppend;
  // Like an old server: what works with one works with servers that tell more, too.
  server.placesStreamReads = false;
  const errors: unknown[] = [];
  const foreign: ForeignEvent[] = [];
  const entropy = new RecordingEntropy();
  const store = new EventStoreDbEventStore({
    url: server.url,
    prefix,
    clock,
    entropy,
    times: { ...shortTimes, ...times },
    onError: (error) => errors.push(error),
    onForeign: (event) => foreign.push(event),
  });
  try {
    await run({ server, store, errors, foreign, entropy });
  } finally {
    await store.close();
    server.down();
  }
};

/** Follows a log in the background and keeps the events. */
export const follower = (store: EventStoreDbEventStore, after = 0n, batch = 500) => {
  const stop = new AbortController();
  const seen: LoggedEvent[] = [];
  const run = async (): Promise<void> => {
    for await (const events of store.follow(after, { signal: stop.signal, batch })) seen.push(...events);
  };
  const ended = run();
  return {
    seen,
    end: async (): Promise<void> => {
      stop.abort();
      await ended;
    },
  };
};
