/// <reference lib="es2024.sharedmemory" />
import { turnAlone } from '../../../application/timing/next-turn.js';
import { settledOrAborted } from '../../../application/timing/settled-or-aborted.js';
import { EventStoreUnavailable, type LogReader } from '../../../application/ports/event-store.js';
import type { Clock } from '../../../application/ports/system.js';
import type { DamagedLog } from '../../../application/log/damaged-log.js';
import type { LoggedEvent } from '../../../domain/events.js';
import type { Milliseconds } from '../../../domain/ids.js';
import { openForReading } from '../database.js';
import { insideGate, type Gate } from '../gate.js';
import { logQueries, type LogQueries } from './log-queries.js';

/**
 * Resolves when an event after the position is committed, at once if there is one already, or when the signal
 * aborts.
 */
type UntilCommittedAfter = (position: bigint, signal: AbortSignal) => Promise<void>;

/** The source of a followed log: how to read it, and how to wait for more. */
export interface LogSource extends Pick<LogQueries, 'readLog' | 'headPosition'> {
  readonly untilCommittedAfter: UntilCommittedAfter;
  readonly clock: Clock;
}

/** Reading them takes some milliseconds, and requests to the same thread wait that long. */
const usualBatch = 100;
const pauseAfterError: Milliseconds = 1_000;

/**
 * EventStore.follow over a source. Reads a batch only when the consumer asks for it. A log that lacks
 * committed events, because its file was changed, is read again after a pause: the head promises them at
 * once, and a loop that waited for the head alone would never give way.
 */
export async function* followLog(
  { readLog, headPosition, untilCommittedAfter, clock }: LogSource,
  after: bigint,
  { signal, batch = usualBatch }: { readonly signal: AbortSignal; readonly batch?: number },
): AsyncGenerator<readonly LoggedEvent[], void, undefined> {
  let position = after;
  while (!signal.aborted) {
    const isPromised = headPosition() > position;
    let events: readonly LoggedEvent[];
    try {
      events = readLog(position, batch);
    } catch (error) {
      if (!(error instanceof EventStoreUnavailable)) throw error;
      await clock.sleep(pauseAfterError, signal);
      continue;
    }
    const last = events.at(-1);
    if (last === undefined) {
      await (isPromised ? clock.sleep(pauseAfterError, signal) : untilCommittedAfter(position, signal));
      continue;
    }
    position = last.position;
    yield events;
    await turnAlone();
  }
}

/**
 * Waits on the head that the writer shares with all threads. Each commit wakes waiting threads once, however
 * many events it has, and copies nothing.
 */
const waitOnSharedHead = (head: SharedArrayBuffer): UntilCommittedAfter => {
  const view = new BigInt64Array(head);
  return async (position, signal) => {
    const seen = Atomics.load(view, 0);
    if (signal.aborted || seen > position) return;
    const waiting = Atomics.waitAsync(view, 0, seen);
    if (!waiting.async) return;
    await settledOrAborted(waiting.value, signal);
  };
};

/**
 * Lets a thread write the log, or read it and be woken by commits. It can be sent to a worker. `head`: the
 * position of the last committed event, one 64-bit integer. It is stored before any request of that commit
 * settles.
 */
export interface SharedLog {
  readonly path: string;
  readonly head: SharedArrayBuffer;
  readonly gate: Gate;
}

/**
 * Reads and follows the log in the calling thread, with its own connection. Commits wake it. This process
 * must have opened the events file.
 */
export const openLogReader = (
  { path, head, gate }: SharedLog,
  { clock, onDamage }: { readonly clock: Clock; readonly onDamage: (error: DamagedLog) => void },
): { readonly reader: LogReader; readonly close: () => void } => {
  const inGate = insideGate(gate);
  const database = inGate(() => openForReading(path));
  const queries = logQueries({ database, head, inGate, onDamage });
  const source = { ...queries, untilCommittedAfter: waitOnSharedHead(head), clock };
  return {
    reader: {
      readLog: async (after, limit) => {
        await turnAlone();
        return queries.readLog(after, limit);
      },
      head: async () => queries.head(),
      markAt: async (position) => queries.markAt(position),
      follow: (after, options) => followLog(source, after, options),
    },
    close: () => inGate(() => database.close()),
  };
};
