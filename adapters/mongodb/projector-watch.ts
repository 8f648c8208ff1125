import type { ProjectionBoard, ProjectionStatus } from '../../application/projection-board.js';
import type { Clock } from '../../application/ports/system.js';
import { messageOf } from '../../domain/errors.js';
import type { Milliseconds } from '../../domain/ids.js';
import type { Projection } from '../../projections/projection.js';
import { builds, type BuildRow } from './builds.js';
import type { MongoDatabase } from './database.js';
import { MongoLease } from './lease.js';

export interface ProjectorWatchOptions {
  readonly database: MongoDatabase;
  readonly clock: Clock;
  readonly projections: readonly Projection<unknown>[];
  readonly board: ProjectionBoard;
  /** The name of the projector's lease. */
  readonly lease: string;
  /** How long without a sign of life until the projector counts as down. */
  readonly downAfter?: Milliseconds;
}

/** How often to look while somebody waits for the projections, and while nobody does. */
const pollWhileAwaited: Milliseconds = 25;
const pollWhileIdle: Milliseconds = 500;
const defaultDownAfter: Milliseconds = 3_000;

const statusOf = ({ name, version }: Projection<unknown>, rows: readonly BuildRow[]): ProjectionStatus => {
  const mine = rows
    .filter((row) => row.name === name && row.version <= version && row.state === 'active')
    .toSorted((a, b) => a.version - b.version || a.generation - b.generation);
  const active = mine.at(-1);
  const building = rows.find(
    (row) => row.name === name && row.version === version && row.state === 'building',
  );
  return {
    name,
    version: active?.version ?? version,
    checkpoint: active?.checkpoint ?? 0n,
    live: active !== undefined,
    rebuilding: building?.checkpoint ?? null,
  };
};

/** Sleeps until somebody waits for the projections, the signal aborts, or it is time to look again. */
const sleepUntilAwaited = async (
  board: ProjectionBoard,
  clock: Clock,
  signal: AbortSignal,
): Promise<void> => {
  const waking = new AbortController();
  const wake = (): void => waking.abort();
  const unsubscribe = board.onAwaited(wake);
  signal.addEventListener('abort', wake);
  await clock.sleep(signal.aborted ? 0 : pollWhileIdle, waking.signal);
  signal.removeEventListener('abort', wake);
  unsubscribe();
};

/**
 * Keeps the board up to date in every process, whichever one projects: by the checkpoints and the projector's
 * lease in MongoDB, until the signal aborts. Never rejects.
 */
export const watchProjector = async (
  { database, clock, projections, board, lease, downAfter = defaultDownAfter }: ProjectorWatchOptions,
  signal: AbortSignal,
): Promise<void> => {
  let pulse: string | null = null;
  // A pulse that is seen for the first time may be that of a dead owner: only its change is a sign of life.
  let pulseAt = -Infinity;
  let isFirst = true;
  let reported = '';
  while (!signal.aborted) {
    try {
      const [rows, now] = await Promise.all([
        builds(database).then((all) => all.find({ state: { $ne: 'retired' } }).toArray()),
        MongoLease.ownerOf(database, lease),
      ]);
      if (now !== null && now.pulse !== pulse && !isFirst) pulseAt = clock.monotonic();
      pulse = now?.pulse ?? null;
      isFirst = false;
      const down =
        now === null || clock.monotonic() - pulseAt >= downAfter ? 'No projector is at work.' : now.trouble;
      const status = { down, projections: projections.map((projection) => statusOf(projection, rows)) };
      const text = JSON.stringify(status, (_, value: unknown) =>
        typeof value === 'bigint' ? String(value) : value,
      );
      if (text !== reported) board.status(status);
      reported = text;
    } catch (error) {
      reported = '';
      board.status({
        down: `MongoDB: ${messageOf(error)}`,
        projections: [],
      });
    }
    await (board.isAwaited()
      ? clock.sleep(pollWhileAwaited, signal)
      : sleepUntilAwaited(board, clock, signal));
  }
};
