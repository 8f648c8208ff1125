import { expect } from 'chai';
import { nextTurn } from '../../../../application/timing/next-turn.js';
import { VirtualClock } from '../../../support/memory/clock.js';
import { Batcher } from '../../../../adapters/mongodb/client/batcher.js';

describe('lots', () => {
  const opened = (most: number) => {
    const lots: (readonly number[])[] = [];
    const waiting: (() => void)[] = [];
    const work = new Batcher(most, async (items: readonly number[]) => {
      lots.push(items);
      await new Promise<void>((resolve) => waiting.push(resolve));
      if (items.includes(13)) throw new Error('13 can not be done');
      return items.map((item) => item * 10);
    });
    const end = async (): Promise<void> => {
      for (let turn = 0; turn < 10; turn += 1) await Promise.resolve();
      waiting.shift()?.();
    };
    return { lots, work, end };
  };

  it('take what is asked for in one step together, and what comes meanwhile in the next, up to their size', async () => {
    const { lots, work, end } = opened(3);
    const first = Promise.all([work.add(1), work.add(2)]);
    for (let turn = 0; turn < 10; turn += 1) await Promise.resolve();
    const later = Promise.all([3, 4, 5, 6].map((item) => work.add(item)));
    await end();
    expect(await first).to.deep.equal([10, 20]);
    await end();
    await end();
    expect(await later).to.deep.equal([30, 40, 50, 60]);
    expect(lots).to.deep.equal([[1, 2], [3, 4, 5], [6]]);
  });

  it('fail for all in them, and the next goes on', async () => {
    const { work, end } = opened(2);
    const asked = Promise.allSettled([work.add(1), work.add(13), work.add(2)]);
    await end();
    await end();
    expect(
      (await asked).map((outcome) =>
        outcome.status === 'fulfilled' ? outcome.value : String(outcome.reason),
      ),
    ).to.deep.equal(['Error: 13 can not be done', 'Error: 13 can not be done', 20]);
  });

  it('go on beside one that hangs, for what came behind it and what comes later', async () => {
    const clock = new VirtualClock();
    let release = (): void => undefined;
    const hanging = new Promise<void>((resolve) => (release = resolve));
    const lots: (readonly number[])[] = [];
    const lane = Batcher.lane(clock, async (items: readonly number[]) => {
      lots.push(items);
      if (items.includes(1)) await hanging;
      return items;
    });
    const first = lane.add(1);
    await nextTurn();
    const behind = lane.add(2);
    await nextTurn();
    expect(lots).to.deep.equal([[1]]);
    await clock.advance(1_000);
    expect(await behind).to.equal(2);
    expect(await lane.add(3)).to.equal(3);
    expect(lots).to.deep.equal([[1], [2], [3]]);
    release();
    expect(await first).to.equal(1);
  });
});
