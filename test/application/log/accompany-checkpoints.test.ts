import { mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect } from 'chai';
import { anchorsIn } from '../../../adapters/log-witness/anchors.js';
import { accompanyCheckpoints } from '../../../application/log/accompany-checkpoints.js';
import type { Checkpoint } from '../../../application/ports/log-tiles.js';
import { VirtualClock } from '../../support/memory/clock.js';
import { eventually } from '../../support/time/eventually.js';

describe('what accompanies checkpoints', () => {
  it('brings each new one to the witnesses, and writes one down every hour', async () => {
    const folder = mkdtempSync(join(tmpdir(), 'anchors-'));
    const clock = new VirtualClock('2026-03-02T15:30:00.000Z');
    let newest: Checkpoint | null = null;
    const sign = (size: number): void => {
      newest = { size, root: Buffer.alloc(32), note: `checkpoint ${size}\n`, at: clock.instant() };
    };
    const offered: number[] = [];
    const errors: unknown[] = [];
    const stop = new AbortController();
    const running = accompanyCheckpoints(
      {
        clock,
        tiles: { newest: () => Promise.resolve(newest) },
        witnessing: { offer: ({ size }) => void offered.push(size), settled: () => Promise.resolve() },
        anchor: anchorsIn(folder),
        report: (error) => errors.push(error),
      },
      stop.signal,
    );
    const written = (): string[] => readdirSync(folder).sort();
    const passesUntil = (holds: () => boolean): Promise<true> =>
      eventually(async () => {
        await clock.advance(1_000);
        return holds();
      });
    sign(3);
    await passesUntil(() => written().length === 1 && offered.length === 1);
    sign(8);
    await passesUntil(() => offered.length === 2);
    await clock.advance(3_600_000);
    await passesUntil(() => written().length === 2);
    stop.abort();
    await running;
    expect(offered).to.deep.equal([3, 8]);
    expect(written()).to.deep.equal(['2026-03-02T15.checkpoint', '2026-03-02T16.checkpoint']);
    expect(readFileSync(join(folder, '2026-03-02T15.checkpoint'), 'utf8')).to.equal('checkpoint 3\n');
    expect(errors).to.deep.equal([]);
    rmSync(folder, { recursive: true });
  });
});
