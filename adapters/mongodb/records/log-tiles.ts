import { Binary, type Collection } from 'mongodb';
import { EventStoreUnavailable } from '../../../application/ports/event-store.js';
import {
  ForkedLog,
  type Checkpoint,
  type LogDamage,
  type LogTiles,
  type LogTree,
} from '../../../application/ports/log-tiles.js';
import { tileGrowth, unpackSeqs, type TileRow } from '../../../application/log/tile-rows.js';
import type { Instant } from '../../../domain/ids.js';
import { hashBytes, hashesIn, tileWidth } from '../../../domain/merkle.js';
import { guardedPort, type MongoDatabase } from '../client/database.js';
import { bytesOf, findAll } from '../client/documents.js';
import { isInserted } from '../client/refusals.js';

interface TreeDocument {
  readonly _id: 'tree';
  readonly size: bigint;
  readonly roots: Binary;
  readonly position: bigint;
  readonly epoch: bigint;
}

interface TileDocument {
  /** `{level}/{n}` */
  readonly _id: string;
  readonly level: number;
  readonly n: bigint;
  readonly width: number;
  readonly hashes: Binary;
  readonly position: bigint;
  readonly seqs: Binary;
}

interface CheckpointDocument {
  readonly _id: bigint;
  readonly root: Binary;
  readonly note: string;
  readonly at: Instant;
}

interface DamageDocument extends LogDamage {
  readonly _id: 'damage';
}

const theTree = { _id: { $eq: 'tree' as const } };
const theDamage = { _id: { $eq: 'damage' as const } };

const treeOf = (found: TreeDocument | null): LogTree => {
  if (found === null) return { size: 0, roots: [], position: 0n, epoch: 0 };
  const { size, roots, position, epoch } = found;
  return { size: Number(size), roots: hashesIn(bytesOf(roots)), position, epoch: Number(epoch) };
};

const checkpointOf = ({ _id, root, note, at }: CheckpointDocument): Checkpoint => ({
  size: Number(_id),
  root: bytesOf(root),
  note,
  at,
});

const tileId = (level: number, n: number): string => `${level}/${n}`;

const hourLength = '2026-03-01T12'.length;

/**
 * The log of the log in MongoDB, without transactions: the tiles are written first, then the one document
 * with the number of valid hashes, by compare-and-set on its size. Tiles of notaries that overlap hold the
 * same hashes; a shorter one never replaces a longer one.
 */
