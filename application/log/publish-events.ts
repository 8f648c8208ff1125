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

/** A crash repeats all events published since the last save. */
const saveInterval: Milliseconds = 200;

/** How far publishing has come, saved now and then: each save is a request to the database. */
class PublishProgress {
  #handled: LoggedEvent | null = null;
  #saved: LoggedEvent | null = null;
  #failure: Error | null = null;

  constructor(private readonly checkpoints: Checkpoints) {}

  /** Throws why it could not be saved: nothing runs far ahead of the checkpoint. */
  moveTo(event: LoggedEvent): void {
    if (this.#failure !== null) throw this.#failure;
    this.#handled = event;
  }

  async save(): Promise<void> {
    const event = this.#handled;
    if (event === null || event === this.#saved) return;
    await this.checkpoints.save(checkpointName, {
      position: event.position,
      event: markOf(event),
      state: null,
    });
    this.#saved = event;
    this.#failure = null;
  }

  /** Saves until the signal aborts. */
  async keep({ clock }: Pick<PublishEventsDeps, 'clock'>, signal: AbortSignal): Promise<void> {
    const onError = (error: unknown): void =>
      void (this.#failure = error instanceof Error ? error : new Error(String(error)));
    await untilAborted({ clock, signal, pause: saveInterval, onError }, () => this.save());
  }
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
    const progress = new PublishProgress(checkpoints);
    const over = new AbortController();
    const keeping = progress.keep(deps, over.signal);
    try {
      for await (const batch of store.follow(saved.position, { signal, batch: batchSize })) {
        await publish(batch);
        const last = batch.at(-1);
        if (last !== undefined) progress.moveTo(last);
      }
    } finally {
      over.abort();
      await keeping;
      await progress.save();
    }
  });
};
