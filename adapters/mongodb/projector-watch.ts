import type { ProjectionBoard, ProjectionStatus } from '../../application/projecting/projection-board.js';
import type { Clock } from '../../application/ports/system.js';
import { messageOf } from '../../domain/errors.js';
import type { Milliseconds } from '../../domain/ids.js';
import type { Projection } from '../../projections/projection.js';
import type { BuildRow } from './builds.js';
import { releaseOf, type ProjectorPulses } from './projector-pulses.js';
import { acknowledgedTo, type SeenBuilds } from './seen-builds.js';

export interface ProjectorWatchOptions {
  /** What the readers of this process read, too. */
  readonly seen: SeenBuilds;
  readonly clock: Clock;
  readonly projections: readonly Projection<unknown>[];
  readonly board: ProjectionBoard;
  readonly pulses: ProjectorPulses;
  /**
   * How far a projector of this process has come that tells the board itself: nobody waits for a look then.
   * Null if there is none.
   */
  readonly fedHereTo?: () => bigint | null;
  /** Hears after every look whether nobody feeds what this process reads, while another release is fed. */
  readonly onAbandoned?: (isAbandoned: boolean) => void;
}

/** How often to look while somebody waits for the projections, and while nobody does. */
const pollWhileAwaited: Milliseconds = 25;
const pollWhileIdle: Milliseconds = 500;
/** How often to look for signs of life: they come more seldom than checkpoints. */
const pulsesEvery: Milliseconds = 200;

const statusOf = (projection: Projection<unknown>, seen: SeenBuilds): ProjectionStatus => {
  const { name, version } = projection;
  const reading = seen.reading(projection);
  const building = seen
    .rows()
    .find((row) => row.name === name && row.version === version && row.state === 'building');
  return {
    name,
    version: reading?.row.version ?? version,
    checkpoint: reading === null ? 0n : acknowledgedTo(reading),
    live: reading !== null,
    rebuilding: (reading?.next?.row ?? building)?.checkpoint ?? null,
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
 * Keeps the board up to date in every process, whichever one projects: by the checkpoints and the projectors'
 * leases in MongoDB, until the signal aborts. Never rejects.
 */
export const watchProjector = async (
  {
    seen,
    clock,
    projections,
    board,
    pulses,
    fedHereTo = () => null,
    onAbandoned = () => undefined,
  }: ProjectorWatchOptions,
  signal: AbortSignal,
): Promise<void> => {
  const release = releaseOf(projections);
  let reported = '';
  let lookedAt = -Infinity;
  const lookForPulses = async (): Promise<void> => {
    const now = clock.monotonic();
    if (now < lookedAt + pulsesEvery) return;
    lookedAt = -Infinity;
    await pulses.look();
    lookedAt = now;
  };
  while (!signal.aborted) {
    try {
      await Promise.all([seen.look(), lookForPulses()]);
      const isFed = (row: BuildRow | undefined): boolean =>
        typeof row?.fedBy === 'string' && pulses.isAlive(row.fedBy);
      const isOwnAlive = pulses.isAlive(release);
      // Of a build that is about to take over, its own projector has to live: writes wait for it, too.
      const isFedByOthers = projections.every((projection) => {
        const reading = seen.reading(projection);
        return isFed((reading?.next ?? reading)?.row);
      });
      const down = isOwnAlive ? pulses.troubleOf(release) : isFedByOthers ? null : 'No projector is at work.';
      onAbandoned(!isOwnAlive && !isFedByOthers && pulses.othersThan(release).length > 0);
      const status = { down, projections: projections.map((projection) => statusOf(projection, seen)) };
      const text = JSON.stringify(status, (_, value: unknown) =>
        typeof value === 'bigint' ? String(value) : value,
      );
      if (text !== reported) board.status(status);
      // What was read may be older than what the projector of this process has told.
      const told = fedHereTo();
      if (down === null && told !== null) board.moved(told);
      reported = text;
      board.viewed();
    } catch (error) {
      reported = '';
      board.status({
        down: `MongoDB: ${messageOf(error)}`,
        projections: [],
      });
      board.viewed();
    }
    if (fedHereTo() !== null) await clock.sleep(pollWhileIdle, signal);
    else if (board.isAwaited()) await clock.sleep(pollWhileAwaited, signal);
    else await sleepUntilAwaited(board, clock, signal);
  }
};
