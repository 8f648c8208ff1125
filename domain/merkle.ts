import { hash } from 'node:crypto';

/** SHA-256, 32 bytes. */
export type Hash = Buffer;

export const hashBytes = 32;

/** Hashes per full tile. Level L of the tiles holds the hashes of subtrees of 256 ** L leaves. */
export const tileWidth = 256;
const heightPerLevel = 8;

const sha256 = (bytes: Buffer): Hash => hash('sha256', bytes, 'buffer');

export const emptyRoot: Hash = sha256(Buffer.alloc(0));

const leafPrefix = Buffer.of(0);
const nodePrefix = Buffer.of(1);

/** The hash of a leaf: SHA-256(0x00 ‖ entry). */
export const leafHash = (entry: Uint8Array): Hash => sha256(Buffer.concat([leafPrefix, entry]));

/** The hash of an inner node: SHA-256(0x01 ‖ left ‖ right). */
export const nodeHash = (left: Hash, right: Hash): Hash => sha256(Buffer.concat([nodePrefix, left, right]));

/**
 * A tree of RFC 6962 as far as it takes to let it grow: the roots of its complete subtrees, the largest
 * first, one for each bit of its size.
 */
export interface Frontier {
  readonly size: number;
  readonly roots: readonly Hash[];
}

export const emptyFrontier: Frontier = { size: 0, roots: [] };

/** A complete subtree: the leaves from `index * 2 ** height` on, `2 ** height` of them. */
export interface Subtree {
  readonly height: number;
  readonly index: number;
}

/** The leaves from `start` up to, and without, `end`. */
export interface Leaves {
  readonly start: number;
  readonly end: number;
}

/** The complete subtrees that leaves consist of, from left to right. */
export const subtreesOf = ({ start, end }: Leaves): readonly Subtree[] => {
  const found: Subtree[] = [];
  for (let at = start; at < end;) {
    let height = 0;
    while (at % 2 ** (height + 1) === 0 && at + 2 ** (height + 1) <= end) height += 1;
    found.push({ height, index: at / 2 ** height });
    at += 2 ** height;
  }
  return found;
};

/** The root over subtrees whose sizes fall from left to right. */
export const rootOver = (roots: readonly Hash[]): Hash =>
  roots.length === 0 ? emptyRoot : roots.reduceRight((right, left) => nodeHash(left, right));

export const rootOf = ({ roots }: Frontier): Hash => rootOver(roots);

/** How many hashes a tile level has in a tree of a size. */
export const hashesAt = (level: number, size: number): number => Math.floor(size / tileWidth ** level);

/** The growth of a tree by new leaves: the tree afterwards, and per tile level the new hashes. */
export const grow = ({ size, roots }: Frontier, leaves: readonly Hash[]) => {
  const end = size + leaves.length;
  const stack = [...roots];
  const levels: { from: number; hashes: Hash[] }[] = [];
  for (let level = 0; level === 0 || hashesAt(level, end) > 0; level += 1)
    levels.push({ from: hashesAt(level, size), hashes: [] });
  leaves.forEach((leaf, offset) => {
    let node = leaf;
    levels[0]?.hashes.push(node);
    // A node is complete with every second leaf, the node above it with every fourth, and so on.
    for (let rest = size + offset, height = 1; rest % 2 === 1; rest = (rest - 1) / 2, height += 1) {
      const left = stack.pop();
      if (left === undefined) throw new RangeError(`a tree of ${size} leaves has other roots`);
      node = nodeHash(left, node);
      if (height % heightPerLevel === 0) levels[height / heightPerLevel]?.hashes.push(node);
    }
    stack.push(node);
  });
  const frontier: Frontier = { size: end, roots: stack };
  return { frontier, levels };
};

/** The halves that are passed by on the way down to a leaf, until `isThere`, and the leaves that are left. */
const descend = (size: number, index: number, isThere: (within: Leaves) => boolean) => {
  const path: Leaves[] = [];
  let within: Leaves = { start: 0, end: size };
  while (!isThere(within)) {
    const { start, end } = within;
    // The left part is the largest power of two that is not all.
    const middle = start + 2 ** ((end - start - 1).toString(2).length - 1);
    const [left, right] = [
      { start, end: middle },
      { start: middle, end },
    ];
    const isLeft = index < middle;
    path.unshift(isLeft ? right : left);
    within = isLeft ? left : right;
  }
  return { path, within };
};

/**
 * The leaves over which the hashes of an inclusion proof are the roots, in the proof's order (RFC 6962,
 * 2.1.1). Throws RangeError if the tree has no such leaf.
 */
