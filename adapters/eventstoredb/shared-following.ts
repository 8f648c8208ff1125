import { nextTurn } from '../../application/timing/next-turn.js';
import { markOf, type EventStore } from '../../application/ports/event-store.js';
import type { ReadUpTo } from '../../application/log/same-log.js';
import { FinalError } from '../../domain/errors.js';
import type { LoggedEvent } from '../../domain/events.js';
import { Stretch, type StretchReader } from './stretch.js';

/** The source of the log, for followers. Its failures have been reported when they are thrown. */
export interface LogSource {
  /** The log after a position in pages, until it has nothing more. */
  pages(after: bigint): AsyncIterable<readonly LoggedEvent[]>;
  /** The events after a position as they come, until the signal aborts. Throws if the server is lost. */
  subscribe(after: bigint, signal: AbortSignal): AsyncIterable<readonly LoggedEvent[]>;
  /** Throws OtherLog if the log is not the one that was read. */
  assertSame(read: ReadUpTo): Promise<void>;
  /** Waits a moment, so that more events come together. */
  gather(signal: AbortSignal): Promise<void>;
  /** Waits after this number of failures in a row. */
  pause(failures: number, signal: AbortSignal): Promise<void>;
}

const usualBatch = 500;
/** This many at the head of the log come from several writers, and more of them are on their way. */
const busyBatch = 8;

/**
 * Lets all followers in a process share the log, and decodes an event once for all that are near each other.
 * Far behind the head a stretch of the log is read in pages; at the head it is a subscription, whose events
 * gather for a moment while many come. A follower takes events from its stretch at its own pace: a slow one
 * falls out, reads by itself, and joins the others when it has caught up. A follower that fails or ends
 * leaves the others alone.
 */
export class SharedFollowing {
  /** The stretches that are still being added to. */
  readonly #stretches = new Set<Stretch>();

  constructor(private readonly source: LogSource) {}

  /** EventStore.follow: only events that were handled move a follower on. */
  async *follow(
    after: bigint,
    { signal, batch = usualBatch }: Parameters<EventStore['follow']>[1],
  ): AsyncGenerator<readonly LoggedEvent[]> {
    let handled: ReadUpTo = { position: after };
    const reader: StretchReader = { position: after, batch, next: null };
    let failures = 0;
    let isSame = false;
    while (!signal.aborted) {
      try {
        // The log may have been replaced while there was no connection.
        if (!isSame) await this.source.assertSame(handled);
        isSame = true;
        for await (const events of this.#stretchOf(reader, signal)) {
          yield events;
          const last = events.at(-1);
          if (last !== undefined) handled = { position: last.position, event: markOf(last) };
          failures = 0;
        }
      } catch (error) {
        if (error instanceof FinalError) throw error;
        isSame = false;
        reader.position = handled.position;
        await this.source.pause(failures, signal);
        failures += 1;
      }
    }
  }

  /** A number of events after a position, if they have been decoded for a follower; else null. */
  decoded(after: bigint, count: number): readonly LoggedEvent[] | null {
    const events = this.#covering(after)?.after(after, count) ?? [];
    return events.length === count ? events : null;
  }

  /**
   * The events of one stretch, until it ends or its reader has fallen out. Throws the error that ended the
   * stretch.
   */
  async *#stretchOf(reader: StretchReader, signal: AbortSignal): AsyncGenerator<readonly LoggedEvent[]> {
    const stretch = this.#enter(reader);
    try {
      while (!signal.aborted && stretch.holds(reader.position)) {
        const events = stretch.after(reader.position, reader.batch);
        const last = events.at(-1);
        if (last !== undefined) {
          yield events;
          stretch.advance(reader, last.position);
        } else if (!stretch.ended) await stretch.more(signal);
        else if (stretch.failure === null) return;
        else throw stretch.failure;
        // Other work has a turn, and events that come meanwhile are taken together.
        const isBusy = stretch.live && events.length >= busyBatch && events.length < reader.batch;
        await (isBusy ? this.source.gather(signal) : nextTurn());
      }
    } finally {
      stretch.leave(reader);
    }
  }

  #covering(position: bigint): Stretch | undefined {
    return [...this.#stretches].find((stretch) => stretch.covers(position));
  }

  /** Another stretch that goes on where this one has come to. Of two that are level the older one stays. */
  #continuationOf(stretch: Stretch): Stretch | null {
    let isOlder = true;
    for (const other of this.#stretches) {
      if (other === stretch) isOlder = false;
      else if (!other.leadsOnFrom(stretch.to)) continue;
      else if (other.covers(stretch.to) || (isOlder && other.meets(stretch))) return other;
      // Both are at the head, and the events that this one has read are on their way to the other.
      else if (stretch.atHead && other.live) return other;
    }
    return null;
  }

  #enter(reader: StretchReader): Stretch {
    const { next, position } = reader;
    reader.next = null;
    const known = next?.leadsOnFrom(position) === true ? next : this.#covering(position);
    const stretch = known ?? new Stretch(position);
    stretch.join(reader);
    if (known === undefined) {
      this.#stretches.add(stretch);
      void this.#extend(stretch);
    }
    return stretch;
  }

  /**
   * Adds to a stretch until it has no reader, the server is lost, or another stretch continues where it ends.
   */
  async #extend(stretch: Stretch): Promise<void> {
    let next: Stretch | null = null;
    const isOver = (): boolean => {
      next = this.#continuationOf(stretch);
      return next !== null || stretch.abandoned.aborted;
    };
    /** Returns whether there was nothing more. */
    const addAll = async (parts: AsyncIterable<readonly LoggedEvent[]>): Promise<boolean> => {
      for await (const events of parts) {
        stretch.add(events);
        await stretch.room();
        if (isOver()) return false;
      }
      return true;
    };
    let failure: Error | null = null;
    try {
      if (isOver()) return;
      stretch.atHead = await addAll(this.source.pages(stretch.to));
      if (isOver()) return;
      stretch.live = true;
      await addAll(this.source.subscribe(stretch.to, stretch.abandoned));
    } catch (error) {
      failure = error instanceof Error ? error : new Error(String(error));
    } finally {
      this.#stretches.delete(stretch);
      stretch.end(failure, failure === null ? next : null);
    }
  }
}
