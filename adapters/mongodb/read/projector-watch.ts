import type { ProjectionBoard, ProjectionStatus } from '../../../application/projecting/projection-board.js';
import type { Clock } from '../../../application/ports/system.js';
import { messageOf } from '../../../domain/errors.js';
import type { Milliseconds } from '../../../domain/ids.js';
import type { Projection } from '../../../projections/projection.js';
import { isBuildOf, type BuildRow } from './builds.js';
import type { MongoDatabase } from '../client/database.js';
import { MongoLeases } from '../client/leases.js';
import { projectorLease, releaseOf, type Releases } from './releases.js';
import type { SeenBuilds } from './seen-builds.js';

export interface ProjectorWatchOptions {
  readonly database: MongoDatabase;
  /** The builds that the readers of this process share. */
  readonly seen: SeenBuilds;
  readonly releases: Releases;
  readonly clock: Clock;
  readonly projections: readonly Projection<unknown>[];
  readonly board: ProjectionBoard;
  /** Whether the projector of this process is at work, and reports to the board itself. */
  readonly isFedHere?: () => boolean;
  /** How long without a sign of life until a projector counts as down. */
  readonly downAfter?: Milliseconds;
}

/** How often to poll while a reader waits for the projections, and while none does. */
const pollWhileAwaited: Milliseconds = 25;
const pollWhileIdle: Milliseconds = 500;
/** How often to look for signs of life of the projector, which come more seldom than checkpoints. */
const pulseInterval: Milliseconds = 200;

const statusOf = (projection: Projection<unknown>, rows: readonly BuildRow[]): ProjectionStatus => {
  const own = rows.filter((row) => isBuildOf(projection, row));
  const active = own.findLast(({ state }) => state === 'active');
  const building = own.findLast(({ state }) => state === 'building');
  return {
    name: projection.name,
    checkpoint: (active ?? building)?.checkpoint ?? 0n,
    live: active !== undefined,
    rebuilding: building?.checkpoint ?? null,
  };
};

/** Sleeps until a reader waits for the projections, the signal aborts, or it is time to poll again. */
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

/** Work that is done again only once the time has passed. A failure is tried again at once. */
const every = (pause: Milliseconds, clock: Clock, work: () => Promise<void>): (() => Promise<void>) => {
  let last = -Infinity;
  return async () => {
    const now = clock.monotonic();
    if (now < last + pause) return;
    last = -Infinity;
    await work();
    last = now;
  };
};

/**
 * Keeps the board up to date in every process, whichever one projects: by the checkpoints of its builds, the
 * lease of its projector and the other releases in MongoDB, until the signal aborts. Never rejects.
 */
export const watchProjector = async (
  {
    database,
    seen,
    releases,
    clock,
    projections,
    board,
    isFedHere = () => false,
    downAfter = 3_000,
  }: ProjectorWatchOptions,
  signal: AbortSignal,
): Promise<void> => {
  const lease = projectorLease(releaseOf(projections));
  /** The last sign of life. The first one may be a dead owner's. */
  let pulse: { readonly text: string; readonly changedAt: Milliseconds } | null = null;
  let down: string | null = null;
  const lookForPulse = every(pulseInterval, clock, async () => {
    const owner = await MongoLeases.owner(database, lease);
    const now = clock.monotonic();
    const text = owner?.pulse ?? '';
    if (pulse?.text !== text) pulse = { text, changedAt: pulse === null ? -Infinity : now };
    const isAlive = owner !== null && now - pulse.changedAt < downAfter;
    down = isAlive ? owner.trouble : 'No projector is at work.';
  });
  const lookForReleases = every(pollWhileIdle, clock, async () => {
    const began = clock.monotonic();
    await releases.look(board.missing());
    board.viewed(began, releases.areSeveral(), releases.missed);
  });
  while (!signal.aborted) {
    const began = clock.monotonic();
    try {
      await Promise.all([lookForReleases(), ...(isFedHere() ? [] : [seen.look(), lookForPulse()])]);
      await releases.join(signal);
      const status = { down, projections: projections.map((each) => statusOf(each, seen.rows)) };
      if (!isFedHere()) board.status(status);
    } catch (error) {
      if (!isFedHere()) {
        board.status({ down: `MongoDB: ${messageOf(error)}`, projections: [] });
        board.viewed(began, releases.areSeveral(), releases.missed);
      }
    }
    if (isFedHere()) await clock.sleep(pollWhileIdle, signal);
    else if (board.isAwaited()) await clock.sleep(pollWhileAwaited, signal);
    else await sleepUntilAwaited(board, clock, signal);
  }
};