export const inclusionPath = (index: number, size: number): readonly Leaves[] => {
  if (!(index >= 0 && index < size)) throw new RangeError(`a tree of ${size} leaves has no leaf ${index}`);
  return descend(size, index, ({ start, end }) => end - start === 1).path;
};

/**
 * The leaves over which the hashes of a consistency proof are the roots, in the proof's order (RFC 6962,
 * 2.1.2). Throws RangeError if `from` is larger than `to`.
 */
export const consistencyPath = (from: number, to: number): readonly Leaves[] => {
  if (!(from >= 0 && from <= to)) throw new RangeError(`a tree of ${to} leaves has no prefix of ${from}`);
  if (from === 0) return [];
  const { path, within } = descend(to, from - 1, ({ end }) => end === from);
  // The verifier has the root of a prefix that is a complete subtree.
  return within.start === 0 ? path : [within, ...path];
};

/** Whether the proof shows that the older tree is a prefix of the newer one. */
export const verifyConsistency = (
  older: { readonly size: number; readonly root: Hash },
  newer: { readonly size: number; readonly root: Hash },
  proof: readonly Hash[],
): boolean => {
  if (![older.size, newer.size].every((size) => Number.isSafeInteger(size) && size >= 0)) return false;
  if (older.size > newer.size || proof.some(({ length }) => length !== hashBytes)) return false;
  if (older.size === 0) return proof.length === 0 && older.root.equals(emptyRoot);
  const path = consistencyPath(older.size, newer.size);
  if (proof.length !== path.length) return false;
  const steps = path.map((leaves, at) => ({ start: leaves.start, hash: proof[at] ?? emptyRoot }));
  const first = path[0]?.end === older.size ? steps.shift() : undefined;
  let old = first?.hash ?? older.root;
  let now = old;
  for (const { start, hash: sibling } of steps) {
    const isRight = start >= older.size;
    now = isRight ? nodeHash(now, sibling) : nodeHash(sibling, now);
    if (!isRight) old = nodeHash(sibling, old);
  }
  return old.equals(older.root) && now.equals(newer.root);
};

/** The hashes of a tile level under the subtree's root, side by side in one tile. */
export const hashesUnder = ({ height, index }: Subtree) => {
  const level = Math.floor(height / heightPerLevel);
  const count = 2 ** (height % heightPerLevel);
  return { level, from: index * count, count };
};

/** The root over adjacent hashes, whose number is a power of two. */
export const foldHashes = (hashes: Buffer): Hash => {
  let row = hashesIn(hashes);
  while (row.length > 1)
    row = Array.from({ length: row.length / 2 }, (_, at) =>
      nodeHash(row[2 * at] ?? emptyRoot, row[2 * at + 1] ?? emptyRoot),
    );
  return row[0] ?? emptyRoot;
};

export const hashesIn = (bytes: Buffer): Hash[] =>
  Array.from({ length: Math.floor(bytes.length / hashBytes) }, (_, at) =>
    bytes.subarray(at * hashBytes, (at + 1) * hashBytes),
  );

/** Names a tile: `width` is less than 256 for the last tile of a level that is not full yet. */
export interface Tile {
  readonly level: number | 'entries';
  readonly n: number;
  readonly width: number;
}

/** The path of a tile: `tile/0/x001/x234/067`, and `tile/0/x001/x234/067.p/5` if it has 5 hashes so far. */
export const tilePath = ({ level, n, width }: Tile): string => {
  const groups: string[] = [];
  for (let rest = n; groups.length === 0 || rest > 0; rest = Math.floor(rest / 1000))
    groups.unshift(`${groups.length === 0 ? '' : 'x'}${String(rest % 1000).padStart(3, '0')}`);
  return `tile/${level}/${groups.join('/')}${width === tileWidth ? '' : `.p/${width}`}`;
};

const tileShape = /^tile\/(entries|\d{1,2})\/((?:x\d{3}\/){0,4}\d{3})(?:\.p\/(\d{1,3}))?$/u;

/** The tile that a path names; null if it is not exactly what `tilePath` makes of a tile. */
export const tileAt = (path: string): Tile | null => {
  const [, level = '', groups = '', width] = tileShape.exec(path) ?? [];
  const tile: Tile = {
    level: level === 'entries' ? level : Number(level),
    n: Number(groups.replaceAll(/[x/]/gu, '')),
    width: width === undefined ? tileWidth : Number(width),
  };
  const isOne = level !== '' && tile.width > 0 && tile.width <= tileWidth && tilePath(tile) === path;
  return isOne ? tile : null;
};
