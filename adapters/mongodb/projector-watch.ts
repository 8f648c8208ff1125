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
  /** Without a sign of life of the projector for so long it counts as down. */
  readonly patience?: Milliseconds;
}

/** How often is looked while somebody waits for the projections, and while nobody does. */
const eagerly: Milliseconds = 25;
const idly: Milliseconds = 500;
const usualPatience: Milliseconds = 15_000;

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

/** Resolves when somebody waits for the projections, when the signal aborts, or after a while. */
const untilAwaited = async (board: ProjectionBoard, clock: Clock, signal: AbortSignal): Promise<void> => {
  const waking = new AbortController();
  const wake = (): void => waking.abort();
  const forget = board.onAwaited(wake);
  signal.addEventListener('abort', wake);
  await clock.sleep(signal.aborted ? 0 : idly, waking.signal);
  signal.removeEventListener('abort', wake);
  forget();
};

/**
 * Tells a process that doesn't project itself how far the projector is, by the checkpoints and the lease,
 * until the signal aborts. Never rejects.
 */
export const watchProjector = async (
  { database, clock, projections, board, lease, patience = usualPatience }: ProjectorWatchOptions,
  signal: AbortSignal,
): Promise<void> => {
  let pulse: string | null = null;
  let pulseAt = clock.monotonic();
  let told = '';
  while (!signal.aborted) {
    try {
      const [rows, now] = await Promise.all([
        builds(database).then((all) => all.find({ state: { $ne: 'retired' } }).toArray()),
        MongoLease.pulse(database, lease),
      ]);
      if (now !== null && now !== pulse) pulseAt = clock.monotonic();
      pulse = now;
      const down =
        now === null || clock.monotonic() - pulseAt >= patience ? 'No projector is at work.' : null;
      const status = { down, projections: projections.map((projection) => statusOf(projection, rows)) };
      const text = JSON.stringify(status, (_, value: unknown) =>
        typeof value === 'bigint' ? String(value) : value,
      );
      if (text !== told) board.status(status);
      told = text;
    } catch (error) {
      told = '';
      board.status({
        down: `MongoDB: ${messageOf(error)}`,
        projections: [],
      });
    }
    await (board.isAwaited() ? clock.sleep(eagerly, signal) : untilAwaited(board, clock, signal));
  }
};
