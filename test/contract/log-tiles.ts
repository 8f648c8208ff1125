import { expect } from 'chai';
import { consistencyProof, frontierAt, inclusionProof } from '../../application/log/log-proofs.js';
import { ForkedLog, type Leaf, type LogTiles } from '../../application/ports/log-tiles.js';
import type { Instant } from '../../domain/ids.js';
import { emptyFrontier, grow, hashesIn, leafHash, rootOf, verifyConsistency } from '../../domain/merkle.js';
import { verifyInclusion } from '../support/fixtures/inclusion.js';

export interface MadeLogTiles {
  readonly tiles: LogTiles;
  readonly close: () => Promise<void>;
}

/** Leaves of three organizations that take turns; positions have gaps, as those of a server have. */
export const leavesFrom = (from: number, count: number): Leaf[] =>
  Array.from({ length: count }, (_, at) => ({
    hash: leafHash(Buffer.from(`entry ${from + at}`)),
    position: BigInt((from + at + 1) * 10),
    orgSeq: Math.floor((from + at) / 3),
  }));

const hashesOf = (leaves: readonly Leaf[]): Buffer[] => leaves.map(({ hash }) => hash);
const rootAt = (size: number): Buffer => rootOf(grow(emptyFrontier, hashesOf(leavesFrom(0, size))).frontier);
const at = (text: string): Instant => `2026-03-01T${text}.000Z` as Instant;

