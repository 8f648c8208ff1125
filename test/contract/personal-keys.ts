import { expect } from 'chai';
import type { PersonalKeys, WrappedBlock } from '../../application/ports/personal-keys.js';
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
    const add = async (make: (number: number) => WrappedBlock): Promise<number> =>
      (await keys.add(1, make))[0] ?? NaN;

    it('has one first block, whoever of many comes first, and keeps it out of the count', async () => {
      const found = await Promise.all([1, 2, 3].map((byte) => keys.first(() => block(byte))));
      expect(found[0]).to.deep.include({ number: 0, version: 1 });
      expect([found[1], found[2], await keys.first(() => block(9))]).to.deep.equal([
        found[0],
        found[0],
        found[0],
      ]);
      expect(await add(() => block(4))).to.equal(1);
      expect((await keys.after(-1, 9)).map(({ number }) => number)).to.deep.equal([0, 1]);
    });

    it('does not make a first block again where there were others', async () => {
      await add(() => block(1));
      expect(await keys.first(() => block(2))).to.equal(null);
    });

    it('adds blocks under growing numbers, and returns those that are there', async () => {
      const first = await add((number) => block(number % 256));
      const second = await add((number) => block(number % 256));
      expect(second).to.be.greaterThan(first);
      const found = await keys.load([second, second + 1_000, first]);
      expect(found.toSorted((a, b) => a.number - b.number)).to.deep.equal([
        { number: first, version: 1, ...block(first % 256) },
        { number: second, version: 1, ...block(second % 256) },
      ]);
    });

    it('shows its blocks in their order, some at a time', async () => {
      const numbers: number[] = [];
      for (let count = 0; count < 5; count += 1) numbers.push(await add(() => block(1)));
      const seen: number[] = [];
      for (let last = 0; ;) {
        const page = await keys.after(last, 2);
        expect(page.length).to.be.at.most(2);
        seen.push(...page.map(({ number }) => number));
        const next = page.at(-1);
        if (next === undefined) break;
        expect(next).to.deep.include({ version: 1, ...block(1) });
        last = next.number;
      }
      expect(seen).to.deep.equal(numbers);
    });

    it('adds several blocks at once, each under a number of its own', async () => {
      const numbers = await keys.add(3, (number) => block(number % 256));
      expect(new Set(numbers).size).to.equal(3);
      const found = await keys.load(numbers);
      expect(found.toSorted((a, b) => a.number - b.number)).to.deep.equal(
        numbers.map((number) => ({ number, version: 1, ...block(number % 256) })),
      );
    });

    it('gives each number once, to many writers at once', async () => {
      const numbers = await Promise.all(Array.from({ length: 20 }, () => add(() => block(1))));
      expect(new Set(numbers).size).to.equal(20);
      expect(await keys.load(numbers)).to.have.length(20);
    });

    it('replaces a block only in the version that was read', async () => {
      const number = await add(() => block(1));
      expect(await keys.replace({ number, version: 1, ...block(2) })).to.equal(true);
      expect(await keys.replace({ number, version: 1, ...block(3) })).to.equal(false);
      expect(await keys.replace({ number: number + 1_000, version: 1, ...block(3) })).to.equal(false);
      expect(await keys.load([number])).to.deep.equal([{ number, version: 2, ...block(2) }]);
    });

    it('keeps the mark of the shredder, and lets it go back', async () => {
      expect(await keys.mark()).to.equal(null);
      const event = { id: derivedUuid('e'), hash: 'h', at: '2026-03-01T12:00:00.000Z' as Instant };
      await keys.saveMark({ position: 2n ** 40n, event });
      expect(await keys.mark()).to.deep.equal({ position: 2n ** 40n, event });
      await keys.saveMark({ position: 0n, event: null });
      expect(await keys.mark()).to.deep.equal({ position: 0n, event: null });
    });
  });
};
