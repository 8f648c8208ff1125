import type { LogReader } from '../ports/event-store.js';
import type { Clock } from '../ports/system.js';
import { untilAborted } from '../timing/until-aborted.js';
import { headInterval, type ProjectionBoard } from './projection-board.js';

/** Tells a board the length of a log that other processes share, until the signal aborts. */
export const watchHead = (
  board: ProjectionBoard,
  log: Pick<LogReader, 'head'>,
  clock: Clock,
  signal: AbortSignal,
): Promise<void> =>
  // The processes that need the event store report that it is away.
  untilAborted({ clock, signal, pause: headInterval, onError: () => undefined }, async () => {
    const began = clock.monotonic();
    const { position } = await log.head();
    board.sawHead(position, began);
  });
