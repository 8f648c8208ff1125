import { Gauge, type Registry } from 'prom-client';
import type { Part } from '../adapters/http/health.js';
import type { Clock } from '../application/ports/system.js';
import type { ProjectionStatus, ProjectorStatus } from '../application/projection-board.js';
import type { Milliseconds } from '../domain/ids.js';

/** A projection that lacks no more events than this counts as caught up: a fraction of a second. */
const caughtUpWithin = 5_000n;

const positionOf = (checkpoint: bigint, head: bigint): string =>
  checkpoint >= head ? `at the head, ${head}` : `at ${checkpoint} of ${head}`;

/**
 * One part per projection: ready if it has caught up with the head of the log. A rebuild beside it does not
 * matter. (docs/operations.md#health)
 */
export const projectionParts = ({ down, projections }: ProjectorStatus, head: bigint): readonly Part[] => {
  if (projections.length === 0) return [{ name: 'projections', ready: false, detail: down }];
  return projections.map(({ name, live, checkpoint, rebuilding }) => ({
    name: `projection ${name}`,
    ready: down === null && live && head - checkpoint <= caughtUpWithin,
    detail: [
      positionOf(checkpoint, head),
      ...(rebuilding === null ? [] : [`rebuilding, ${positionOf(rebuilding, head)}`]),
      ...(down === null ? [] : [down]),
    ].join('; '),
  }));
};

/** How long a process waits for a projector after its start, and for a projection that was caught up before. */
const waitsFor: Milliseconds = 10_000;

/**
 * The same for processes whose projector may be another one: one that was ready stays so if the projector dies,
 * because the next takes over and writes wait for it. A process that starts without a projector is ready after
 * 10 s.
 */
export const patientParts = (clock: Clock): typeof projectionParts => {
  const begun = clock.monotonic();
  let readyAt: Milliseconds | null = null;
  return (status, head) => {
    const parts = projectionParts(status, head);
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
 * Registers how far each projection and its rebuild have come. `head` returns null while the log can't be
 * read.
 */
export const registerProjectionMetrics = (
  registry: Registry,
  status: () => ProjectorStatus,
  head: () => Promise<bigint | null>,
): void => {
  const gauge = (
    name: string,
    help: string,
    read: (projection: ProjectionStatus, end: bigint | null) => bigint | null,
  ): void => {
    const measured = new Gauge({
      name,
      help,
      labelNames: ['projection'],
      registers: [registry],
      collect: async () => {
        // In this order: what was passed before the head is read can't be beyond it.
        const { projections } = status();
        const end = await head();
        measured.reset();
        for (const projection of projections) {
          const value = read(projection, end);
          if (value !== null) measured.set({ projection: projection.name }, Number(value));
        }
      },
    });
  };
  gauge(
    'projection_position',
    'The position of the log that the projection has passed.',
    ({ checkpoint }) => checkpoint,
  );
  gauge(
    'projection_rebuild_position',
    'The position of the log that the rebuild of the projection has passed.',
    ({ rebuilding }) => rebuilding,
  );
  gauge(
    'projection_positions_ahead',
    'How many positions the projection is ahead of the head of the log: anything but 0 means that events are missing, or that it is another log.',
    ({ checkpoint }, end) => (end === null ? null : checkpoint > end ? checkpoint - end : 0n),
  );
  gauge(
    'projection_events_behind',
    'How many positions the projection is behind the head of the log.',
    ({ checkpoint }, end) => (end === null ? null : checkpoint < end ? end - checkpoint : 0n),
  );
};
