import { expect } from 'chai';
import { createHash } from 'node:crypto';
import { ArtworkUnavailable, type Artwork, type Pictures } from '../../application/ports/artwork.js';
import { ArtworkDigest } from '../../domain/artwork.js';
import type { VirtualClock } from '../support/memory/clock.js';

interface Opened {
  readonly artwork: Artwork;
  readonly clock: VirtualClock;
  /** The same pictures after a restart, if they are durable. */
  readonly reopen?: () => Artwork;
  /** Puts pictures, and breaks off before they are there; absent if a put is whole anyway. */
  readonly breakOff?: (digest: ArtworkDigest, pictures: Pictures) => Promise<unknown>;
  /**
   * Begins a put that stands still amid its bytes until it is told to go on, and then gives its error; absent
   * if a put is whole at once.
   */
  readonly halt?: (digest: ArtworkDigest, pictures: Pictures) => Promise<() => Promise<unknown>>;
  /** Take bytes from a print master that is there, or alter one; absent if none can get lost. */
  readonly damages?: readonly ((digest: ArtworkDigest) => Promise<unknown>)[];
  /** How much is stored of pictures that are not there. */
  readonly leftovers: () => Promise<number>;
  readonly close: () => Promise<void>;
}

const picturesOf = (name: string, bytes = 700_000): Pictures => ({
  master: Buffer.alloc(bytes, name),
  preview: Buffer.from(`preview of ${name}`),
  thumbnail: Buffer.from(`thumbnail of ${name}`),
});

const digestOf = ({ master }: Pictures): ArtworkDigest =>
  ArtworkDigest.parse(createHash('sha256').update(master).digest('hex'));

const listed = async (artwork: Artwork) => {
  const found = [];
  for await (const each of artwork.list()) found.push(each);
  return found.toSorted((one, other) => one.putAt - other.putAt);
};

