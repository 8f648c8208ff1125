import type { Registry } from 'prom-client';
import type { Part, Readiness } from '../../adapters/http/server/health.js';
import type { Clock } from '../../application/ports/system.js';
import type { ProjectionStatus, ProjectorStatus } from '../../application/projecting/projection-board.js';
import type { Milliseconds } from '../../domain/ids.js';
import type { Engine } from './engine.js';
import { measured, registerMetrics } from '../metrics/measured.js';
import type { LogLag } from '../metrics/projection-lag.js';

/** A projection that is less late than this counts as caught up. */
const caughtUpWithin: Milliseconds = 2_000;

const positionOf = (checkpoint: bigint, head: bigint | null): string =>
  head === null
    ? `at ${checkpoint}; where the log ends is not known yet`
    : checkpoint >= head
      ? `at the head, ${head}`
      : `at ${checkpoint} of ${head}`;

/**
 * One part per projection: ready if it has caught up with the head of the log. A rebuild beside it does not
 * matter. (docs/operations.md#health)
 */
export const projectionParts = (
  { down, projections }: ProjectorStatus,
  { head, of: lagOf }: LogLag<bigint | null>,
): readonly Part[] => {
  if (projections.length === 0) return [{ name: 'projections', ready: false, detail: down }];
  return projections.map(({ name, live, checkpoint, rebuilding }) => ({
    name: `projection ${name}`,
    ready: down === null && live && lagOf(checkpoint) < caughtUpWithin,
    detail: [
      positionOf(checkpoint, head),
      ...(rebuilding === null ? [] : [`rebuilding, ${positionOf(rebuilding, head)}`]),
      ...(down === null ? [] : [down]),
    ].join('; '),
  }));
};

/** A rehearsal, which is ready for what it does, says what it is. */
export const rehearsalPart = async ({ rehearsal }: Pick<Engine, 'rehearsal'>): Promise<readonly Part[]> => {
  const why = await Promise.resolve(rehearsal()).catch(() => null);
  return why === null ? [] : [{ name: 'rehearsal', ready: true, detail: why }];
};

export const registerReadiness = (registry: Registry, clock: Clock, readiness: Readiness): void => {
  const parts = measured(clock, readiness, { keepsLast: true });
  registerMetrics(registry, {
    'part_ready{part}': [
      '1 if the part is ready, as on /readyz; else 0.',
      async () => ((await parts()) ?? []).map(({ name, ready }) => [name, Number(ready)] as const),
    ],
  });
};

/**
 * How long a process waits for a projector after its start, and for a projection that was caught up before.
 */
const waitsFor: Milliseconds = 10_000;

/**
 * The same for processes whose projector may be another one: one that was ready stays so if the projector
 * dies, because the next takes over and writes wait for it. A process that starts without a projector is
 * ready after 10 s.
 */
export const patientParts = (clock: Clock): typeof projectionParts => {
  const begun = clock.monotonic();
  let readyAt: Milliseconds | null = null;
  return (status, lag) => {
    const parts = projectionParts(status, lag);
    const now = clock.monotonic();
    const isReady = parts.every(({ ready }) => ready);
    const isDown = status.down !== null && status.projections.length > 0;
    const isForgiven = isDown
      ? readyAt !== null || now >= begun + waitsFor
      : readyAt !== null && now < readyAt + waitsFor && status.projections.length > 0;
    if (isReady || (isDown && isForgiven)) readyAt = now;
    return isForgiven ? parts.map((part) => ({ ...part, ready: true })) : parts;
  };
};

/**
 * Registers how far each projection and its rebuild have come, and how late they are. `measure` throws while
 * the log can't be read.
 */
export const registerProjectionMetrics = (
  registry: Registry,
  clock: Clock,
  status: () => ProjectorStatus,
  measure: (checkpoints: readonly bigint[]) => Promise<LogLag>,
): void => {
  const projections = measured(clock, async () => {
    // In this order: positions that were passed before the head is read can't be beyond it.
    const now = status().projections;
    return { now, lag: await measure(now.map(({ checkpoint }) => checkpoint)).catch(() => null) };
  });
  const of = async (read: (projection: ProjectionStatus, lag: LogLag | null) => bigint | number | null) => {
    const { now, lag } = (await projections()) ?? { now: status().projections, lag: null };
    return now.flatMap((projection) => {
      const value = read(projection, lag);
      return value === null ? [] : [[projection.name, Number(value)] as const];
    });
  };
  registerMetrics(registry, {
    'projection_position{projection}': [
      'The position of the log that the projection has passed.',
      () => of(({ checkpoint }) => checkpoint),
    ],
    'projection_rebuild_position{projection}': [
      'The position of the log that the rebuild of the projection has passed.',
      () => of(({ rebuilding }) => rebuilding),
    ],
    'projection_positions_ahead{projection}': [
      'Positions that the projection has passed and the log lacks: unless 0, events are missing, or it is another log.',
      () => of(({ checkpoint }, lag) => lag && Math.max(0, Number(checkpoint) - Number(lag.head))),
    ],
    'projection_events_behind{projection}': [
      'Positions of the log that the projection has not passed; bytes in EventStoreDB.',
      () => of(({ checkpoint }, lag) => lag && Math.max(0, Number(lag.head) - Number(checkpoint))),
    ],
    'projection_lag_seconds{projection}': [
      'How much older the first event that the projection lacks is than the last event of the log; 0 if it lacks none.',
      () => of(({ checkpoint }, lag) => lag && lag.of(checkpoint) / 1_000),
    ],
  });
};
