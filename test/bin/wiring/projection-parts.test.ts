import { expect } from 'chai';
import { Registry } from 'prom-client';
import type { ProjectionStatus, ProjectorStatus } from '../../../application/projecting/projection-board.js';
import {
  patientParts,
  projectionParts,
  registerProjectionMetrics,
} from '../../../bin/wiring/projection-parts.js';
import { unknownLag, type LogLag } from '../../../bin/metrics/projection-lag.js';
import { VirtualClock } from '../../support/memory/clock.js';

const standing = (
  name: string,
  checkpoint: bigint,
  changes: Partial<ProjectionStatus> = {},
): ProjectionStatus => ({
  name,
  checkpoint,
  live: true,
  rebuilding: null,
  ...changes,
});

const lag = (head: bigint, lags: Readonly<Record<number, number>> = {}): LogLag => ({
  head,
  of: (checkpoint) => lags[Number(checkpoint)] ?? 0,
});

describe('the health of the projections', () => {
  it('is ready if they have caught up, even while one is rebuilt', () => {
    expect(
      projectionParts(
        { down: null, projections: [standing('a', 9_000n), standing('b', 9_990n, { rebuilding: 5n })] },
        lag(9_990n, { 9000: 1_999 }),
      ),
    ).to.deep.equal([
      { name: 'projection a', ready: true, detail: 'at 9000 of 9990' },
      { name: 'projection b', ready: true, detail: 'at the head, 9990; rebuilding, at 5 of 9990' },
    ]);
  });

  it('is not ready while one is 2 s behind the log or not live', () => {
    const parts = projectionParts(
      { down: null, projections: [standing('a', 1n), standing('b', 9_000n, { live: false })] },
      lag(9_000n, { 1: 2_000 }),
    );
    expect(parts.map(({ ready }) => ready)).to.deep.equal([false, false]);
  });

  it('is not ready before it is known where the log ends, and is not said to be there', () => {
    expect(projectionParts({ down: null, projections: [standing('a', 0n)] }, unknownLag)).to.deep.equal([
      { name: 'projection a', ready: false, detail: 'at 0; where the log ends is not known yet' },
    ]);
  });

  it('is not ready while the projector is down, and says why', () => {
    expect(projectionParts({ down: 'away', projections: [standing('a', 5n)] }, lag(5n))).to.deep.equal([
      { name: 'projection a', ready: false, detail: 'at the head, 5; away' },
    ]);
    expect(projectionParts({ down: 'not started', projections: [] }, lag(5n))).to.deep.equal([
      { name: 'projections', ready: false, detail: 'not started' },
    ]);
  });

  it('of a process that was ready is not lost with the projector, nor while the next one catches up', async () => {
    const clock = new VirtualClock();
    const parts = patientParts(clock);
    const caughtUp = { down: null, projections: [standing('a', 9_000n)] };
    const behind = { down: null, projections: [standing('a', 1n)] };
    const down = { ...behind, down: 'No projector is at work.' };
    const seen: unknown[] = [];
    const look = async (status: ProjectorStatus, after: number) => {
      await clock.advance(after);
      seen.push(parts(status, lag(9_000n, { 1: 60_000 })).every(({ ready }) => ready));
    };
    await look(behind, 0);
    await look(caughtUp, 1);
    await look(behind, 9_999);
    await look(down, 0);
    await look(down, 60_000);
    await look(behind, 9_999);
    await look(behind, 1);
    await look({ down: 'MongoDB: away', projections: [] }, 0);
    expect(seen).to.deep.equal([false, true, true, true, true, true, false, false]);
  });

  it('of a process that starts without a projector is there after 10 s', async () => {
    const clock = new VirtualClock();
    const parts = patientParts(clock);
    const isReady = () => {
      const down = 'No projector is at work.';
      return parts({ down, projections: [standing('a', 1n)] }, lag(9_000n, { 1: 60_000 })).every(
        ({ ready }) => ready,
      );
    };
    await clock.advance(9_999);
    const before = isReady();
    await clock.advance(1);
    expect([before, isReady()]).to.deep.equal([false, true]);
  });

  const metricsOf = async (found: LogLag | null): Promise<readonly string[]> => {
    const registry = new Registry();
    const projections = [standing('a', 7n), standing('b', 9n, { rebuilding: 2n })];
    registerProjectionMetrics(
      registry,
      new VirtualClock(),
      () => ({ down: null, projections }),
      () => (found === null ? Promise.reject(new Error('away')) : Promise.resolve(found)),
    );
    return (await registry.metrics()).split('\n').filter((line) => line.startsWith('projection'));
  };

  it('has metrics of positions, lag and rebuilds', async () => {
    expect(await metricsOf(lag(8n, { 7: 1_500 }))).to.have.members([
      'projection_position{projection="a"} 7',
      'projection_position{projection="b"} 9',
      'projection_events_behind{projection="a"} 1',
      'projection_events_behind{projection="b"} 0',
      'projection_positions_ahead{projection="a"} 0',
      'projection_positions_ahead{projection="b"} 1',
      'projection_lag_seconds{projection="a"} 1.5',
      'projection_lag_seconds{projection="b"} 0',
      'projection_rebuild_position{projection="b"} 2',
    ]);
  });

  it('has metrics even while the log is unavailable', async () => {
    expect(await metricsOf(null)).to.include('projection_position{projection="a"} 7');
  });
});