/** The rules of the port, for each implementation. */
export const logTilesContract = (make: () => Promise<MadeLogTiles>): void => {
  let made: MadeLogTiles;
  beforeEach(async () => void (made = await make()));
  afterEach(() => made.close());

  /** Extends by batches of these sizes. */
  const grown = async (...batches: readonly number[]): Promise<number> => {
    let size = (await made.tiles.tree()).size;
    for (const count of batches) {
      const leaves = leavesFrom(size, count);
      expect(await made.tiles.extend(size, leaves, leaves.at(-1)?.position ?? 0n, 1)).to.equal(true);
      size += count;
    }
    return size;
  };

  it('begins with an empty tree', async () => {
    const { tiles } = made;
    expect(await tiles.tree()).to.deep.equal({ size: 0, roots: [], position: 0n, epoch: 0 });
    expect(await tiles.newest()).to.equal(null);
    expect(await tiles.kept()).to.deep.equal([]);
    expect(await tiles.leaves(0)).to.equal(null);
    expect(await tiles.damage()).to.equal(null);
    expect((await tiles.hashes(0, 0, 10)).length).to.equal(0);
  });

  it('keeps tree, hashes and places, whatever the batches', async () => {
    const { tiles } = made;
    const size = await grown(1, 2, 252, 1, 1, 300, 44);
    const tree = await tiles.tree();
    expect({ ...tree, roots: rootOf(tree).toString('hex') }).to.deep.equal({
      size,
      roots: rootAt(size).toString('hex'),
      position: BigInt(size * 10),
      epoch: 1,
    });
    const expected = leavesFrom(0, size);
    expect(hashesIn(await tiles.hashes(0, 0, 1000))).to.deep.equal(hashesOf(expected));
    expect(hashesIn(await tiles.hashes(0, 250, 10))).to.deep.equal(hashesOf(leavesFrom(250, 10)));
    expect(hashesIn(await tiles.hashes(1, 0, 2))).to.deep.equal([
      rootAt(256),
      rootOf(grow(emptyFrontier, hashesOf(leavesFrom(256, 256))).frontier),
    ]);
    for (const tile of [0, 1, 2]) {
      const of = leavesFrom(tile * 256, Math.min(256, size - tile * 256));
      expect(await tiles.leaves(tile)).to.deep.equal({
        after: BigInt(tile * 2560),
        hashes: hashesOf(of),
        orgSeqs: of.map(({ orgSeq }) => orgSeq),
      });
    }
    expect(await tiles.leaves(3)).to.equal(null);
    expect(
      await Promise.all([10n, 2560n, 2570n, 5120n, 5130n, 6010n].map((position) => tiles.tileOf(position))),
    ).to.deep.equal([0, 0, 1, 1, 2, 2]);
  });

  it('extends a tree only at its size, and adds nothing otherwise', async () => {
    const { tiles } = made;
    await grown(5);
    expect(await tiles.extend(4, leavesFrom(4, 3), 70n, 1)).to.equal(false);
    expect(await tiles.extend(6, leavesFrom(6, 1), 70n, 1)).to.equal(false);
    expect(rootOf(await tiles.tree()).equals(rootAt(5))).to.equal(true);
  });

  it('is not extended by a notary after a later one has begun', async () => {
    const { tiles } = made;
    await grown(5);
    expect(await tiles.extend(5, [], 50n, 7)).to.equal(true);
    expect(await tiles.extend(5, leavesFrom(5, 1), 60n, 6)).to.equal(false);
    expect(await tiles.tree()).to.include({ size: 5, position: 50n, epoch: 7 });
    expect(await tiles.extend(5, leavesFrom(5, 1), 60n, 7)).to.equal(true);
  });

  it('lets one of two notaries extend it at a time', async () => {
    const { tiles } = made;
    for (let round = 0; round < 5; round += 1) {
      const { size } = await tiles.tree();
      const long = leavesFrom(size, 9);
      const short = leavesFrom(size, 4);
      const outcomes = await Promise.all([
        tiles.extend(size, long, long.at(-1)?.position ?? 0n, 1),
        tiles.extend(size, short, short.at(-1)?.position ?? 0n, 1),
      ]);
      expect(outcomes.filter(Boolean)).to.have.lengthOf(1);
      const tree = await tiles.tree();
      expect(rootOf(tree).equals(rootAt(tree.size))).to.equal(true);
      expect(hashesIn(await tiles.hashes(0, 0, tree.size))).to.deep.equal(hashesOf(leavesFrom(0, tree.size)));
    }
  });

  it('holds what proofs are made of', async () => {
    const { tiles } = made;
    const size = await grown(300, 300);
    for (const index of [0, 255, 256, 299, 511, 599]) {
      const proof = await inclusionProof(tiles, index, size);
      const leaf = leavesFrom(index, 1)[0]?.hash ?? Buffer.alloc(32);
      expect(verifyInclusion({ index, leaf, proof }, { size, root: rootAt(size) })).to.equal(true);
    }
    for (const from of [1, 256, 299, 512, 600]) {
      const proof = await consistencyProof(tiles, from, size);
      const older = { size: from, root: rootOf(await frontierAt(tiles, from)) };
      expect(older.root.equals(rootAt(from))).to.equal(true);
      expect(verifyConsistency(older, { size, root: rootAt(size) }, proof)).to.equal(true);
    }
  });

  it('keeps one root for a size, the last checkpoint of each hour, and the newest', async () => {
    const { tiles } = made;
    const keep = (size: number, time: string) =>
      tiles.keep({ size, root: rootAt(size), note: `note ${size}`, at: at(time) });
    for (const [size, time] of [
      [1, '10:00:00'],
      [2, '10:59:59'],
      [4, '11:00:00'],
      [5, '12:10:00'],
      [6, '12:10:01'],
      [6, '12:10:02'],
    ] as const)
      await keep(size, time);
    expect((await tiles.kept()).map(({ size }) => size)).to.deep.equal([2, 4, 6]);
    const newest = await tiles.newest();
    expect(newest).to.include({ size: 6, note: 'note 6' });
    expect(newest?.root.equals(rootAt(6))).to.equal(true);
    await tiles.keep({ size: 6, root: rootAt(5), note: 'another', at: at('12:10:03') }).then(
      () => expect.fail('two roots for one size'),
      (error: unknown) => expect(error).to.be.instanceOf(ForkedLog),
    );
    expect(await tiles.newest()).to.include({ size: 6, note: 'note 6' });
  });

  it('is made again from the first leaf, and keeps its checkpoints meanwhile', async () => {
    const { tiles } = made;
    await grown(300);
    await tiles.keep({ size: 300, root: rootAt(300), note: 'note', at: at('10:00:00') });
    const { epoch } = await tiles.tree();
    await tiles.reset();
    expect(await tiles.tree()).to.deep.equal({ size: 0, roots: [], position: 0n, epoch });
    expect(await tiles.leaves(0)).to.equal(null);
    expect((await tiles.hashes(0, 0, 300)).length).to.equal(0);
    expect((await tiles.kept()).map(({ size }) => size)).to.deep.equal([300]);
    await grown(299, 1);
    expect(rootOf(await tiles.tree()).equals(rootAt(300))).to.equal(true);
  });

  it('keeps where the log is damaged until that is taken back', async () => {
    const { tiles } = made;
    await grown(2);
    await tiles.reportDamage({ position: 17n, reason: 'changed' });
    expect(await tiles.damage()).to.deep.equal({ position: 17n, reason: 'changed' });
    await grown(1);
    expect(await tiles.damage()).to.deep.equal({ position: 17n, reason: 'changed' });
    await tiles.reportDamage(null);
    expect(await tiles.damage()).to.equal(null);
  });
};
