import { NamedError } from '../../domain/errors.js';
import {
  consistencyPath,
  foldHashes,
  hashBytes,
  hashesUnder,
  inclusionPath,
  rootOver,
  subtreesOf,
  type Frontier,
  type Hash,
  type Leaves,
} from '../../domain/merkle.js';
import type { LogTiles } from '../ports/log-tiles.js';

type Tiles = Pick<LogTiles, 'hashes'>;

/** The tiles lack hashes that the tree must have. */
export class MissingTiles extends NamedError {}

const rootsOver = (tiles: Tiles, leaves: Leaves): Promise<readonly Hash[]> =>
  Promise.all(
    subtreesOf(leaves).map(async (subtree) => {
      const { level, from, count } = hashesUnder(subtree);
      const hashes = await tiles.hashes(level, from, count);
      if (hashes.length !== count * hashBytes)
        throw new MissingTiles(`level ${level} of the log's tiles lacks hashes from ${from} on`);
      return foldHashes(hashes);
    }),
  );

const rootsAlong = (tiles: Tiles, path: readonly Leaves[]): Promise<readonly Hash[]> =>
  Promise.all(path.map(async (leaves) => rootOver(await rootsOver(tiles, leaves))));

/** The tree of an earlier size, from its tiles. Throws MissingTiles. */
export const frontierAt = async (tiles: Tiles, size: number): Promise<Frontier> => ({
  size,
  roots: await rootsOver(tiles, { start: 0, end: size }),
});

/** The hashes that prove that a leaf is in the tree of a size. Throws RangeError and MissingTiles. */
export const inclusionProof = (tiles: Tiles, index: number, size: number): Promise<readonly Hash[]> =>
  rootsAlong(tiles, inclusionPath(index, size));

/** The hashes that show that a tree is a prefix of a larger one. Throws RangeError and MissingTiles. */
export const consistencyProof = (tiles: Tiles, from: number, to: number): Promise<readonly Hash[]> =>
  rootsAlong(tiles, consistencyPath(from, to));
