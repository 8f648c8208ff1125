import { createHash } from 'node:crypto';
import { expect } from 'chai';
import fc from 'fast-check';
import {
  consistencyPath,
  emptyFrontier,
  emptyRoot,
  foldHashes,
  grow,
  hashesAt,
  hashesUnder,
  inclusionPath,
  leafHash,
  rootOf,
  rootOver,
  subtreesOf,
  tileAt,
  tilePath,
  tileWidth,
  verifyConsistency,
  type Frontier,
  type Hash,
  type Leaves,
} from '../../domain/merkle.js';
import { verifyInclusion } from '../support/fixtures/inclusion.js';

const sha256 = (...parts: readonly Uint8Array[]): Buffer =>
  parts.reduce((digest, part) => digest.update(part), createHash('sha256')).digest();

/** The definition in RFC 6962, 2.1, as it stands there. */
const definedRoot = (leaves: readonly Hash[]): Hash => {
  const [only] = leaves;
  if (only === undefined) return sha256();
  if (leaves.length === 1) return only;
  let split = 1;
  while (split * 2 < leaves.length) split *= 2;
  return sha256(Buffer.of(1), definedRoot(leaves.slice(0, split)), definedRoot(leaves.slice(split)));
};

const leavesOf = (count: number): Hash[] =>
  Array.from({ length: count }, (_, at) => leafHash(Buffer.from(`leaf ${at}`)));

const many = leavesOf(700);
const root = (size: number): Hash => definedRoot(many.slice(0, size));
const over = ({ start, end }: Leaves): Hash => definedRoot(many.slice(start, end));
const flipped = (hash: Hash): Hash => Buffer.from(hash.map((byte, at) => (at === 7 ? byte ^ 16 : byte)));

const published: readonly (readonly [leaf: string, root: string])[] = [
  ['', '6e340b9cffb37a989ca544e6bb780a2c78901d3fb33738768511a30617afa01d'],
  ['00', 'fac54203e7cc696cf0dfcb42c92a1d9dbaf70ad9e621f4bd8d98662f00e3c125'],
  ['10', 'aeb6bcfe274b70a14fb067a5e5578264db0fa9b51af5e0ba159158f329e06e77'],
  ['2021', 'd37ee418976dd95753c1c73862b9398fa2a2cf9b4ff0fdfe8b30cd95209614b7'],
  ['3031', '4e3bbb1f7b478dcfe71fb631631519a3bca12c9aefca1612bfce4c13a86264d4'],
  ['40414243', '76e67dadbcdf1e10e1b74ddc608abd2f98dfb16fbce75277b5232a127f2087ef'],
  ['5051525354555657', 'ddb89be403809e325750d3d263cd78929c2942b7942a34b77e122c9594a74c8c'],
  ['606162636465666768696a6b6c6d6e6f', '5dc9da79a70659a9ad559cb701ded9a2ab9d823aad2f4960cfe370eff4604328'],
];