export const mongoLogTiles = (database: MongoDatabase): LogTiles => {
  const trees = (): Collection<TreeDocument> => database.collection('log_tree');
  const tiles = (): Collection<TileDocument> => database.collection('log_tiles');
  const indexedTiles = (): Promise<Collection<TileDocument>> => database.indexed('log_tiles');
  const checkpoints = (): Collection<CheckpointDocument> => database.collection('log_checkpoints');
  const damages = (): Collection<DamageDocument> => database.collection('log_damage');

  const rowOf = async (level: number, n: number) => {
    const row = await tiles().findOne({ _id: { $eq: tileId(level, n) } });
    return row && { hashes: bytesOf(row.hashes), after: row.position, orgSeqs: bytesOf(row.seqs) };
  };

  const newest = async (): Promise<CheckpointDocument | null> =>
    (await findAll(checkpoints(), {}, { sort: { _id: -1 }, limit: 1 }))[0] ?? null;

  const putTile = async ({ level, n, hashes, after, orgSeqs }: TileRow): Promise<void> => {
    const width = hashes.length / hashBytes;
    const content = {
      level,
      n: BigInt(n),
      width,
      hashes: new Binary(hashes),
      position: after,
      seqs: new Binary(orgSeqs),
    };
    const _id = tileId(level, n);
    const grow = () => tiles().updateOne({ _id: { $eq: _id }, width: { $lte: width } }, { $set: content });
    if ((await grow()).matchedCount === 1) return;
    const indexed = await indexedTiles();
    if (await isInserted(indexed.insertOne({ _id, ...content }))) return;
    if ((await grow()).matchedCount === 1) return; // another notary may have inserted a shorter one just now
    const longer = await rowOf(level, n);
    // It must begin with the same hashes, unless it was made of another log.
    if (longer?.hashes.subarray(0, hashes.length).equals(hashes) !== true)
      await indexed.updateOne({ _id: { $eq: _id } }, { $set: content });
  };

  const emptyTree = async (): Promise<void> => {
    const none = { size: 0n, roots: new Binary(Buffer.alloc(0)), position: 0n };
    await trees().updateOne(theTree, { $set: none });
  };

  return guardedPort<LogTiles>(EventStoreUnavailable, {
    tree: async () => treeOf(await trees().findOne(theTree)),

    extend: async (from, leaves, to, epoch) => {
      const before = await trees().findOne(theTree);
      const tree = treeOf(before);
      if (tree.size !== from || tree.epoch > epoch) return false;
      const { frontier, rows } = await tileGrowth(tree, leaves, rowOf);
      await Promise.all(rows.map(putTile));
      const next = {
        size: BigInt(frontier.size),
        roots: new Binary(Buffer.concat(frontier.roots)),
        position: to,
        epoch: BigInt(epoch),
      };
      if (before === null) return isInserted(trees().insertOne({ _id: 'tree', ...next }));
      // Not if the tree has another size, or a later epoch has written.
      const { matchedCount } = await trees().updateOne(
        { ...theTree, size: { $eq: BigInt(from) }, epoch: { $lte: BigInt(epoch) } },
        { $set: next },
      );
      return matchedCount === 1;
    },

    hashes: async (level, from, count) => {
      const first = Math.floor(from / tileWidth);
      const last = Math.floor((from + count - 1) / tileWidth);
      const ids = Array.from({ length: last - first + 1 }, (_, at) => tileId(level, first + at));
      const rows = await findAll(tiles(), { _id: { $in: ids } }, { projection: { hashes: 1, n: 1 } });
      const start = from - first * tileWidth;
      const inOrder = rows.toSorted((one, other) => (one.n < other.n ? -1 : 1));
      const all = Buffer.concat(inOrder.map(({ hashes }) => bytesOf(hashes)));
      return all.subarray(start * hashBytes, (start + count) * hashBytes);
    },

    leaves: async (tile) => {
      const [row, tree] = await Promise.all([rowOf(0, tile), trees().findOne(theTree)]);
      // Hashes of a notary that broke off don't count.
      const count = Math.min(tileWidth, treeOf(tree).size - tile * tileWidth);
      return row === null || count <= 0
        ? null
        : {
            after: row.after,
            hashes: hashesIn(row.hashes).slice(0, count),
            orgSeqs: unpackSeqs(row.orgSeqs).slice(0, count),
          };
    },

    tileOf: async (position) => {
      const before = { level: { $eq: 0 }, position: { $lt: position } };
      const last = { projection: { n: 1 }, sort: { position: -1 }, limit: 1 } as const;
      const [row] = await findAll(await indexedTiles(), before, last);
      return Number(row?.n ?? 0n);
    },

    keep: async ({ size, root, note, at }) => {
      const _id = BigInt(size);
      const last = await newest();
      const isFork = (other: CheckpointDocument | null) =>
        other === null || !bytesOf(other.root).equals(root);
      const find = () => checkpoints().findOne({ _id: { $eq: _id } });
      const known = await find();
      if (known !== null && isFork(known)) throw new ForkedLog(size);
      if (known !== null) await checkpoints().updateOne({ _id: { $eq: _id } }, { $set: { note, at } });
      else if (!(await isInserted(checkpoints().insertOne({ _id, root: new Binary(root), note, at }))))
        if (isFork(await find())) throw new ForkedLog(size);
      const isSameHour = last?.at.slice(0, hourLength) === at.slice(0, hourLength);
      if (last !== null && last._id < _id && isSameHour)
        await checkpoints().deleteOne({ _id: { $eq: last._id } });
    },

    newest: async () => {
      const found = await newest();
      return found && checkpointOf(found);
    },

    kept: async () => (await findAll(checkpoints(), {}, { sort: { _id: 1 } })).map(checkpointOf),

    reset: async () => {
      const { size } = treeOf(await trees().findOne(theTree));
      // First the document that makes tiles count; then they may go one by one.
      await emptyTree();
      if (size === 0) return;
      await tiles().deleteMany({});
      // Those that another notary has made again meanwhile may have gone, too.
      await emptyTree();
    },

    damage: async () => {
      const found = await damages().findOne(theDamage);
      return found && { position: found.position, reason: found.reason };
    },

    reportDamage: async (damage) => {
      if (damage === null) await damages().deleteOne(theDamage);
      else {
        const { position, reason } = damage;
        // The first damage stays until it is taken back.
        await isInserted(damages().insertOne({ _id: 'damage', position, reason }));
      }
    },
  });
};
