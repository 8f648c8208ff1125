import type { LoggedEvent } from '../../domain/events.js';
import type { Milliseconds } from '../../domain/ids.js';
import type { Checkpoints } from '../ports/checkpoints.js';
import { markOf, type EventStore, type LogReader } from '../ports/event-store.js';
import { PublicStreamRefused, type PublicStream } from '../ports/public-stream.js';
import type { Clock } from '../ports/system.js';
import { assertSameLog, logIdOf } from './same-log.js';
import { untilAborted } from '../timing/until-aborted.js';

export interface PublishEventsDeps {
  readonly store: LogReader & Pick<EventStore, 'positionBefore'>;
  readonly checkpoints: Checkpoints;
  readonly publicStream: PublicStream;
  readonly clock: Clock;
}

const checkpointName = 'public-stream';
const pause: Milliseconds = 1_000;
/** Each repeat fills the queues of others again while one refuses: the pauses grow up to this. */
const maxPause: Milliseconds = 60_000;
const batchSize = 500;

/**
 * How far back publishing begins without a checkpoint: far enough for all events that were perhaps not
 * published before a database was lost, without repeating years.
 */
const publishedAgain: Milliseconds = 7 * 24 * 3_600_000;

const beginning = async ({ store, clock }: PublishEventsDeps, signal: AbortSignal) => ({
  position: await store.positionBefore({ time: clock.now() - publishedAgain }, signal),
});

/** Each save is a request to the database. A crash repeats all events published since the last one. */
const saveInterval: Milliseconds = 200;

/** The last event that was published, the one in the checkpoint, and why it could not be saved. */
interface Progress {
  handled: LoggedEvent | null;
  saved: LoggedEvent | null;
  failure: Error | null;
}

/**
 * Publishes the log in order until the signal aborts, each event at least once: a crash repeats the events
 * after the checkpoint. Without one it begins with the events of the last seven days. Only one may run at a
 * time. (docs/architecture.md#following-the-events)
 */
export const publishEvents = async (
  deps: PublishEventsDeps,
  signal: AbortSignal,
  report: (error: unknown) => void,
): Promise<void> => {
  const { store, checkpoints, publicStream, clock } = deps;
  const logId = logIdOf(store);
  let refused = 0;
  const publish = async (batch: readonly LoggedEvent[]): Promise<void> => {
    try {
      await publicStream.publish(batch, await logId());
      refused = 0;
    } catch (error) {
      refused = error instanceof PublicStreamRefused ? refused + 1 : 0;
      throw error;
    }
  };
  await untilAborted({ clock, signal, pause, onError: report }, async () => {
    if (refused > 0) await clock.sleep(Math.min(pause * 2 ** refused, maxPause), signal);
    const saved = (await checkpoints.load(checkpointName)) ?? (await beginning(deps, signal));
    await assertSameLog(store, 'The public event stream', saved);
    const progress: Progress = { handled: null, saved: null, failure: null };
    const save = async (): Promise<void> => {
      const event = progress.handled;
      if (event === null || event === progress.saved) return;
      const { position } = event;
      await checkpoints.save(checkpointName, { position, event: markOf(event), state: null });
      Object.assign(progress, { saved: event, failure: null });
    };
    const onError = (error: unknown): void =>
      void (progress.failure = error instanceof Error ? error : new Error(String(error)));
    const over = new AbortController();
    const saving = untilAborted({ clock, signal: over.signal, pause: saveInterval, onError }, save);
    try {
      for await (const batch of store.follow(saved.position, { signal, batch: batchSize })) {
        await publish(batch);
        // Nothing runs far ahead of the checkpoint.
        if (progress.failure !== null) throw progress.failure;
        progress.handled = batch.at(-1) ?? progress.handled;
      }
    } finally {
      over.abort();
      await saving;
      await save();
    }
  });
};