/** Proofs over the same eight leaves, as the tests of Certificate Transparency have them. */
const publishedInclusions: readonly (readonly [index: number, size: number, proof: readonly string[]])[] = [
  [0, 1, []],
  [0, 8, [
    '96a296d224f285c67bee93c30f8a309157f0daa35dc5b87e410b78630a09cfc7',
    '5f083f0a1a33ca076a95279832580db3e0ef4584bdff1f54c8a360f50de3031e',
    '6b47aaf29ee3c2af9af889bc1fb9254dabd31177f16232dd6aab035ca39bf6e4',
  ]],
  [5, 8, [
    'bc1a0643b12e4d2d7c77918f44e0f4f79a838b6cf9ec5b5c283e1f4d88599e6b',
    'ca854ea128ed050b41b35ffc1b87b8eb2bde461e9e3b5596ece6b9d5975a0ae0',
    'd37ee418976dd95753c1c73862b9398fa2a2cf9b4ff0fdfe8b30cd95209614b7',
  ]],
  [2, 3, ['fac54203e7cc696cf0dfcb42c92a1d9dbaf70ad9e621f4bd8d98662f00e3c125']],
  [1, 5, [
    '6e340b9cffb37a989ca544e6bb780a2c78901d3fb33738768511a30617afa01d',
    '5f083f0a1a33ca076a95279832580db3e0ef4584bdff1f54c8a360f50de3031e',
    'bc1a0643b12e4d2d7c77918f44e0f4f79a838b6cf9ec5b5c283e1f4d88599e6b',
  ]],
]; // prettier-ignore
const publishedConsistencies: readonly (readonly [from: number, to: number, proof: readonly string[]])[] = [
  [1, 1, []],
  [1, 8, [
    '96a296d224f285c67bee93c30f8a309157f0daa35dc5b87e410b78630a09cfc7',
    '5f083f0a1a33ca076a95279832580db3e0ef4584bdff1f54c8a360f50de3031e',
    '6b47aaf29ee3c2af9af889bc1fb9254dabd31177f16232dd6aab035ca39bf6e4',
  ]],
  [6, 8, [
    '0ebc5d3437fbe2db158b9f126a1d118e308181031d0a949f8dededebc558ef6a',
    'ca854ea128ed050b41b35ffc1b87b8eb2bde461e9e3b5596ece6b9d5975a0ae0',
    'd37ee418976dd95753c1c73862b9398fa2a2cf9b4ff0fdfe8b30cd95209614b7',
  ]],
  [2, 5, [
    '5f083f0a1a33ca076a95279832580db3e0ef4584bdff1f54c8a360f50de3031e',
    'bc1a0643b12e4d2d7c77918f44e0f4f79a838b6cf9ec5b5c283e1f4d88599e6b',
  ]],
]; // prettier-ignore

const publishedLeaves = published.map(([leaf]) => leafHash(Buffer.from(leaf, 'hex')));
const publishedTree = (size: number) => ({ size, root: Buffer.from(published[size - 1]?.[1] ?? '', 'hex') });
const bytesOf = (proof: readonly string[]): Hash[] => proof.map((hash) => Buffer.from(hash, 'hex'));
const hashesOver = (ranges: readonly Leaves[]): string[] =>
  ranges.map(({ start, end }) => definedRoot(publishedLeaves.slice(start, end)).toString('hex'));

