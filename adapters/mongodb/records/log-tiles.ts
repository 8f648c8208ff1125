import { Binary, type Collection, type Document } from 'mongodb';
import { EventStoreUnavailable } from '../../../application/ports/event-store.js';
import {
  ForkedLog,
  type Checkpoint,
  type LeafTile,
  type Leaf,
  type LogDamage,
  type LogTiles,
  type LogTree,
} from '../../../application/ports/log-tiles.js';
import { tileGrowth, unpackSeqs, type TileRow } from '../../../application/log/tile-rows.js';
import type { Instant } from '../../../domain/ids.js';
import { hashBytes, hashesIn, tileWidth } from '../../../domain/merkle.js';
import { guardedPort, type MongoDatabase } from '../client/database.js';
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

interface DamageDocument {
  readonly _id: 'damage';
  readonly position: bigint;
  readonly reason: string;
}

const empty: LogTree = { size: 0, roots: [], position: 0n, epoch: 0 };

const bytesOf = ({ buffer, position }: Binary): Buffer => Buffer.from(buffer).subarray(0, position);

const tileId = (level: number, n: number): string => `${level}/${n}`;

/**
 * The log of the log in MongoDB, without transactions: the tiles are written first, then the one document
 * with the number of valid hashes, by compare-and-set on its size. Tiles of notaries that overlap hold the
 * same hashes; a shorter one never replaces a longer one.
 */
class MongoLogTiles implements LogTiles {
  constructor(private readonly database: MongoDatabase) {}

  async tree(): Promise<LogTree> {
    const found = await this.#tree().findOne({ _id: { $eq: 'tree' } });
    return found === null ? empty : treeOf(found);
  }

