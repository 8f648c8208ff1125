import type { ProjectionStatus, ProjectorReports } from '../../application/projection-board.js';
import type { Clock } from '../../application/ports/system.js';
import type { Milliseconds } from '../../domain/ids.js';
import type { Projection } from '../../projections/projection.js';
import { builds, type BuildRow } from './builds.js';
import type { MongoDatabase } from './database.js';
import { MongoLease } from './lease.js';

export interface ProjectorWatchOptions {
  readonly database: MongoDatabase;
  readonly clock: Clock;
  readonly projections: readonly Projection<unknown>[];
  readonly reports: ProjectorReports;
  /** The name of the projector's lease. */
  readonly lease: string;
  /** How often is looked. */
  readonly every?: Milliseconds;
  /** Without a sign of life of the projector for so long it counts as down. */
  readonly patience?: Milliseconds;
}

const usualEvery: Milliseconds = 25;
const usualPatience: Milliseconds = 15_000;

const statusOf = ({ name, version }: Projection<unknown>, rows: readonly BuildRow[]): ProjectionStatus => {
  const mine = rows
    .filter((row) => row.name === name && row.version <= version && row.state === 'active')
    .toSorted((a, b) => a.version - b.version || a.generation - b.generation);
  const active = mine.at(-1);
  const building = rows.find((row) => row.name === name && row.version === version && row.state === 'building');
  return {
    name,
    version: active?.version ?? version,
    checkpoint: active?.checkpoint ?? 0n,
    live: active !== undefined,
    rebuilding: building?.checkpoint ?? null,
  };
};

/** Tells a process that doesn't project itself how far the projector is, by the checkpoints and the lease, until the signal aborts. Never rejects. */
export const watchProjector = async (
  { database, clock, projections, reports, lease, every = usualEvery, patience = usualPatience }: ProjectorWatchOptions,
  signal: AbortSignal,
): Promise<void> => {
  let pulse: string | null = null;
  let pulseAt = clock.now();
  let told = '';
  while (!signal.aborted) {
    try {
      const [rows, now] = await Promise.all([
        builds(database).then((all) => all.find({ state: { $ne: 'retired' } }).toArray()),
        MongoLease.pulse(database, lease),
      ]);
      if (now !== null && now !== pulse) pulseAt = clock.now();
      pulse = now;
      const down = now === null || clock.now() - pulseAt >= patience ? 'No projector is at work.' : null;
      const status = { down, projections: projections.map((projection) => statusOf(projection, rows)) };
      const text = JSON.stringify(status, (_, value: unknown) => (typeof value === 'bigint' ? String(value) : value));
      if (text !== told) reports.status(status);
      told = text;
    } catch (error) {
      told = '';
      reports.status({ down: `MongoDB: ${error instanceof Error ? error.message : String(error)}`, projections: [] });
    }
    await clock.sleep(every, signal);
  }
};
