import {
  FORWARDS,
  streamNameFilter,
  type AllStreamResolvedEvent,
  type ReadPosition,
} from '@eventstore/db-client';
import { assertSameLog, type ReadUpTo } from '../../application/log/same-log.js';
import { FinalError } from '../../domain/errors.js';
import type { LoggedEvent } from '../../domain/events.js';
import type { Milliseconds } from '../../domain/ids.js';
import type { Session } from './connection.js';
import { explainDenial, type Context } from './context.js';
import { loggedEvent } from './events.js';
import { searchWindow } from './filtered-reads.js';
import type { Reads } from './reads.js';
import type { LogSource } from './shared-following.js';
import { supervised } from './supervision.js';

/** How many events in streams of ours a page has. */
const pageSize = 1_000;
/**
 * Each batch costs its reader some requests, to MongoDB or RabbitMQ, however few events it has. With 64
 * clients sending, half as many batches brought a tenth more sends.
 */
const gathersFor: Milliseconds = 5;
/** How many events may be buffered ahead of the reader. */
const subscribedAhead = 500;

/** Where a page begins: `after` is exclusive, the position itself inclusive. */
interface PageStart {
  readonly from: ReadPosition;
  readonly after: bigint;
}

/** Reads the server's log for followers. */
export class ServerLog implements LogSource {
  constructor(
    private readonly context: Context,
    private readonly reads: Reads,
  ) {}

  async *pages(after: bigint): AsyncGenerator<readonly LoggedEvent[]> {
    let start: PageStart = { from: this.reads.startAfter(after), after };
    for (let isLast = false; !isLast;) {
      const page = await this.#reported((session) => this.#read(session, start));
      yield page.events;
      ({ next: start, isLast } = page);
    }
  }

  /**
   * One subscription to our streams, until it fails. The server's checkpoints run ahead of the handled
   * events, so they aren't asked for. Repeated events are dropped. The start of a subscription is exclusive.
   */
  async *subscribe(after: bigint, signal: AbortSignal): AsyncGenerator<readonly LoggedEvent[]> {
    const { clock, connection, count, names, times } = this.context;
    const { session } = connection;
    let last = after;
    const onSilence = async (): Promise<Error | null> => {
      const { position } = await this.reads.head();
      if (position <= last) return null;
      // The event may be on its way.
      await clock.sleep(times.backoff.first);
      return new Error(`the subscription has missed the event at ${position}`);
    };
    try {
      count('subscribe');
      const filter = streamNameFilter({ regex: names.pattern, maxSearchWindow: searchWindow });
      const subscribed = session.client.subscribeToAll(
        { fromPosition: this.reads.startAfter(after), resolveLinkTos: false, filter },
        { highWaterMark: subscribedAhead },
      );
      const source = supervised(subscribed, {
        clock,
        time: times.watchdog,
        onSilence,
        cancel: () => subscribed.unsubscribe(),
        signals: [signal, session.replaced],
      });
      for await (const first of source) {
        const events: LoggedEvent[] = [];
        for (let next: AllStreamResolvedEvent | null = first; next !== null; next = subscribed.read()) {
          const event = loggedEvent(next, this.context);
          if (event === null || event.position <= last) continue;
          events.push(event);
          last = event.position;
        }
        if (events.length === 0) continue;
        yield events;
        connection.succeeded();
      }
      throw new Error('the server ended the subscription');
    } catch (error) {
      if (signal.aborted) return;
      this.#report(session, error);
      throw error;
    }
  }

  assertSame(read: ReadUpTo): Promise<void> {
    return this.#reported(() => assertSameLog(this.reads, 'A follower of the log', read));
  }

  async gather(signal: AbortSignal): Promise<void> {
    await this.context.clock.sleep(gathersFor, signal);
  }

  async pause(failures: number, signal: AbortSignal): Promise<void> {
    await this.context.clock.sleep(this.context.backoff(failures), signal);
  }

  async #read(session: Session, { from, after }: PageStart) {
    const began = this.context.clock.monotonic();
    const maxCount = pageSize + 1;
    const read = this.reads.ours(
      session,
      { fromPosition: from, direction: FORWARDS, maxCount },
      { highWaterMark: pageSize },
    );
    const events: LoggedEvent[] = [];
    let records = 0;
    let next: PageStart = { from, after };
    for await (const first of this.reads.ofLog(session, read, after)) {
      for (let record: AllStreamResolvedEvent | null = first; record !== null; record = read.read()) {
        records += 1;
        if (record.event !== undefined)
          next = {
            from: record.event.position,
            after: record.commitPosition ?? record.event.position.commit,
          };
        const event = loggedEvent(record, this.context);
        if (event !== null && event.position > after) events.push(event);
      }
      // The server would look for another one.
      if (records === maxCount) break;
    }
    if (events.length === 0) await this.reads.passedOver(began);
    return { events, next, isLast: records < maxCount };
  }

  async #reported<T>(work: (session: Session) => Promise<T>): Promise<T> {
    const { connection } = this.context;
    const { session } = connection;
    try {
      const result = await work(session);
      connection.succeeded();
      return result;
    } catch (error) {
      if (!(error instanceof FinalError)) this.#report(session, error);
      throw error;
    }
  }

  #report(session: Session, error: unknown): void {
    this.reads.failed(error);
    this.context.onError(explainDenial(error, this.context));
    this.context.connection.failed(session, error);
  }
}