describe('the tree over the log', () => {
  it("has the eight roots that are published for RFC 6962's trees", () => {
    let tree = emptyFrontier;
    expect(rootOf(tree).toString('hex')).to.equal(
      'e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855',
    );
    for (const [leaf, expected] of published) {
      tree = grow(tree, [leafHash(Buffer.from(leaf, 'hex'))]).frontier;
      expect(rootOf(tree).toString('hex')).to.equal(expected);
    }
  });

  it('has the root of the recursive definition at every size, whatever the batches', () => {
    fc.assert(
      fc.property(fc.array(fc.integer({ min: 0, max: 90 }), { maxLength: 12 }), (batches) => {
        let tree: Frontier = emptyFrontier;
        for (const count of batches) {
          const to = Math.min(many.length, tree.size + count);
          tree = grow(tree, many.slice(tree.size, to)).frontier;
          expect(tree.size).to.equal(to);
          expect(rootOf(tree).equals(root(to))).to.equal(true);
        }
      }),
      { numRuns: 15 },
    );
  });

  it('refuses to grow from roots that are not those of its size', () =>
    expect(() => grow({ size: 1, roots: [] }, many.slice(0, 1))).to.throw('has other roots'));

  it('adds to each tile level exactly the hashes that follow those it had', () => {
    fc.assert(
      fc.property(
        fc.integer({ min: 0, max: many.length }),
        fc.integer({ min: 0, max: many.length }),
        (one, other) => {
          const [from, to] = one < other ? [one, other] : [other, one];
          const before = grow(emptyFrontier, many.slice(0, from)).frontier;
          const { levels } = grow(before, many.slice(from, to));
          levels.forEach((level, number) => {
            const width = tileWidth ** number;
            expect(level.from).to.equal(hashesAt(number, from));
            expect(level.from + level.hashes.length).to.equal(hashesAt(number, to));
            level.hashes.forEach((hash, at) => {
              const start = (level.from + at) * width;
              expect(hash.equals(over({ start, end: start + width }))).to.equal(true);
            });
          });
        },
      ),
      { numRuns: 15 },
    );
  });

  it('cuts leaves into complete subtrees, whose root is found in one tile each', () => {
    const levels = grow(emptyFrontier, many).levels.map(({ hashes }) => Buffer.concat(hashes));
    fc.assert(
      fc.property(fc.integer({ min: 1, max: many.length }), (size) => {
        const subtrees = subtreesOf({ start: 0, end: size });
        const roots = subtrees.map((subtree) => {
          const { level, from, count } = hashesUnder(subtree);
          expect(Math.floor(from / tileWidth)).to.equal(Math.floor((from + count - 1) / tileWidth));
          return foldHashes((levels[level] ?? Buffer.alloc(0)).subarray(from * 32, (from + count) * 32));
        });
        expect(rootOver(roots).equals(root(size))).to.equal(true);
        expect(roots).to.deep.equal(grow(emptyFrontier, many.slice(0, size)).frontier.roots);
      }),
      { numRuns: 20 },
    );
  });

  it('counts past 2 ** 32 leaves', () => {
    const size = 2 ** 40 + 3;
    expect(subtreesOf({ start: 0, end: size })).to.deep.equal([
      { height: 40, index: 0 },
      { height: 1, index: 2 ** 39 },
      { height: 0, index: 2 ** 40 + 2 },
    ]);
    expect(inclusionPath(size - 1, size)).to.deep.equal([
      { start: 2 ** 40, end: 2 ** 40 + 2 },
      { start: 0, end: 2 ** 40 },
    ]);
  });
});

describe('an inclusion proof', () => {
  it("is that which is published for RFC 6962's trees", () => {
    for (const [index, size, proof] of publishedInclusions) {
      expect(hashesOver(inclusionPath(index, size))).to.deep.equal(proof);
      const leaf = publishedLeaves[index] ?? emptyRoot;
      expect(verifyInclusion({ index, leaf, proof: bytesOf(proof) }, publishedTree(size))).to.equal(true);
    }
  });

  it('shows each leaf of a tree, and no other leaf, index, size or root', () => {
    for (let size = 1; size <= 20; size += 1)
      for (let index = 0; index < size; index += 1) {
        const proof = inclusionPath(index, size).map(over);
        const tree = { size, root: root(size) };
        const leaf = many[index] ?? emptyRoot;
        expect(verifyInclusion({ index, leaf, proof }, tree)).to.equal(true);
        expect(verifyInclusion({ index, leaf: flipped(leaf), proof }, tree)).to.equal(false);
        expect(verifyInclusion({ index: index ^ 1, leaf, proof }, tree)).to.equal(size === 1 && index === 1);
        expect(verifyInclusion({ index, leaf, proof }, { ...tree, root: flipped(tree.root) })).to.equal(
          false,
        );
        expect(verifyInclusion({ index, leaf, proof: [...proof, emptyRoot] }, tree)).to.equal(false);
        expect(verifyInclusion({ index, leaf, proof: proof.slice(1) }, tree)).to.equal(proof.length === 0);
        for (const [at, hash] of proof.entries())
          expect(
            verifyInclusion(
              { index, leaf, proof: proof.map((each, number) => (number === at ? flipped(hash) : each)) },
              tree,
            ),
          ).to.equal(false);
      }
  });

  it('is not made for a leaf that the tree does not have', () => {
    expect(() => inclusionPath(5, 5)).to.throw(RangeError);
    expect(() => inclusionPath(-1, 5)).to.throw(RangeError);
    expect(verifyInclusion({ index: 5, leaf: emptyRoot, proof: [] }, { size: 5, root: root(5) })).to.equal(
      false,
    );
  });

  it('has the hashes of RFC 6962, 2.1.3', () =>
    expect(inclusionPath(4, 7)).to.deep.equal([
      { start: 5, end: 6 },
      { start: 6, end: 7 },
      { start: 0, end: 4 },
    ]));
});

