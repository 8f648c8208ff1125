import { expect } from 'chai';
import { BufferedKeyUses } from '../../../application/access/buffered-key-uses.js';
import { Instant, Uuid, type Milliseconds } from '../../../domain/ids.js';
import { VirtualClock } from '../../support/memory/clock.js';

const key = Uuid.parse('k-1');
const at = (second: number) => Instant.parse(`2026-03-01T12:00:0${second}.000Z`);
const savedEvery: Milliseconds = 5_000;

const start = async () => {
  const stored = new Map<Uuid, Instant>();
  const rows = { stored, saves: 0, down: false };
  const clock = new VirtualClock();
  const uses = new BufferedKeyUses(
    {
      save: async (fresh) => {
        rows.saves += 1;
        if (rows.down) throw new Error('the database is away');
        for (const [id, use] of fresh) stored.set(id, use);
      },
      read: () => Promise.resolve(stored),
    },
    clock,
  );
  await clock.advance(0);
  return { rows, clock, uses };
};

describe('the buffered last uses of keys', () => {
  it('show a use at once and save it once, some seconds later', async () => {
    const { rows, clock, uses } = await start();
    uses.used(key, at(1));
    expect(await uses.lastUses([key])).to.deep.equal(new Map([[key, at(1)]]));
    expect(rows.stored.size).to.equal(0);
    await clock.advance(3 * savedEvery);
    expect([rows.saves, rows.stored]).to.deep.equal([1, new Map([[key, at(1)]])]);
    await uses.close();
  });

  it('show the later of a saved use and an unsaved one', async () => {
    const { rows, uses } = await start();
    rows.stored.set(key, at(5));
    uses.used(key, at(3));
    expect(await uses.lastUses([key])).to.deep.equal(new Map([[key, at(5)]]));
    uses.used(key, at(7));
    expect(await uses.lastUses([key])).to.deep.equal(new Map([[key, at(7)]]));
    await uses.close();
  });

  it('are saved later if they could not be saved', async () => {
    const { rows, clock, uses } = await start();
    rows.down = true;
    uses.used(key, at(1));
    await clock.advance(savedEvery);
    expect([rows.saves, rows.stored.size]).to.deep.equal([1, 0]);
    rows.down = false;
    await clock.advance(savedEvery);
    expect(rows.stored).to.deep.equal(new Map([[key, at(1)]]));
    await uses.close();
  });

  it('save unsaved uses when they are closed, which an unavailable database does not delay', async () => {
    for (const down of [false, true]) {
      const { rows, clock, uses } = await start();
      rows.down = down;
      uses.used(key, at(1));
      await uses.close();
      expect([rows.saves, rows.stored.size, clock.sleeping]).to.deep.equal([1, down ? 0 : 1, 0]);
    }
  });
});
