import type { LogReader } from '../../application/ports/event-store.js';
import type { Clock } from '../../application/ports/system.js';
import type { Milliseconds } from '../../domain/ids.js';

/** The end of the log, null while it is not known, and how late a reader with a checkpoint is. */
export interface LogLag<Head extends bigint | null = bigint> {
  readonly head: Head;
  readonly of: (checkpoint: bigint) => Milliseconds;
}

export const unknownLag: LogLag<bigint | null> = { head: null, of: () => Infinity };

/**
 * Measures how late readers of the log are, in time: positions are bytes in one event store and events in
 * another. A reader is as late as the first event that it lacks is older than the last one, and at least as
 * late as its checkpoint has been seen standing still behind the log. Throws EventStoreUnavailable.
 */
export const measureLag = (
  log: Pick<LogReader, 'head' | 'readLog'>,
  clock: Clock,
): ((checkpoints: readonly bigint[]) => Promise<LogLag>) => {
  /** Where readers stood behind the log when this was last asked, and since when. */
  let behind: ReadonlyMap<bigint, Milliseconds> = new Map();
  const lagAt = async (
    checkpoint: bigint,
    newest: Milliseconds,
    since: Milliseconds,
  ): Promise<Milliseconds> => {
    const [missing] = await log.readLog(checkpoint, 1);
    if (missing === undefined) return 0;
    return Math.max(newest - Date.parse(missing.metadata.occurredAt), clock.monotonic() - since);
  };
  return async (checkpoints) => {
    const { position: head, event } = await log.head();
    const newest = event === null ? 0 : Date.parse(event.at);
    const now = clock.monotonic();
    behind = new Map(checkpoints.filter((at) => at < head).map((at) => [at, behind.get(at) ?? now]));
    const lags = new Map<bigint, Milliseconds>();
    for (const [at, since] of behind) lags.set(at, await lagAt(at, newest, since));
    return { head, of: (checkpoint) => lags.get(checkpoint) ?? 0 };
  };
};
