import { Gauge, type Registry } from 'prom-client';
import type { Part } from '../adapters/http/health.js';
import type { ProjectionStatus, ProjectorStatus } from '../application/projection-board.js';

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
        const end = await head();
        measured.reset();
        for (const projection of status().projections) {
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
    'projection_events_behind',
    'How many positions the projection is behind the head of the log.',
    ({ checkpoint }, end) => (end === null ? null : checkpoint < end ? end - checkpoint : 0n),
  );
};