/** What every store of pictures promises. `open` is called for each test. */
export const artworkContract = (name: string, open: () => Promise<Opened>): void => {
  describe(`the artwork contract: ${name}`, () => {
    const using = async (run: (opened: Opened) => Promise<void>): Promise<void> => {
      const opened = await open();
      try {
        await run(opened);
      } finally {
        await opened.close();
      }
    };
    const [front, other] = [picturesOf('a front'), picturesOf('another', 0)];
    const [digest, otherDigest] = [digestOf(front), digestOf(other)];

    it('gives each picture of a front as it was put, also after a restart', () =>
      using(async ({ artwork, reopen }) => {
        await artwork.put(digest, front);
        await artwork.put(otherDigest, other);
        const read = reopen?.() ?? artwork;
        for (const [of, pictures] of [[digest, front] as const, [otherDigest, other] as const])
          for (const size of ['master', 'preview', 'thumbnail'] as const)
            expect(pictures[size].equals((await read.get(of, size)) ?? Buffer.from('nothing'))).to.equal(
              true,
            );
        expect(await read.get(digestOf(picturesOf('a third')), 'thumbnail')).to.equal(null);
      }));

    it('has one of many that are put with the same digest, and renews its time', () =>
      using(async ({ artwork, clock }) => {
        await artwork.put(digest, front);
        await clock.advance(60_000);
        await Promise.all([1, 2, 3].map(() => artwork.put(digest, front)));
        expect(await listed(artwork)).to.deep.equal([{ digest, putAt: clock.now() }]);
      }));

    it('is empty at first, and lists what is there with the times of the puts', () =>
      using(async ({ artwork, clock }) => {
        expect(await listed(artwork)).to.deep.equal([]);
        const began = clock.now();
        await artwork.put(digest, front);
        await clock.advance(1_001);
        await artwork.put(otherDigest, other);
        expect(await listed(artwork)).to.deep.equal([
          { digest, putAt: began },
          { digest: otherDigest, putAt: began + 1_001 },
        ]);
      }));

    it('removes a front that was put before a moment, and no other', () =>
      using(async ({ artwork, clock, leftovers }) => {
        const began = clock.now();
        await Promise.all([artwork.put(digest, front), artwork.put(otherDigest, other)]);
        await clock.advance(1_000);
        await artwork.put(otherDigest, other);
        await artwork.remove(digest, began);
        expect(await listed(artwork)).to.have.length(2);
        await artwork.remove(otherDigest, began + 1);
        for (const _ of [1, 2]) await artwork.remove(digest, began + 1);
        expect(await artwork.get(digest, 'master')).to.equal(null);
        expect((await artwork.get(otherDigest, 'thumbnail'))?.toString()).to.equal('thumbnail of another');
        expect(await leftovers()).to.equal(0);
      }));

    it('renews a front that is there, which keeps it, and no other', () =>
      using(async ({ artwork, clock }) => {
        const began = clock.now();
        await artwork.put(digest, front);
        await clock.advance(1_000);
        expect([await artwork.renew(digest), await artwork.renew(otherDigest)]).to.deep.equal([true, false]);
        await artwork.remove(digest, began + 1_000);
        expect(await listed(artwork)).to.deep.equal([{ digest, putAt: began + 1_000 }]);
        await artwork.remove(digest, began + 1_001);
        expect([await artwork.renew(digest), await listed(artwork)]).to.deep.equal([false, []]);
      }));

    it('replaces a picture that has lost bytes, or has others, when it is put again', () =>
      using(async ({ artwork, damages = [], clock, leftovers }) => {
        await artwork.put(digest, front);
        for (const damage of damages) {
          await damage(digest);
          await clock.advance(1_000);
          await artwork.put(digest, front);
          expect((await artwork.get(digest, 'master'))?.equals(front.master)).to.equal(true);
          expect(await listed(artwork)).to.deep.equal([{ digest, putAt: clock.now() }]);
          expect(await leftovers()).to.equal(0);
        }
      }));

    it('puts again what was removed', () =>
      using(async ({ artwork, clock }) => {
        await artwork.put(digest, front);
        await artwork.remove(digest, clock.now() + 1);
        await artwork.put(digest, front);
        expect((await artwork.get(digest, 'master'))?.equals(front.master)).to.equal(true);
      }));

    it('has nothing of a put that broke off, which is cleared away later', () =>
      using(async ({ artwork, clock, breakOff, leftovers }) => {
        if (breakOff === undefined) return;
        const began = clock.now();
        await breakOff(digest, front);
        expect([await artwork.get(digest, 'preview'), await listed(artwork)]).to.deep.equal([null, []]);
        await artwork.removeUnfinished(began);
        expect(await leftovers()).to.be.greaterThan(0);
        await artwork.put(digest, front);
        await artwork.removeUnfinished(began + 1);
        expect(await leftovers()).to.equal(0);
        expect((await artwork.get(digest, 'master'))?.equals(front.master)).to.equal(true);
      }));

    it('fails a put that stood still for so long that its bytes were cleared away', () =>
      using(async ({ artwork, clock, halt, leftovers }) => {
        if (halt === undefined) return;
        const goOn = await halt(digest, front);
        await artwork.removeUnfinished(clock.now() + 1);
        expect(await goOn()).to.be.instanceOf(ArtworkUnavailable);
        expect([await artwork.get(digest, 'preview'), await listed(artwork)]).to.deep.equal([null, []]);
        expect(await leftovers()).to.equal(0);
        await artwork.put(digest, front);
        expect((await artwork.get(digest, 'master'))?.equals(front.master)).to.equal(true);
      }));

    it('counts the time of a put from its end', () =>
      using(async ({ artwork, clock, halt }) => {
        if (halt === undefined) return;
        const goOn = await halt(digest, front);
        await clock.advance(1_000);
        expect(await goOn()).to.equal(null);
        expect(await listed(artwork)).to.deep.equal([{ digest, putAt: clock.now() }]);
      }));
  });
};
