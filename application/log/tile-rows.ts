import { grow, hashBytes, hashesIn, tileWidth, type Frontier } from '../../domain/merkle.js';
import type { Leaf } from '../ports/log-tiles.js';

/** One tile as a store keeps it: of each level, all are full but the last. */
export interface TileRow {
  readonly level: number;
  readonly n: number;
  readonly hashes: Buffer;
  /**
   * These two mean something at level 0: the position before the tile's events, and six bytes of orgSeq each.
   */
  readonly after: bigint;
  readonly orgSeqs: Buffer;
}

const seqBytes = 6;

export const packSeqs = (orgSeqs: readonly number[]): Buffer => {
  const packed = Buffer.alloc(orgSeqs.length * seqBytes);
  orgSeqs.forEach((seq, at) => packed.writeUIntBE(seq, at * seqBytes, seqBytes));
  return packed;
};

export const unpackSeqs = (packed: Buffer): number[] =>
  Array.from({ length: Math.floor(packed.length / seqBytes) }, (_, at) =>
    packed.readUIntBE(at * seqBytes, seqBytes),
  );

/**
 * The effect of new leaves: the tree, and its tiles from the first that was not full. `last` reads the last
 * tile of a level, if there is one; its hashes beyond the tree come from a writer that broke off, and are
 * overwritten.
 */
export const tileGrowth = async (
  tree: Frontier & { readonly position: bigint },
  leaves: readonly Leaf[],
  last: (level: number, n: number) => Promise<Pick<TileRow, 'hashes' | 'after' | 'orgSeqs'> | null>,
): Promise<{ readonly frontier: Frontier; readonly rows: readonly TileRow[] }> => {
  const { frontier, levels } = grow(
    tree,
    leaves.map(({ hash }) => hash),
  );
  const rows: TileRow[] = [];
  for (const [level, { from, hashes }] of levels.entries()) {
    if (hashes.length === 0) continue;
    const first = Math.floor(from / tileWidth);
    const kept = from % tileWidth;
    const before = kept === 0 ? null : await last(level, first);
    if (kept > 0 && (before === null || before.hashes.length < kept * hashBytes))
      throw new Error(`tile ${first} of level ${level} lacks hashes that the tree has`);
    const all = [...hashesIn(before?.hashes ?? noBytes).slice(0, kept), ...hashes];
    const positions = [tree.position, ...leaves.map(({ position }) => position)];
    const seqs = Buffer.concat([
      before?.orgSeqs.subarray(0, kept * seqBytes) ?? noBytes,
      level === 0 ? packSeqs(leaves.map(({ orgSeq }) => orgSeq)) : noBytes,
    ]);
    for (let start = 0; start < all.length; start += tileWidth)
      rows.push({
        level,
        n: first + start / tileWidth,
        hashes: Buffer.concat(all.slice(start, start + tileWidth)),
        after: start === 0 && before !== null ? before.after : (positions[start - kept] ?? 0n),
        orgSeqs: level > 0 ? noBytes : seqs.subarray(start * seqBytes, (start + tileWidth) * seqBytes),
      });
  }
  return { frontier, rows };
};

const noBytes = Buffer.alloc(0);
