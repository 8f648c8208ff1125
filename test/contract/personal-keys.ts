import { expect } from 'chai';
import {
  givenUp,
  PersonalKeysUnavailable,
  type PersonalKeys,
  type WrappedBlock,
} from '../../application/ports/personal-keys.js';
import { derivedUuid, type Instant } from '../../domain/ids.js';

export interface MadePersonalKeys {
  readonly keys: PersonalKeys;
  readonly close: () => Promise<void>;
}

const block = (byte: number): WrappedBlock => ({
  wrappedBy: 'a',
  iv: Buffer.alloc(12, byte),
  sealed: Buffer.alloc(8_208, byte),
});

/** What every store of personal keys promises. `make` is called for each test. */
export const personalKeysContract = (name: string, make: () => Promise<MadePersonalKeys>): void => {
  describe(`the personal keys contract: ${name}`, () => {
    let keys: PersonalKeys;
    let close: () => Promise<void>;
    beforeEach(async () => ({ keys, close } = await make()));
    afterEach(() => close());
    const add = async (...numbers: readonly number[]): Promise<void> =>
      keys.add(numbers.map((number) => ({ number, ...block(number % 256) })));
    const stored = (number: number) => ({ number, version: 1, ...block(number % 256) });

    it('has one first block, whoever of many comes first, and keeps it', async () => {
      const found = await Promise.all([1, 2, 3].map((byte) => keys.first(() => block(byte))));
      expect(found[0]).to.deep.include({ number: 0, version: 1 });
      expect([found[1], found[2], await keys.first(() => block(9))]).to.deep.equal([
        found[0],
        found[0],
        found[0],
      ]);
      await add(4);
      expect((await keys.after(-1, 9)).map(({ number }) => number)).to.deep.equal([0, 4]);
    });

    it('does not make a first block again where there are others', async () => {
      await add(1);
      expect(await keys.first(() => block(2))).to.equal(null);
    });

    it('adds blocks under numbers of up to 48 bits, and returns those that are there', async () => {
      await add(7, 2 ** 48 - 1);
      await add(3);
      const found = await keys.load([2 ** 48 - 1, 1_000, 3, 7]);
      expect(found.toSorted((a, b) => a.number - b.number)).to.deep.equal([3, 7, 2 ** 48 - 1].map(stored));
    });

    it('shows its blocks in their order, some at a time', async () => {
      await add(5, 1, 4);
      await add(2, 3);
      const seen: number[] = [];
      for (let last = 0; ;) {
        const page = await keys.after(last, 2);
        expect(page.length).to.be.at.most(2);
        seen.push(...page.map(({ number }) => number));
        const next = page.at(-1);
        if (next === undefined) break;
        expect(next).to.deep.equal(stored(next.number));
        last = next.number;
      }
      expect(seen).to.deep.equal([1, 2, 3, 4, 5]);
    });

    it('never replaces a block by another of its number', async () => {
      await add(7);
      let refused: unknown = null;
      await keys.add([{ number: 7, ...block(8) }]).catch((error: unknown) => (refused = error));
      expect(refused).to.be.instanceOf(PersonalKeysUnavailable);
      expect(await keys.load([7])).to.deep.equal([stored(7)]);
    });

    it('replaces a block only in the version that was read', async () => {
      const number = 1;
      await add(number);
      expect(await keys.replace({ number, version: 1, ...block(2) })).to.equal(true);
      expect(await keys.replace({ number, version: 1, ...block(3) })).to.equal(false);
      expect(await keys.replace({ number: number + 1_000, version: 1, ...block(3) })).to.equal(false);
      expect(await keys.load([number])).to.deep.equal([{ number, version: 2, ...block(2) }]);
    });

    it('keeps what a block that is given up holds', async () => {
      await add(1);
      await keys.replace({ number: 1, version: 1, ...block(1), wrappedBy: givenUp('a') });
      expect(await keys.load([1])).to.deep.equal([{ ...stored(1), version: 2, wrappedBy: givenUp('a') }]);
      expect([await keys.missing([1]), await keys.wrappers()]).to.deep.equal([[], [givenUp('a')]]);
    });

    it('keeps the mark of the shredder, and lets it go back', async () => {
      expect(await keys.mark()).to.equal(null);
      const event = { id: derivedUuid('e'), hash: 'h', at: '2026-03-01T12:00:00.000Z' as Instant };
      const mark = { position: 2n ** 40n, event };
      expect(await keys.saveMark(mark, null, [])).to.equal(true);
      expect(await keys.mark()).to.deep.equal(mark);
      expect(await keys.saveMark({ position: 0n, event: null }, mark, [])).to.equal(true);
      expect(await keys.mark()).to.deep.equal({ position: 0n, event: null });
    });

    it('moves the mark only from where it was read', async () => {
      const [first, next] = [1n, 2n].map((position) => ({ position, event: null }));
      if (first === undefined || next === undefined) throw new Error();
      expect(await keys.saveMark(next, first, [])).to.equal(false);
      expect(await keys.mark()).to.equal(null);
      expect(await keys.saveMark(first, null, [])).to.equal(true);
      expect(await keys.saveMark(next, null, [])).to.equal(false);
      expect(await keys.saveMark(first, next, [])).to.equal(false);
      expect(await keys.mark()).to.deep.equal(first);
    });

    it('names the blocks that are not there, of those that are asked for and of all whose use was noted', async () => {
      await add(1, 2);
      expect(await keys.missing([])).to.deep.equal([]);
      expect(await keys.missing([2, 3])).to.deep.equal([3]);
      const mark = { position: 1n, event: null };
      await keys.saveMark(mark, null, [1, 4]);
      await keys.saveMark({ position: 2n, event: null }, mark, [4, 5]);
      expect((await keys.missing([2, 3, 4])).toSorted((a, b) => a - b)).to.deep.equal([3, 4, 5]);
    });

    it('names the keys that its blocks are encrypted with', async () => {
      expect(await keys.wrappers()).to.deep.equal([]);
      await add(1, 2);
      await keys.add([{ number: 3, ...block(3), wrappedBy: 'b' }]);
      expect((await keys.wrappers()).toSorted()).to.deep.equal(['a', 'b']);
    });
  });
};