describe('a consistency proof', () => {
  it("is that which is published for RFC 6962's trees", () => {
    for (const [from, to, proof] of publishedConsistencies) {
      expect(hashesOver(consistencyPath(from, to))).to.deep.equal(proof);
      expect(verifyConsistency(publishedTree(from), publishedTree(to), bytesOf(proof))).to.equal(true);
    }
  });

  it('shows each prefix of a tree, and nothing else', () => {
    for (let to = 0; to <= 20; to += 1)
      for (let from = 0; from <= to; from += 1) {
        const proof = consistencyPath(from, to).map(over);
        const older = { size: from, root: root(from) };
        const newer = { size: to, root: root(to) };
        expect(verifyConsistency(older, newer, proof)).to.equal(true);
        expect(verifyConsistency({ ...older, root: flipped(older.root) }, newer, proof)).to.equal(false);
        expect(verifyConsistency(older, newer, [...proof, emptyRoot])).to.equal(false);
        if (from > 0)
          expect(verifyConsistency(older, { ...newer, root: flipped(newer.root) }, proof)).to.equal(false);
        for (const [at, hash] of proof.entries())
          expect(
            verifyConsistency(
              older,
              newer,
              proof.map((each, number) => (number === at ? flipped(hash) : each)),
            ),
          ).to.equal(false);
      }
  });

  it('is not made backwards', () => {
    expect(() => consistencyPath(6, 5)).to.throw(RangeError);
    expect(verifyConsistency({ size: 6, root: root(6) }, { size: 5, root: root(5) }, [])).to.equal(false);
  });

  it('has the hashes of RFC 6962, 2.1.3', () => {
    expect(consistencyPath(3, 7)).to.deep.equal([
      { start: 2, end: 3 },
      { start: 3, end: 4 },
      { start: 0, end: 2 },
      { start: 4, end: 7 },
    ]);
    expect(consistencyPath(4, 7)).to.deep.equal([{ start: 4, end: 7 }]);
    expect(consistencyPath(6, 7)).to.deep.equal([
      { start: 4, end: 6 },
      { start: 6, end: 7 },
      { start: 0, end: 4 },
    ]);
  });
});

describe('the path of a tile', () => {
  const paths = {
    'tile/0/000': { level: 0, n: 0, width: 256 },
    'tile/4/001.p/5': { level: 4, n: 1, width: 5 },
    'tile/3/x123/x456/078': { level: 3, n: 123_456_078, width: 256 },
    'tile/0/x001/x234/067.p/255': { level: 0, n: 1_234_067, width: 255 },
    'tile/entries/x001/000': { level: 'entries', n: 1000, width: 256 },
  } as const;
  for (const [path, tile] of Object.entries(paths))
    it(`is ${path}, and leads back`, () => {
      expect(tilePath(tile)).to.equal(path);
      expect(tileAt(path)).to.deep.equal(tile);
    });

  it('has one form only', () => {
    for (const path of [
      'tile/0/0',
      'tile/0/x000/001',
      'tile/00/001',
      'tile/0/001/002',
      'tile/0/x001',
      'tile/0/001.p/0',
      'tile/0/001.p/256',
      'tile/0/001.p/05',
      'tile/0/001.p',
      'tile/-1/001',
      'tile/data/001',
      'tile/0/001/',
      '/tile/0/001',
      'tile/0/1e3',
      '',
    ])
      // prettier-ignore
      expect(tileAt(path), path).to.equal(null);
  });
});
