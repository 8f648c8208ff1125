import { streamNameFilter, type AllStreamResolvedEvent } from '@eventstore/db-client';
import { markOf } from '../../application/ports/event-store.js';
import { assertSameLog, type ReadUpTo } from '../../application/same-log.js';
import { FinalError } from '../../domain/errors.js';
import type { LoggedEvent } from '../../domain/events.js';
import type { Session } from './connection.js';
import { explainDenial, type Context } from './context.js';
import { loggedEvent } from './events.js';
import { startAfter, type Reads } from './reads.js';
import { supervised } from './supervision.js';

const usualBatch = 500;

export interface Following {
  /** Exclusive. */
  readonly after: bigint;
  readonly signal: AbortSignal;
  readonly batch?: number;
}

/** EventStore.follow: one subscription after the other, each from the last event that was handled. */
export async function* followLog(
  context: Context,
  reads: Reads,
  { after, signal, batch = usualBatch }: Following,
): AsyncGenerator<readonly LoggedEvent[]> {
  const { clock, connection, backoff, onError } = context;
  let handled: ReadUpTo = { position: after };
  for (let failures = 0; !signal.aborted; failures += 1) {
    const { session } = connection;
    try {
      // The log may have been replaced while nobody was connected.
      await assertSameLog(reads, 'A follower of the log', handled);
      for await (const events of subscription(context, reads, session, {
        after: handled.position,
        signal,
        batch,
      })) {
        yield events;
        const last = events.at(-1);
        if (last !== undefined) handled = { position: last.position, event: markOf(last) };
        failures = 0;
        connection.succeeded();
      }
    } catch (error) {
      if (error instanceof FinalError) throw error;
      if (signal.aborted) return;
      onError(explainDenial(error, context));
      connection.failed(session, error);
    }
    await clock.sleep(backoff(failures), signal);
  }
}

/**
 * One subscription to our streams, until it fails. Only events that were yielded move its position: the
 * server's checkpoints run ahead of them, so they aren't asked for. Events that come twice are dropped. The
 * start of a subscription is exclusive.
 */
async function* subscription(
  context: Context,
  reads: Reads,
  session: Session,
  { after, signal, batch }: Required<Following>,
): AsyncGenerator<readonly LoggedEvent[]> {
  const { clock, names, times } = context;
  let last = after;
  let searched = after;
  const subscribed = session.client.subscribeToAll(
    {
      fromPosition: startAfter(after),
      resolveLinkTos: false,
      filter: streamNameFilter({ prefixes: names.beginnings, maxSearchWindow: usualBatch }),
    },
    { highWaterMark: batch },
  );
  const onSilence = async (): Promise<Error | null> => {
    const missed = await reads.firstAfter(searched > last ? searched : last);
    if (!missed.found) {
      searched = missed.searched;
      return null;
    }
    // The event may be on its way.
    await clock.sleep(times.backoff.first);
    return new Error(`the subscription has missed the event at ${missed.searched}`);
  };
  const source = supervised(subscribed, {
    clock,
    time: times.watchdog,
    onSilence,
    cancel: () => subscribed.unsubscribe(),
    signals: [signal, session.replaced],
  });
  for await (const first of source) {
    const events: LoggedEvent[] = [];
    for (
      let next: AllStreamResolvedEvent | null = first;
      next !== null;
      next = events.length < batch ? subscribed.read() : null
    ) {
      const event = loggedEvent(next, context);
      if (event === null || event.position <= last) continue;
      events.push(event);
      last = event.position;
    }
    if (events.length > 0) yield events;
  }
  throw new Error('the server ended the subscription');
}