  async extend(from: number, leaves: readonly Leaf[], to: bigint, epoch: number): Promise<boolean> {
    const before = await this.#tree().findOne({ _id: { $eq: 'tree' } });
    const tree = before === null ? empty : treeOf(before);
    if (tree.size !== from || tree.epoch > epoch) return false;
    const { frontier, rows } = await tileGrowth(tree, leaves, (level, n) => this.#rowOf(level, n));
    await Promise.all(rows.map((row) => this.#putTile(row)));
    const next = {
      size: BigInt(frontier.size),
      roots: new Binary(Buffer.concat(frontier.roots)),
      position: to,
      epoch: BigInt(epoch),
    };
    return this.#replaceTree(before !== null, from, epoch, next);
  }

  async hashes(level: number, from: number, count: number): Promise<Buffer> {
    const first = Math.floor(from / tileWidth);
    const last = Math.floor((from + count - 1) / tileWidth);
    const ids = Array.from({ length: last - first + 1 }, (_, at) => tileId(level, first + at));
    const rows = await this.#tiles()
      .find({ _id: { $in: ids } }, { projection: { hashes: 1, n: 1 } })
      .toArray();
    const start = from - first * tileWidth;
    const inOrder = rows.toSorted((one, other) => (one.n < other.n ? -1 : 1));
    return Buffer.concat(inOrder.map(({ hashes }) => bytesOf(hashes))).subarray(
      start * hashBytes,
      (start + count) * hashBytes,
    );
  }

  async leaves(tile: number): Promise<LeafTile | null> {
    const [row, { size }] = await Promise.all([this.#rowOf(0, tile), this.tree()]);
    // Hashes of a notary that broke off don't count.
    const count = Math.min(tileWidth, size - tile * tileWidth);
    return row === null || count <= 0
      ? null
      : {
          after: row.after,
          hashes: hashesIn(row.hashes).slice(0, count),
          orgSeqs: unpackSeqs(row.orgSeqs).slice(0, count),
        };
  }

  async tileOf(position: bigint): Promise<number> {
    const [row] = await (
      await this.#indexedTiles()
    )
      .find({ level: { $eq: 0 }, position: { $lt: position } }, { projection: { n: 1 } })
      .sort({ position: -1 })
      .limit(1)
      .toArray();
    return Number(row?.n ?? 0n);
  }

  async keep({ size, root, note, at }: Checkpoint): Promise<void> {
    const id = BigInt(size);
    const last = await this.#newest();
    const known = await this.#checkpoints().findOne({ _id: { $eq: id } });
    if (known !== null && !bytesOf(known.root).equals(root)) throw new ForkedLog(size);
    if (known === null) {
      if (!(await isInserted(this.#checkpoints().insertOne({ _id: id, root: new Binary(root), note, at })))) {
        const other = await this.#checkpoints().findOne({ _id: { $eq: id } });
        if (other === null || !bytesOf(other.root).equals(root)) throw new ForkedLog(size);
      }
    } else await this.#checkpoints().updateOne({ _id: { $eq: id } }, { $set: { note, at } });
    const isSameHour = last?.at.slice(0, hourLength) === at.slice(0, hourLength);
    if (last !== null && last._id < id && isSameHour)
      await this.#checkpoints().deleteOne({ _id: { $eq: last._id } });
  }

  async newest(): Promise<Checkpoint | null> {
    const found = await this.#newest();
    return found && checkpointOf(found);
  }

  async kept(): Promise<readonly Checkpoint[]> {
    return (await this.#checkpoints().find({}).sort({ _id: 1 }).toArray()).map(checkpointOf);
  }

  async reset(): Promise<void> {
    const { size } = await this.tree();
    // First the document that makes tiles count; then they may go one by one.
    await this.#emptyTree();
    if (size === 0) return;
    await this.#tiles().deleteMany({});
    // Those that another notary has made again meanwhile may have gone, too.
    await this.#emptyTree();
  }

  async #emptyTree(): Promise<void> {
    await this.#tree().updateOne(
      { _id: { $eq: 'tree' } },
      { $set: { size: 0n, roots: new Binary(Buffer.alloc(0)), position: 0n } },
    );
  }

  async damage(): Promise<LogDamage | null> {
    const found = await this.#damage().findOne({ _id: { $eq: 'damage' } });
    return found && { position: found.position, reason: found.reason };
  }

  async reportDamage(damage: LogDamage | null): Promise<void> {
    if (damage === null) await this.#damage().deleteOne({ _id: { $eq: 'damage' } });
    else {
      const { position, reason } = damage;
      // The first damage stays until it is taken back.
      await isInserted(this.#damage().insertOne({ _id: 'damage', position, reason }));
    }
  }

  /** False if the tree has another size, or a later epoch has written. */
  async #replaceTree(
    exists: boolean,
    from: number,
    epoch: number,
    next: Omit<TreeDocument, '_id'>,
  ): Promise<boolean> {
    if (!exists) return isInserted(this.#tree().insertOne({ _id: 'tree', ...next }));
    const { matchedCount } = await this.#tree().updateOne(
      { _id: { $eq: 'tree' }, size: { $eq: BigInt(from) }, epoch: { $lte: BigInt(epoch) } },
      { $set: next },
    );
    return matchedCount === 1;
  }

  async #putTile({ level, n, hashes, after, orgSeqs }: TileRow): Promise<void> {
    const width = hashes.length / hashBytes;
    const content = {
      level,
      n: BigInt(n),
      width,
      hashes: new Binary(hashes),
      position: after,
      seqs: new Binary(orgSeqs),
    };
    const grow = () =>
      this.#tiles().updateOne({ _id: { $eq: tileId(level, n) }, width: { $lte: width } }, { $set: content });
    if ((await grow()).matchedCount === 1) return;
    const tiles = await this.#indexedTiles();
    if (await isInserted(tiles.insertOne({ _id: tileId(level, n), ...content }))) return;
    if ((await grow()).matchedCount === 1) return; // another notary may have inserted a shorter one just now
    const longer = await this.#rowOf(level, n);
    // It must begin with the same hashes, unless it was made of another log.
    if (longer?.hashes.subarray(0, hashes.length).equals(hashes) !== true)
      await tiles.updateOne({ _id: { $eq: tileId(level, n) } }, { $set: content });
  }

  async #rowOf(level: number, n: number): Promise<Pick<TileRow, 'hashes' | 'after' | 'orgSeqs'> | null> {
    const row = await this.#tiles().findOne({ _id: { $eq: tileId(level, n) } });
    return row && { hashes: bytesOf(row.hashes), after: row.position, orgSeqs: bytesOf(row.seqs) };
  }

  async #newest(): Promise<CheckpointDocument | null> {
    const [found] = await this.#checkpoints().find({}).sort({ _id: -1 }).limit(1).toArray();
    return found ?? null;
  }

  #of<Row extends Document>(name: string): Collection<Row> {
    return this.database.collection<Row>(name);
  }
  #tree = () => this.#of<TreeDocument>('log_tree');
  #tiles = () => this.#of<TileDocument>('log_tiles');
  #indexedTiles = () => this.database.indexed<TileDocument>('log_tiles');
  #checkpoints = () => this.#of<CheckpointDocument>('log_checkpoints');
  #damage = () => this.#of<DamageDocument>('log_damage');
}

const hourLength = '2026-03-01T12'.length;

const treeOf = ({ size, roots, position, epoch }: TreeDocument): LogTree => ({
  size: Number(size),
  roots: hashesIn(bytesOf(roots)),
  position,
  epoch: Number(epoch),
});

const checkpointOf = ({ _id, root, note, at }: CheckpointDocument): Checkpoint => ({
  size: Number(_id),
  root: bytesOf(root),
  note,
  at,
});

export const mongoLogTiles = (database: MongoDatabase): LogTiles =>
  guardedPort(EventStoreUnavailable, new MongoLogTiles(database));
