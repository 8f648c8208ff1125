import type { Milliseconds } from '../domain/ids.js';
import type { Checkpoints } from './ports/checkpoints.js';
import { markOf, type EventStore, type LogReader } from './ports/event-store.js';
import type { PublicStream } from './ports/public-stream.js';
import type { Clock } from './ports/system.js';
import { assertSameLog, logIdOf } from './same-log.js';
import { untilAborted } from './until-aborted.js';

export interface PublishEventsDeps {
  readonly store: LogReader & Pick<EventStore, 'positionBefore'>;
  readonly checkpoints: Checkpoints;
  readonly publicStream: PublicStream;
  readonly clock: Clock;
}

const checkpointName = 'public-stream';
const pause: Milliseconds = 1_000;
const batchSize = 500;

/**
 * How far back publishing begins without a checkpoint: far enough for everything that nobody may have heard of
 * before a database was lost, and not the years before.
 */
const publishedAgain: Milliseconds = 7 * 24 * 3_600_000;

const beginning = async ({ store, clock }: PublishEventsDeps, signal: AbortSignal) => ({
  position: await store.positionBefore(clock.now() - publishedAgain, signal),
});

/**
 * Publishes the log in order until the signal aborts, each event at least once: a crash repeats those after
 * the checkpoint. Without one it begins with the events of the last seven days. Only one may run at a time.
 * (docs/architecture.md#following-the-events)
 */
export const publishEvents = async (
  deps: PublishEventsDeps,
  signal: AbortSignal,
  report: (error: unknown) => void,
): Promise<void> => {
  const { store, checkpoints, publicStream, clock } = deps;
  const logId = logIdOf(store);
  await untilAborted({ clock, signal, pause, onError: report }, async () => {
    const saved = (await checkpoints.load(checkpointName)) ?? (await beginning(deps, signal));
    await assertSameLog(store, 'The public event stream', saved);
    for await (const batch of store.follow(saved.position, { signal, batch: batchSize })) {
      await publicStream.publish(batch, await logId());
      const last = batch.at(-1);
      if (last === undefined) continue;
      await checkpoints.save(checkpointName, { position: last.position, event: markOf(last), state: null });
    }
  });
};
